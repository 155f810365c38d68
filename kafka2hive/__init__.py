"""kafka2hive reads Kafka topics and lands them in Hive tables on HDFS, exactly once."""

__version__ = "0.1.0"
