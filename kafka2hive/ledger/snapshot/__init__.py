"""A snapshot's text and its lines, and the changes from one snapshot to the next."""
