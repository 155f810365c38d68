"""Checking a ledger's snapshots against each other. Pure."""
