"""Hive as all rooms speak of it: its types, and the port by which partitions are registered."""
