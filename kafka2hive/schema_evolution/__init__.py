"""Compare the fields of a writer's schema with the columns of its Hive table."""
