"""From rows to the paths of their Hive partitions."""
