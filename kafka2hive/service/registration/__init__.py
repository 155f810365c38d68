"""Registrations in Hive that a person gives up, and what `verify` finds of registrations."""
