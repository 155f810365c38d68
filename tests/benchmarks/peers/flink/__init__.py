"""Flink SQL, Kafka to its filesystem connector with Parquet: statements made here, run by a small Java program."""
