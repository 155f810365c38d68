"""`kafka2hive demo`: the whole way of a record on one machine, with a kill in the middle. Needs Java, no cluster."""
