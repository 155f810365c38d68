"""The fields that a writer's schema has, as columns of Hive, and what of them a table does not take."""
