"""Topics filled with copies of a data set; how much the broker holds is known and asked for."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka import KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import OffsetSpec

from tests.benchmarks.data.data_sets import DataSet
from tests.services.kafka_broker import KafkaBroker

PARTITIONS = 8
COMPRESSIONS = ("none", "zstd", "lz4", "gzip")
_BATCH = 10_000


@dataclass(frozen=True, slots=True)
class FilledTopic:
    """`copies` of a data set in 8 topic partitions; `megabytes` (10^6) of values, as they are before compression."""

    name: str
    data: DataSet
    copies: int

    @property
    def records(self) -> int:
        return len(self.data.records()) * self.copies

    @property
    def megabytes(self) -> float:
        return sum(map(len, self.data.records())) * self.copies / 1e6


def fill(broker: KafkaBroker, data: DataSet, copies: int, compression: str = "none") -> FilledTopic:
    """Create and fill a topic, compressed by the producer; the broker keeps batches as they come.

    Raises RuntimeError when the broker does not hold every record once.
    """
    topic = FilledTopic(f"{data.name}-{compression}-x{copies}", data, copies)
    broker.create_topic(topic.name, PARTITIONS)
    # producing through one connection with retries: idempotence keeps order and doubles nothing
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "enable.idempotence": True,
            "log_level": 3,
            "compression.type": compression,
            "linger.ms": 50,
            "batch.size": 1 << 20,
            "queue.buffering.max.messages": 400_000,
        }
    )
    shares: list[list[bytes]] = [list(data.records()[number::PARTITIONS]) for number in range(PARTITIONS)]
    for _ in range(copies):
        send(producer, topic.name, shares)
    if left := producer.flush(120):
        raise RuntimeError(f"{left} records of {topic.name} were not acknowledged")
    if (held := records_in(broker, topic.name, PARTITIONS)) != topic.records:
        raise RuntimeError(f"{topic.name} holds {held} records, not {topic.records}")
    return topic


def send(producer: Producer, topic: str, shares: Sequence[Sequence[bytes]]) -> None:
    """Queue the records of each topic partition, in slices, so that all partitions grow side by side."""
    failures: list[KafkaError] = []

    def report(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(error)

    longest = max(map(len, shares))
    for start in range(0, longest, _BATCH):
        for number, share in enumerate(shares):
            waiting = [{"value": value} for value in share[start : start + _BATCH]]
            while waiting:
                producer.produce_batch(topic, waiting, number)
                # what found no room is told in the dictionary itself
                waiting = [{"value": item["value"]} for item in waiting if "_error" in item]
                producer.poll(0.05 if waiting else 0)
    if failures:
        raise RuntimeError(f"{topic}: {failures[0]}")


def records_in(broker: KafkaBroker, topic: str, partitions: int) -> int:
    """What the broker holds, by its own ends."""
    admin = broker.admin()
    places = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(partitions)}
    deadline = time.monotonic() + 30
    answers = admin.list_offsets(places, request_timeout=30)
    return sum(answer.result(deadline - time.monotonic()).offset for answer in answers.values())
