"""The commands: parse, call one use case, render its result, exit with its code. No logic."""
