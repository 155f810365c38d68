"""Hive's side of the map's tables: their description and columns, registration of partitions, and looks at what Hive has."""
