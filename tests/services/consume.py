"""Read topic partitions to their ends with a plain consumer, to know what really stands there."""

import time
from collections.abc import Iterable, Mapping

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from tests.services.produce import Place

_PATIENCE_SECONDS = 300.0  # without a record; the broker may have just begun


def stored_in(
    bootstrap: str,
    topic_partitions: Iterable[tuple[str, int]],
    begins: Mapping[tuple[str, int], int] | None = None,
) -> dict[Place, bytes | None]:
    """The payload at each place of these topic partitions from `begins`, or from the first record, to the last."""
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
        first = dict.fromkeys(left, OFFSET_BEGINNING) | {
            tp: at for tp, at in (begins or {}).items() if tp in left
        }
        consumer.assign([TopicPartition(topic, number, at) for (topic, number), at in first.items()])
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
