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
        problems = self._try(offsets, deadline)
        if problems and was_kept and time.monotonic() < deadline:
            problems = self._try(offsets, deadline)
        for problem in problems:
            log.warning("%s", problem)
        return not problems

    def _try(self, offsets: Mapping[TopicPartition, int], deadline: float) -> list[str]:
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
            problems = _problems(self._answers, self._group, self._client_log.trouble(began))
        except KafkaException as error:
            problems = [_not_set(self._group, reason(self._options.properties, error))]
        if problems:
            self._close()
        return problems

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


def _problems(answers: list[tuple[Any, Any]], group: str, trouble: str) -> list[str]:
    if not answers:
        return [_not_set(group, trouble or "no answer in time")]
    error, partitions = answers[0]
    refusals = [
        f"offset of group {group} for {partition.topic}-{partition.partition} not set: {partition.error.str()}"
        for partition in partitions or ()
        if partition.error is not None
    ]
    if error is not None and not refusals:
        return [_not_set(group, error.str())]
    return refusals


def _not_set(group: str, why: str) -> str:
    return f"offsets of group {group} not set, so lag tools are behind: {why}"
