"""Real Kafka, HDFS, HiveServer2, YARN and Spark for the tests: each a process (or a few) with its own directory and ports."""
