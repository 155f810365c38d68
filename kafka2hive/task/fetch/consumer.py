"""One Kafka consumer per worker process, kept between tasks: connecting costs more than a small range."""

import logging
import os
import time
from collections.abc import Sequence
from typing import Any, Protocol

from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Assignment

from kafka2hive.kafka.client_log import ClientLog
from kafka2hive.kafka.librdkafka import access_refused, refused_properties
from kafka2hive.model.errors import AccessRefused

log = logging.getLogger(__name__)

# Reading exact ranges depends on these; the map cannot change them.
_FIXED: dict[str, str | int | bool] = {
    "auto.offset.reset": "error",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
}
# The map's Kafka properties may change these.
_DEFAULTS: dict[str, str | int | bool] = {
    "group.id": "kafka2hive-task",
    "check.crcs": True,
    "fetch.queue.backoff.ms": 10,
    "fetch.wait.max.ms": 20,  # what is wanted is there already; waiting delays only the end of a compacted range
    "queued.max.messages.kbytes": 8 * 1024,  # more waits in memory, and is read no faster
    "topic.metadata.propagation.max.ms": 5_000,
    "reconnect.backoff.ms": 500,  # librdkafka's 100 ms are ten tries a second
    "reconnect.backoff.max.ms": 5_000,
}

_LEADERS_SECONDS = 1.0  # librdkafka itself looks that often for topics without a known leader
_KNOWN_SECONDS = 300.0  # it keeps what it knows of a topic for longer

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

    def refused(self, since: float, *, certain: bool) -> AccessRefused | None:
        """Why brokers refuse this client since then (time.monotonic); `certain`: only what no restart looks like."""
        ...


class TaskConsumer(Consumer):  # type: ignore[misc]  # it ships no types
    """A confluent-kafka consumer that is told what to read.

    `last_error` is the text of the client's last complaint. What it says about one topic partition outside the stream
    of messages (it does not exist, it may not be read) is kept in `complaints` by "topic [number]", the client's own
    words for it. Raises ConfigError (`kafka.properties`, `kafka.gssapi`) when librdkafka makes no client of these properties.
    """

    def __init__(self, properties: Sequence[tuple[str, str]]) -> None:
        self.last_error = ""
        self.complaints: dict[str, KafkaError] = {}
        self._properties = tuple(properties)
        self._known: dict[tuple[str, int], float] = {}
        self._heard = ClientLog(log)
        told = {**_DEFAULTS, **dict(properties), **_FIXED, "error_cb": self._complain}
        try:
            super().__init__(told, logger=self._heard.logger)
        except KafkaException as error:
            raise refused_properties(properties, error) from error

    def _complain(self, error: KafkaError) -> None:
        self.last_error = str(error)
        subject, colon, _ = error.str().partition(": ")
        if colon and error.code() in ABOUT_ONE:
            self.complaints[subject] = error

    def refused(self, since: float, *, certain: bool) -> AccessRefused | None:
        refusal = self._heard.refusal(since)
        if refusal is None or (certain and not refusal.certain):
            return None
        return access_refused(self._properties, refusal)

    def assign(self, assignments: list[Assignment]) -> None:
        self.complaints.clear()
        self._ask_for_leaders(assignments)
        super().assign(assignments)

    def _ask_for_leaders(self, assignments: Sequence[Assignment]) -> None:
        """librdkafka asks at once for the leaders of what it is assigned before it is connected; for topics that come later only
        the next time it looks for such topics. A question for offsets makes it ask now. What the answer says is not there is
        kept: about a topic partition that a known topic does not have, the assignment says nothing.
        """
        now = time.monotonic()
        new = [
            a
            for a in assignments
            if now - self._known.get((a.topic, a.partition), -_KNOWN_SECONDS) >= _KNOWN_SECONDS
        ]
        if not new:
            return
        try:
            answers = self.offsets_for_times(
                [Assignment(a.topic, a.partition, OFFSET_END) for a in new], timeout=_LEADERS_SECONDS
            )
        except KafkaException as error:
            log.debug("leaders are not known yet: %s", error)
            return
        for answer in answers:
            if answer.error is None:
                self._known[answer.topic, answer.partition] = now
            elif answer.error.code() in ABOUT_ONE:
                self.complaints[f"{answer.topic} [{answer.partition}]"] = answer.error


_kept: dict[tuple[int, tuple[tuple[str, str], ...]], TaskConsumer] = {}


def process_consumer(properties: tuple[tuple[str, str], ...]) -> TaskConsumer:
    """Return this process's consumer for these properties. A forked child makes its own: librdkafka does not survive a fork."""
    key = (os.getpid(), properties)
    if key not in _kept:
        _kept[key] = TaskConsumer(properties)
    return _kept[key]


def forget_consumer(properties: tuple[tuple[str, str], ...]) -> None:
    """Close this process's consumer after an error, so that the next task starts with a fresh one."""
    consumer = _kept.pop((os.getpid(), properties), None)
    if consumer is not None:
        consumer.close()
