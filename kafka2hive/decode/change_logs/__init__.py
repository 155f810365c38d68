"""Envelopes of change logs, unpacked: which image is the row, its operation, its time and position."""
