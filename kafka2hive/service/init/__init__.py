"""`kafka2hive init`: ledgers for the tables of a map, also with positions that another tool left."""
