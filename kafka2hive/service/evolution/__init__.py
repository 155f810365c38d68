"""Schema evolution by the records' schemas: what the registry has now, and a table's columns beside the map's."""
