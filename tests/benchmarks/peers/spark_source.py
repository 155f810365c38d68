"""What both Spark peers share: Spark's own Kafka source, `from_json`, and the column that partitions."""

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, date_format, from_json
from pyspark.sql.streaming import DataStreamWriter

from tests.benchmarks.peers.assignment import Assignment
from tests.benchmarks.peers.spark_session import local_session
from tests.services.jars import jars


def session(assignment: Assignment) -> SparkSession:
    """Spark in this process, with the connector's jars."""
    return local_session(
        assignment.parallelism,
        assignment.checkpoint,
        {"spark.driver.extraClassPath": f"{jars('spark-kafka').removesuffix('/*')}/*"},
    )


def rows(spark: SparkSession, assignment: Assignment) -> DataFrame:
    """The decoded rows as a stream, with the column `dt`."""
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", assignment.bootstrap)
        .option("subscribe", assignment.topic)
        .option("startingOffsets", "earliest")
        .load()
    )
    shape = assignment.shape
    decoded = from_json(col("value").cast("string"), shape.spark_ddl).alias("row")
    return (
        records.select(decoded).select("row.*").withColumn("dt", date_format(shape.time, shape.java_format))
    )


def run(writer: DataStreamWriter, assignment: Assignment) -> None:
    """Start the query and wait for its end."""
    seconds = assignment.interval_seconds
    trigger: dict[str, Any] = (
        {"availableNow": True} if seconds is None else {"processingTime": f"{seconds} seconds"}
    )
    checkpoint = (assignment.checkpoint / "query").as_uri()
    writer.option("checkpointLocation", checkpoint).trigger(**trigger).start().awaitTermination()
