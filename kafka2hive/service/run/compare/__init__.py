"""The map's tables against Hive's: before a run commits anything to them."""
