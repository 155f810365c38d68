"""One module per command: parse options, call one use case, render its result and exit with its code."""
