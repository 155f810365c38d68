"""The Kafka consumer of a worker process. It is kept between tasks, because connecting costs more than a small range."""

import logging
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Assignment

from kafka2hive.kafka.client_log import ClientLog
from kafka2hive.kafka.librdkafka import access_refused, refused_properties
from kafka2hive.model.errors import AccessRefused
from kafka2hive.plan.contract import TaskSettings
from kafka2hive.task.fetch.native import NativeClient, librdkafka, python_only_setting
from kafka2hive.task.fetch.records import Batch, Key, MessageBatch

log = logging.getLogger(__name__)

# Reading exact ranges depends on these, so the map cannot change them.
_FIXED: dict[str, str | int | bool] = {
    "auto.offset.reset": "error",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
}
# The map's Kafka properties override these.
_DEFAULTS: dict[str, str | int | bool] = {
    "group.id": "kafka2hive-task",
    "check.crcs": True,
    "fetch.queue.backoff.ms": 10,
    "fetch.wait.max.ms": 20,  # the records exist already; waiting only delays the end of a compacted range
    "queued.max.messages.kbytes": 8 * 1024,  # a longer queue takes more memory without being faster
    "topic.metadata.propagation.max.ms": 5_000,
    "reconnect.backoff.ms": 500,  # librdkafka's default of 100 ms means ten tries a second
    "reconnect.backoff.max.ms": 5_000,
}

_LEADERS_SECONDS = 1.0  # the interval at which librdkafka looks for unknown leaders
_TELL_SECONDS = 60.0
_KNOWN_SECONDS = 300.0  # librdkafka caches a topic's metadata for longer

