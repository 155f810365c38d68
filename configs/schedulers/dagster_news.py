"""Dagster: run `report` once for each Hive partition that kafka2hive says is complete.

The environment variable KAFKA_BOOTSTRAP_SERVERS has the brokers' addresses.
"""

import json
import os
import subprocess
from collections.abc import Iterator

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from dagster import (
    Config,
    DefaultSensorStatus,
    Definitions,
    OpExecutionContext,
    RunRequest,
    SensorEvaluationContext,
    SensorResult,
    SkipReason,
    job,
    op,
    sensor,
)

TOPIC = "kafka2hive.news"


class Day(Config):
    dt: str


@op
def read(context: OpExecutionContext, config: Day) -> None:
    subprocess.run(["spark-submit", "report.py", config.dt], check=True)


@job
def report() -> None:
    read()


def messages(offsets: dict[str, int]) -> Iterator[bytes]:
    """What the topic has from `offsets` on, which are moved behind it; at most 1,000 messages."""
    consumer = Consumer(
        {
            "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
            "group.id": "dagster",  # not used: the sensor's cursor has the offsets
            "enable.auto.commit": False,
        }
    )
    try:
        partitions = consumer.list_topics(TOPIC, timeout=30).topics[TOPIC].partitions
        consumer.assign([TopicPartition(TOPIC, n, offsets.get(str(n), OFFSET_BEGINNING)) for n in partitions])
        for message in consumer.consume(1000, timeout=10):
            if message.error():
                raise RuntimeError(message.error())
            offsets[str(message.partition())] = message.offset() + 1
            yield message.value()
    finally:
        consumer.close()


@sensor(job=report, minimum_interval_seconds=30, default_status=DefaultSensorStatus.RUNNING)
def complete_partitions(context: SensorEvaluationContext) -> SensorResult | SkipReason:
    offsets = json.loads(context.cursor or "{}")
    news = [json.loads(message) for message in messages(offsets)]
    if not news:
        return SkipReason("no news")
    requests = [
        # Dagster starts a run key once, however often it is requested
        RunRequest(
            run_key=each["id"], run_config={"ops": {"read": {"config": {"dt": each["data"]["values"]["dt"]}}}}
        )
        for each in {each["id"]: each for each in news}.values()
        if each["type"] == "kafka2hive.partition.complete" and each["data"]["table"] == "air.flights"
    ]
    # Dagster keeps the cursor after it has started the runs
    return SensorResult(run_requests=requests, cursor=json.dumps(offsets))


definitions = Definitions(jobs=[report], sensors=[complete_partitions])
