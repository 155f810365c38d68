"""Delimited text, as Hive's LazySimpleSerDe reads it."""