GONE = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION})
TRANSIENT = frozenset(  # librdkafka retries these itself; they become an error only by a stall
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
    """The part of a Kafka client that a task uses. TaskConsumer describes the attributes."""

    last_error: str
    complaints: dict[str, KafkaError]
    longest_delay: float

    def assign(self, assignments: list[Assignment]) -> None: ...

    def assignment(self) -> list[Assignment]:
        """Return the assignment, each item with its start offset."""
        ...

    def incremental_unassign(self, assignments: list[Assignment]) -> None: ...

    def unassign(self) -> None: ...

    def consume(self, count: int, seconds: float) -> Batch:
        """Return at most `count` records and events, after at most `seconds`."""
        ...

    def position(self, assignments: list[Assignment]) -> list[Assignment]:
        """Return, by assignment, the offset after the last message that `consume` returned; below 0 before the first message."""
        ...

    def refusal(self, since: float, *, certain: bool) -> AccessRefused | None:
        """Return why brokers have refused this client since the time `since` (time.monotonic), None if they have not.

        If `certain`, refusals that a broker's restart could also cause are ignored.
        """
        ...


class Client(Protocol):
    """The part of a Kafka client that TaskConsumer uses. Every call may raise KafkaException.

    A client logs to the logger, calls `on_error` with errors that are not about a record, and `on_throttle` with a broker that
    delays its answers and for how many seconds, all during `consume`.
    """

    def assign(self, assignments: list[Assignment]) -> None: ...

    def assignment(self) -> list[Assignment]: ...

    def incremental_unassign(self, assignments: list[Assignment]) -> None: ...

    def unassign(self) -> None: ...

    def consume(self, count: int, seconds: float) -> Batch: ...

    def position(self, assignments: list[Assignment]) -> list[Assignment]: ...

    def errors_of_offsets(self, asked: list[Assignment], seconds: float) -> dict[Key, KafkaError | None]:
        """Query offsets from the leaders. Return the error of each answer, None for an answer without an error."""
        ...

    def close(self) -> None: ...


OnError = Callable[[KafkaError], None]
OnThrottle = Callable[[str, float], None]
OpenClient = Callable[[Mapping[str, Any], logging.Logger, OnError, OnThrottle], Client]


class PythonClient(Consumer):  # type: ignore[misc]  # it ships no types
    """A confluent-kafka consumer as a Client."""

    def __init__(
        self, config: Mapping[str, Any], logger: logging.Logger, on_error: OnError, on_throttle: OnThrottle
    ) -> None:
        def throttled(event: Any) -> None:
            on_throttle(event.broker_name, event.throttle_time)

        super().__init__({**config, "error_cb": on_error, "throttle_cb": throttled}, logger=logger)

    def consume(self, count: int, seconds: float) -> MessageBatch:
        return MessageBatch(super().consume(count, seconds))

    def errors_of_offsets(self, asked: list[Assignment], seconds: float) -> dict[Key, KafkaError | None]:
        return {(a.topic, a.partition): a.error for a in self.offsets_for_times(asked, timeout=seconds)}


def open_client(
    config: Mapping[str, Any], logger: logging.Logger, on_error: OnError, on_throttle: OnThrottle
) -> Client:
    """Return the compiled library's client, or the Python client if the library is missing or cannot serve the config."""
    if (setting := python_only_setting(config)) and librdkafka() is not None:
        log.info(
            "the Python client reads the records, which costs more CPU: the compiled one lacks %s", setting
        )
    elif librdkafka() is not None:
        return NativeClient(config, logger, on_error, on_throttle)
    return PythonClient(config, logger, on_error, on_throttle)


class TaskConsumer:
    """A consumer for assigned topic partitions, without a consumer group.

    `last_error` is the text of the client's last error. `complaints` has errors about single topic partitions that do not
    come as messages (unknown topic partition, access denied), by librdkafka's name of the topic partition, "topic [number]".
    `longest_delay` is the longest delay (seconds) that brokers have announced, because of a quota, since the caller set it to 0.
    Raises ConfigError (`kafka.properties`, `kafka.gssapi`) if librdkafka rejects the properties.
    """

    def __init__(self, properties: Sequence[tuple[str, str]], open_client: OpenClient = open_client) -> None:
        self.last_error = ""
        self.complaints: dict[str, KafkaError] = {}
        self.longest_delay = 0.0
        self._throttle_told = -math.inf
        self._properties = tuple(properties)
        self._known: dict[Key, float] = {}
        self._log = ClientLog(log)
        config = {**_DEFAULTS, **dict(properties), **_FIXED}
        try:
            self._client = open_client(config, self._log.logger, self._complain, self._throttled)
        except KafkaException as error:
            raise refused_properties(properties, error) from error

    def _complain(self, error: KafkaError) -> None:
        self.last_error = str(error)
        subject, colon, _ = error.str().partition(": ")
        if colon and error.code() in ABOUT_ONE:
            self.complaints[subject] = error

    def _throttled(self, broker: str, seconds: float) -> None:
        now = time.monotonic()
        self.longest_delay = max(self.longest_delay, seconds)
        if seconds > 0 and now - self._throttle_told >= _TELL_SECONDS:
            self._throttle_told = now
            log.warning(
                "Kafka throttles this client: broker %s delays its answers by %.1f s, because of a quota of the user or client"
                " id (consumer_byte_rate or request_percentage); reading goes on slowly",
                broker,
                seconds,
            )

    def refusal(self, since: float, *, certain: bool) -> AccessRefused | None:
        refusal = self._log.refusal(since)
        if refusal is None or (certain and not refusal.certain):
            return None
        return access_refused(self._properties, refusal)

    def assign(self, assignments: list[Assignment]) -> None:
        self.complaints.clear()
        self._ask_for_leaders(assignments)
        self._client.assign(assignments)

    def assignment(self) -> list[Assignment]:
        return self._client.assignment()

    def incremental_unassign(self, assignments: list[Assignment]) -> None:
        self._client.incremental_unassign(assignments)

    def unassign(self) -> None:
        self._client.unassign()

    def consume(self, count: int, seconds: float) -> Batch:
        return self._client.consume(count, seconds)

    def position(self, assignments: list[Assignment]) -> list[Assignment]:
        return self._client.position(assignments)

    def close(self) -> None:
        self._client.close()

    def _ask_for_leaders(self, assignments: Sequence[Assignment]) -> None:
        """Make librdkafka fetch the leaders of new topic partitions now, by a query for offsets.

        Without the query, librdkafka fetches the leaders of a later assignment only at its next interval. Errors in the
        answers are kept as complaints, because librdkafka reports nothing if an assigned topic partition does not exist.
        """
        now = time.monotonic()
        new = [
            Assignment(a.topic, a.partition, OFFSET_END)
            for a in assignments
            if now - self._known.get((a.topic, a.partition), -_KNOWN_SECONDS) >= _KNOWN_SECONDS
        ]
        if not new:
            return
        try:
            answers = self._client.errors_of_offsets(new, _LEADERS_SECONDS)
        except KafkaException as error:
            log.debug("leaders are not known yet: %s", error)
            return
        for (topic, number), refusal in answers.items():
            if refusal is None:
                self._known[topic, number] = now
            elif refusal.code() in ABOUT_ONE:
                self.complaints[f"{topic} [{number}]"] = refusal


_consumers: dict[tuple[int, tuple[tuple[str, str], ...]], TaskConsumer] = {}


def process_consumer(properties: tuple[tuple[str, str], ...]) -> TaskConsumer:
    """Return this process's consumer for these properties. A forked child makes a new one: librdkafka does not survive forks."""
    key = (os.getpid(), properties)
    if key not in _consumers:
        _consumers[key] = TaskConsumer(properties)
    return _consumers[key]


def forget_consumers(settings: TaskSettings) -> None:
    """Close this process's consumers of all clusters, as `forget_consumer` does."""
    forget_consumer(settings.kafka)
    for _, properties in settings.clusters:
        forget_consumer(properties)


def forget_consumer(properties: tuple[tuple[str, str], ...]) -> None:
    """Close this process's consumer after an error, so that the next task connects again."""
    consumer = _consumers.pop((os.getpid(), properties), None)
    if consumer is not None:
        consumer.close()
