"""Read topic partitions to their ends with a plain consumer, to know what really stands there."""

import time
from collections.abc import Iterable

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from tests.services.produce import Place

_PATIENCE_SECONDS = 300.0  # without a record; the broker may have just begun


def stored_in(bootstrap: str, topic_partitions: Iterable[tuple[str, int]]) -> dict[Place, bytes | None]:
    """The payload at each place from the first to the last record of these topic partitions."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "stored-in",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 2,
        }
    )
    left = set(topic_partitions)
    stored: dict[Place, bytes | None] = {}
    try:
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for topic, number in left])
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while left:
            assert time.monotonic() < deadline, f"not read to the end: {sorted(left)}"
            for message in consumer.consume(10_000, 1.0):
                topic, number = str(message.topic()), int(message.partition() or 0)
                error = message.error()
                if error is None:
                    stored[topic, number, int(message.offset() or 0)] = message.value()
                    deadline = time.monotonic() + _PATIENCE_SECONDS
                elif error.code() == KafkaError._PARTITION_EOF:
                    left.discard((topic, number))
                else:  # librdkafka goes on by itself, unless it never can
                    assert not error.fatal(), error
    finally:
        consumer.close()
    return stored
