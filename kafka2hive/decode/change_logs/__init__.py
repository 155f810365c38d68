"""Unpack the envelopes of change logs: the row's image, the operation, the change's time and position."""
