"""The use cases: run, recover, status. Each takes values and returns a frozen result; rendering is the CLI's."""
