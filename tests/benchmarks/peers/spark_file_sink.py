"""Spark's Kafka source, from_json, and Spark's own file sink (Parquet, exactly once by its metadata log)."""

from tests.benchmarks.peers.assignment import read_assignment
from tests.benchmarks.peers.spark_source import rows, run, session


def main() -> None:
    """Run it."""
    assignment = read_assignment(__doc__)
    spark = session(assignment)
    stream = rows(spark, assignment)
    run(stream.writeStream.format("parquet").partitionBy("dt").option("path", assignment.output), assignment)
    spark.stop()


if __name__ == "__main__":
    main()
