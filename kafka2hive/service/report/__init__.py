"""The page of `kafka2hive report`, which a live run also serves: the tables that need attention, and their history."""
