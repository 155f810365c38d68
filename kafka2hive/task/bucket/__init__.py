"""Assign rows to their buckets, which are Hive partitions."""
