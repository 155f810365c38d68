"""Repairs of a ledger: rebuilt, restored, moved to another location, started over."""
