"""A consumer group's committed offsets, read and set without joining the group.

This uses a consumer, because the admin client's coordinator requests abort the whole process if their broker goes away at
the wrong moment (confluentinc/librdkafka issues 3663, 4605).
"""

import logging
import time
from collections.abc import Collection, Mapping
from typing import Any, Self

from kafka2hive.config.keys import KafkaOptions
from kafka2hive.kafka.client_log import ClientLog
from kafka2hive.kafka.librdkafka import kafka_partition, reader, reason, unavailable
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.text import counted

log = logging.getLogger(__name__)


def group_offsets(
    options: KafkaOptions, group: str, topic_partitions: Collection[TopicPartition], timeout_seconds: float
) -> dict[TopicPartition, int]:
    """Return the committed offsets, without topic partitions that have none.

    Raises ServiceUnavailable, AccessRefused, ConfigError.
    """
    from confluent_kafka import KafkaException

    if not topic_partitions:
        return {}
    client_log, began = ClientLog(log), time.monotonic()
    consumer = reader(options, timeout_seconds, client_log, {"group.id": group})
    try:
        answers = consumer.committed(
            [kafka_partition(tp) for tp in topic_partitions], timeout=timeout_seconds
        )
    except KafkaException as error:
        consumer.poll(0)  # delivers librdkafka's log lines
        why = reason(options.properties, error)
        raise unavailable(
            options=options, what=f"offsets of group {group}", why=why, client_log=client_log, since=began
        ) from error
    finally:
        consumer.close()
    return {
        TopicPartition(answer.topic, answer.partition): answer.offset
        for answer in answers
        if answer.error is None and answer.offset >= 0
    }


class KafkaGroupCommits:
    """Sets a group's offsets repeatedly through one consumer, because each new consumer must log in (with Kerberos, at the KDC).

    A consumer that fails is closed. If it had been used before, a new consumer tries the same commit once more.
    """

    def __init__(self, options: KafkaOptions, group: str, timeout_seconds: float) -> None:
        self._options = options
        self._group = group
        self._timeout = timeout_seconds
        self._client_log = ClientLog(log)
        self._consumer: Any = None
        self._answers: list[tuple[Any, Any]] = []
        self._problem = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def commit(self, offsets: Mapping[TopicPartition, int]) -> bool:
        """Set the offsets. Return True if Kafka took all of them; otherwise log a warning."""
        if not offsets:
            return True
        deadline = time.monotonic() + self._timeout
        was_kept = self._consumer is not None
        problem = self._try(offsets, deadline)
        if problem and was_kept and time.monotonic() < deadline:
            problem = self._try(offsets, deadline)
        self._tell(problem)
        return not problem

    def _tell(self, problem: str) -> None:
        """Log a problem once, until it changes or has ended."""
        if problem and problem != self._problem:
            log.warning("%s", problem)
        elif self._problem and not problem:
            log.info("offsets of group %s are set again", self._group)
        self._problem = problem

    def _try(self, offsets: Mapping[TopicPartition, int], deadline: float) -> str:
        """Return why Kafka did not take all offsets; empty if it did."""
        from confluent_kafka import KafkaException

        self._answers.clear()
        began = time.monotonic()
        try:
            consumer = self._consumer = self._consumer or self._new_consumer()
            consumer.commit(
                offsets=[kafka_partition(tp, offset) for tp, offset in offsets.items()], asynchronous=True
            )
            while not self._answers and (remaining := deadline - time.monotonic()) > 0:
                consumer.poll(min(remaining, 0.1))
            problem = _problem(self._answers, self._group, self._client_log.trouble(began))
        except KafkaException as error:
            problem = _not_set(self._group, reason(self._options.properties, error))
        if problem:
            self._close()
        return problem

    def _new_consumer(self) -> Any:
        properties = {
            "group.id": self._group,
            "on_commit": lambda error, partitions: self._answers.append((error, partitions)),
        }
        return reader(self._options, self._timeout, self._client_log, properties)

    def _close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None


def _problem(answers: list[tuple[Any, Any]], group: str, trouble: str) -> str:
    """Return in one line why Kafka did not take all offsets; empty if it did."""
    if not answers:
        return _not_set(group, trouble or "no answer in time")
    error, partitions = answers[0]
    refused = [partition for partition in partitions or () if partition.error is not None]
    if refused:
        first, count = refused[0], counted(len(refused), "topic partition")
        place = f"{first.topic}-{first.partition}"
        return f"offsets of group {group} not set for {count}, the first {place}: {first.error.str()}"
    return "" if error is None else _not_set(group, error.str())


def _not_set(group: str, why: str) -> str:
    return f"offsets of group {group} not set, so lag tools are behind: {why}"
