"""JSON lines, as Hive's JsonSerDe reads them."""
