"""Which Hive partition a row belongs to."""
