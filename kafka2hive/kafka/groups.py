"""A consumer group's committed offsets, read and set without joining the group.

Done with a short-lived consumer and not with the admin client: librdkafka's coordinator requests of the admin client
abort the whole process when their broker goes away at the wrong moment (confluentinc/librdkafka issues 3663, 4605).
"""

import logging
import time
from collections.abc import Collection, Mapping
from typing import Any

from kafka2hive.config.values import KafkaOptions
from kafka2hive.kafka.access.heard import Heard
from kafka2hive.kafka.librdkafka import kafka_partition, reader, reason, unavailable
from kafka2hive.model.offsets import TopicPartition

log = logging.getLogger(__name__)


def group_offsets(
    options: KafkaOptions, group: str, topic_partitions: Collection[TopicPartition], timeout_seconds: float
) -> dict[TopicPartition, int]:
    """Committed offsets; topic partitions without one are left out. Errors: ServiceUnavailable."""
    from confluent_kafka import KafkaException

    if not topic_partitions:
        return {}
    heard, began = Heard(log), time.monotonic()
    consumer = reader(options, timeout_seconds, heard, {"group.id": group})
    try:
        answers = consumer.committed(
            [kafka_partition(tp) for tp in topic_partitions], timeout=timeout_seconds
        )
    except KafkaException as error:
        consumer.poll(0)  # hands librdkafka's log lines over
        why = reason(options.properties, error)
        raise unavailable(options, f"offsets of group {group}", why, heard, began) from error
    finally:
        consumer.close()
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
    taken = {"group.id": group, "on_commit": lambda error, found: answers.append((error, found))}
    heard, began = Heard(log), time.monotonic()
    consumer = reader(options, timeout_seconds, heard, taken)
    try:
        consumer.commit(
            offsets=[kafka_partition(tp, offset) for tp, offset in offsets.items()], asynchronous=True
        )
        deadline = time.monotonic() + timeout_seconds
        while not answers and (left := deadline - time.monotonic()) > 0:
            consumer.poll(min(left, 0.1))
        return _taken(answers, group, heard.trouble(began))
    except KafkaException as error:
        log.warning(
            "offsets of group %s not set, lag tools are behind: %s", group, reason(options.properties, error)
        )
        return False
    finally:
        consumer.close()


def _taken(answers: list[tuple[Any, Any]], group: str, trouble: str) -> bool:
    if not answers:
        why = trouble or "no answer in time"
        log.warning("offsets of group %s not set, lag tools are behind: %s", group, why)
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
