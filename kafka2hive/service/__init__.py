"""The use cases, such as run, recover and status. Each takes values and returns a frozen result, which the CLI renders."""
