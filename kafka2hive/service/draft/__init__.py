"""`kafka2hive sample`: a map drafted from the records of a topic."""
