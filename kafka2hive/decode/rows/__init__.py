"""Decode messages that hold several rows: each row by itself, but one bad row makes the whole message a dead letter."""
