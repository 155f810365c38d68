"""One module per command: parse, call one use case, render its result, exit with its code."""
