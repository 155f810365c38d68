"""Spark's Kafka source, from_json, and `foreachBatch` that appends partitioned Parquet."""

from pyspark.sql import DataFrame

from tests.benchmarks.peers.assignment import read_assignment
from tests.benchmarks.peers.spark_source import rows, run, session


def main() -> None:
    """Run it."""
    assignment = read_assignment(__doc__)

    def append(batch: DataFrame, number: int) -> None:
        batch.write.mode("append").partitionBy("dt").parquet(assignment.output)

    spark = session(assignment)
    run(rows(spark, assignment).writeStream.foreachBatch(append), assignment)
    spark.stop()


if __name__ == "__main__":
    main()
