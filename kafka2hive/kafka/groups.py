"""A consumer group's committed offsets, read and set without joining the group.

Done with a short-lived consumer and not with the admin client: librdkafka's coordinator requests of the admin client
abort the whole process when their broker goes away at the wrong moment (confluentinc/librdkafka issues 3663, 4605).
"""

import logging
import time
from collections.abc import Collection, Mapping
from typing import Any

from kafka2hive.config.values import KafkaOptions
from kafka2hive.kafka import errors, properties
from kafka2hive.model.offsets import TopicPartition

log = logging.getLogger(__name__)


def group_offsets(
    options: KafkaOptions, group: str, topic_partitions: Collection[TopicPartition], timeout_seconds: float
) -> dict[TopicPartition, int]:
    """Committed offsets; topic partitions without one are left out. Errors: ServiceUnavailable."""
    from confluent_kafka import KafkaException

    if not topic_partitions:
        return {}
    reader = _reader(options, group, timeout_seconds)
    try:
        answers = reader.committed([_kafka(tp) for tp in topic_partitions], timeout=timeout_seconds)
    except KafkaException as error:
        said = properties.without_secrets(str(error), options)
        raise errors.unavailable(f"offsets of group {group}", properties.brokers(options), said) from error
    finally:
        reader.close()
    return {
        TopicPartition(found.topic, found.partition): found.offset
        for found in answers
        if found.error is None and found.offset >= 0
    }


def commit_group_offsets(
    options: KafkaOptions, group: str, offsets: Mapping[TopicPartition, int], timeout_seconds: float
) -> bool:
    """Set the group's offsets: True when all were taken, otherwise a warning in the log."""
    from confluent_kafka import KafkaException

    if not offsets:
        return True
    answers: list[tuple[Any, Any]] = []
    reader = _reader(options, group, timeout_seconds, lambda error, found: answers.append((error, found)))
    try:
        reader.commit(offsets=[_kafka(tp, offset) for tp, offset in offsets.items()], asynchronous=True)
        deadline = time.monotonic() + timeout_seconds
        while not answers and (left := deadline - time.monotonic()) > 0:
            reader.poll(min(left, 0.1))
        return _taken(answers, group)
    except KafkaException as error:
        said = properties.without_secrets(str(error), options)
        log.warning("offsets of group %s not set, lag tools are behind: %s", group, said)
        return False
    finally:
        reader.close()


def _taken(answers: list[tuple[Any, Any]], group: str) -> bool:
    if not answers:
        log.warning("offsets of group %s not set, lag tools are behind: no answer in time", group)
        return False
    error, found = answers[0]
    refused = [one for one in found or () if one.error is not None]
    for one in refused:
        log.warning(
            "offset of group %s for %s-%d not set: %s", group, one.topic, one.partition, one.error.str()
        )
    if error is not None and not refused:
        log.warning("offsets of group %s not set, lag tools are behind: %s", group, error.str())
    return error is None and not refused


def _reader(options: KafkaOptions, group: str, timeout_seconds: float, on_commit: Any = None) -> Any:
    from confluent_kafka import Consumer, KafkaException

    given: dict[str, Any] = {**properties.reader_properties(options, timeout_seconds), "group.id": group}
    if on_commit is not None:
        given["on_commit"] = on_commit
    try:
        return Consumer(given, logger=log)
    except KafkaException as error:
        raise errors.refused_properties(properties.without_secrets(str(error), options)) from error


def _kafka(topic_partition: TopicPartition, offset: int | None = None) -> Any:
    from confluent_kafka import TopicPartition as KafkaTopicPartition

    if offset is None:
        return KafkaTopicPartition(topic_partition.topic, topic_partition.number)
    return KafkaTopicPartition(topic_partition.topic, topic_partition.number, offset)
