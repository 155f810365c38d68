"""`kafka2hive submit` and `pack`: an application on YARN, from the packed code to its end."""
