"""`kafka2hive demo`: the whole path of a record on one machine, with a kill in the middle. Needs Java, but no cluster."""
