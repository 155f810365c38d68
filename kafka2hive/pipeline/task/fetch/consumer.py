"""One Kafka consumer per worker process, kept between tasks: connecting costs more than a small range."""

import os
from collections.abc import Sequence
from typing import Any, Protocol

from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as Assignment

# What the reading of exact ranges rests on; the map cannot change it.
_FIXED: dict[str, str | int | bool] = {
    "auto.offset.reset": "error",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
}
# What the map's Kafka properties may change.
_DEFAULTS: dict[str, str | int | bool] = {
    "group.id": "kafka2hive-task",
    "check.crcs": True,
    "fetch.queue.backoff.ms": 10,
    "fetch.wait.max.ms": 20,  # what is wanted is there already; waiting delays only the end of a compacted range
    "queued.max.messages.kbytes": 8 * 1024,  # more waits in memory, and is read no faster
    "topic.metadata.propagation.max.ms": 5_000,
    "reconnect.backoff.ms": 500,  # each failed try is a line on standard error; librdkafka's 100 ms make ten a second
    "reconnect.backoff.max.ms": 5_000,
}

GONE = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION})
TRANSIENT = frozenset(  # librdkafka tries again by itself; only a stall makes them an error
    {
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError._TIMED_OUT,
        KafkaError._WAIT_COORD,
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
    }
)
ABOUT_ONE = GONE | {KafkaError.TOPIC_AUTHORIZATION_FAILED}


class ConsumerPort(Protocol):
    """What a task needs of a Kafka client. TaskConsumer says what `last_error` and `complaints` hold."""

    last_error: str
    complaints: dict[str, KafkaError]

    def assign(self, assignments: list[Assignment]) -> None: ...

    def assignment(self) -> list[Assignment]:
        """What is assigned, each with the offset where it began."""
        ...

    def incremental_unassign(self, assignments: list[Assignment]) -> None: ...

    def unassign(self) -> None: ...

    def consume(self, count: int, seconds: float) -> list[Any]:
        """Messages, and events as messages with an error; at most `count`, waiting `seconds` at most."""
        ...

    def position(self, assignments: list[Assignment]) -> list[Assignment]:
        """The offset behind the last message handed out of each, below 0 where there was none."""
        ...


class TaskConsumer(Consumer):  # type: ignore[misc]  # it ships no types
    """A confluent-kafka consumer that is told what to read.

    `last_error` is the text of the client's last complaint. What it says about one topic partition outside the stream
    of messages (it does not exist, it may not be read) is kept in `complaints` by "topic [number]", the client's own
    words for it.
    """

    def __init__(self, properties: Sequence[tuple[str, str]]) -> None:
        self.last_error = ""
        self.complaints: dict[str, KafkaError] = {}
        super().__init__({**_DEFAULTS, **dict(properties), **_FIXED, "error_cb": self._complain})

    def _complain(self, error: KafkaError) -> None:
        self.last_error = str(error)
        subject, colon, _ = error.str().partition(": ")
        if colon and error.code() in ABOUT_ONE:
            self.complaints[subject] = error

    def assign(self, assignments: list[Assignment]) -> None:
        self.complaints.clear()
        super().assign(assignments)


_kept: dict[tuple[int, tuple[tuple[str, str], ...]], TaskConsumer] = {}


def process_consumer(properties: tuple[tuple[str, str], ...]) -> TaskConsumer:
    """This process's consumer for these properties. A forked child makes its own: librdkafka does not survive a fork."""
    key = (os.getpid(), properties)
    if key not in _kept:
        _kept[key] = TaskConsumer(properties)
    return _kept[key]


def forget_consumer(properties: tuple[tuple[str, str], ...]) -> None:
    """Close this process's consumer after an error, so that the next task starts with a fresh one."""
    consumer = _kept.pop((os.getpid(), properties), None)
    if consumer is not None:
        consumer.close()
