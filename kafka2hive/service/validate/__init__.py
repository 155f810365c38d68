"""Checks of a map against its services: all of them for `validate --online`, the quick ones before a run starts."""
