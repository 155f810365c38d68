"""The acceptance table of docs/decoding.md in plain Python, one message at a time."""
