"""Decode messages that hold several rows: each row separately, but one bad row makes the whole message a dead letter."""
