"""Columns that are taken from a record's key and headers, beside those of its value."""
