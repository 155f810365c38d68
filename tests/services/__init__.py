"""Real Kafka, HDFS, HiveServer2 and Spark for the tests: each a process (or a few) with its own directory and ports."""
