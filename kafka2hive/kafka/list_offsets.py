"""ListOffsets requests: where the logs of topic partitions begin and end, and the offset of a time."""

import time
from collections.abc import Mapping
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

from kafka2hive.kafka import errors
from kafka2hive.kafka.librdkafka import kafka_partition
from kafka2hive.kafka.port import UNKNOWN_EPOCH, Watermark
from kafka2hive.model.offsets import TopicPartition

# A result counts as missing this many seconds after librdkafka's own limit.
GRACE_SECONDS = 2.0
# Topic partitions per call. librdkafka sends one request per leader, so this bounds the size of a request.
_BATCH = 10_000
# OFFSET_INVALID, which librdkafka's ListOffsets gives without an error if a broker does not answer in time.
_NOT_ANSWERED = -1001

Answers = dict[TopicPartition, Watermark | Exception]


def offsets_of(
    admin: Any, asked: Mapping[TopicPartition, Any], seconds: float, read_committed: bool = True
) -> Answers:
    """Return an offset, or the error, for each topic partition and its OffsetSpec; `seconds` bounds each request.

    With `read_committed` a log ends at its last stable offset, otherwise at its high watermark.
    """
    from confluent_kafka import IsolationLevel

    level = IsolationLevel.READ_COMMITTED if read_committed else IsolationLevel.READ_UNCOMMITTED
    answers: Answers = {}
    pairs = list(asked.items())
    for start in range(0, len(pairs), _BATCH):
        answers |= _one_call(admin, dict(pairs[start : start + _BATCH]), seconds, level)
    return answers


def is_gone(error: Exception) -> bool:
    """Return whether an answer says that the topic partition does not exist, or no longer."""
    from confluent_kafka import KafkaException

    return isinstance(error, KafkaException) and errors.is_missing(error.args[0])


def _one_call(admin: Any, asked: Mapping[TopicPartition, Any], seconds: float, level: Any) -> Answers:
    from confluent_kafka import KafkaException

    deadline = time.monotonic() + seconds + GRACE_SECONDS
    answers: Answers = {}
    futures = admin.list_offsets(
        {kafka_partition(tp): spec for tp, spec in asked.items()},
        isolation_level=level,
        request_timeout=seconds,
    )
    for answered, future in futures.items():
        tp = TopicPartition(answered.topic, answered.partition)
        try:
            answers[tp] = _watermark(future.result(max(0.0, deadline - time.monotonic())))
        except (KafkaException, FutureTimeout) as error:
            answers[tp] = error
    return answers


def _watermark(result: Any) -> Watermark:
    """Convert one result of ListOffsets. Raises FutureTimeout if the broker did not answer."""
    if result.offset == _NOT_ANSWERED:
        raise FutureTimeout("no answer in time")
    return Watermark(result.offset, UNKNOWN_EPOCH if result.leader_epoch is None else result.leader_epoch)
