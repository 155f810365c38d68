"""Leader epochs of single records, read by offset."""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafka2hive.config.values import KafkaOptions
from kafka2hive.kafka import errors, properties
from kafka2hive.model.offsets import TopicPartition

log = logging.getLogger(__name__)

# One reader asks for this many topic partitions at once; each may bring a fetch of _FETCH_BYTES along.
_SIDE_BY_SIDE = 500
_FETCH_BYTES = "16384"
# KafkaError.name(): there is no record at this offset or behind it (any more).
_NOTHING_THERE = frozenset({"_PARTITION_EOF", "_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE"})


def record_epochs(
    options: KafkaOptions, offsets: Mapping[TopicPartition, int], timeout_seconds: float
) -> dict[TopicPartition, int | None]:
    """Leader epoch of the record at exactly this offset, for each topic partition.

    None when no record has this offset (compacted, a transaction marker, outside the log), or the broker gives
    no epoch. Left out: topic partitions that Kafka does not know, and those not answered for in time. One reader,
    which is closed again and joins no group: ~10 ms for one, under a second for a thousand on an idle broker.
    Errors: ServiceUnavailable when nothing at all is answered.
    """
    from confluent_kafka import Consumer, KafkaException

    if not offsets:
        return {}
    given = {
        **properties.reader_properties(options, timeout_seconds),
        "fetch.message.max.bytes": _FETCH_BYTES,
    }
    try:
        reader = Consumer(given, logger=log)
    except KafkaException as error:
        raise errors.refused_properties(properties.without_secrets(str(error), options)) from error
    deadline = time.monotonic() + timeout_seconds
    found: dict[TopicPartition, int | None] = {}
    try:
        # asked first: a reader notices only after 30 s that a topic does not exist
        topics = reader.list_topics(timeout=timeout_seconds).topics
        there = [tp for tp in offsets if tp.topic in topics and tp.number in topics[tp.topic].partitions]
        for batch in _batches(there):
            found.update(_read(reader, {tp: offsets[tp] for tp in batch}, deadline))
    except KafkaException as error:
        said = properties.without_secrets(str(error), options)
        raise errors.unavailable("leader epochs", properties.brokers(options), said) from error
    finally:
        reader.close()
    if there and not found:
        raise errors.unavailable(
            f"records of {len(there)} topic partitions", properties.brokers(options), "no answer in time"
        )
    return found


def _read(
    reader: Any, offsets: Mapping[TopicPartition, int], deadline: float
) -> dict[TopicPartition, int | None]:
    """One fetch for all of them: each is taken out of the assignment by its first answer."""
    from confluent_kafka import TopicPartition as KafkaTopicPartition

    reader.assign([KafkaTopicPartition(tp.topic, tp.number, offset) for tp, offset in offsets.items()])
    waiting = dict(offsets)
    found: dict[TopicPartition, int | None] = {}
    while waiting and (left := deadline - time.monotonic()) > 0:
        answered: list[TopicPartition] = []
        # no more than are waiting: `consume` would sit its time out for the others
        for message in reader.consume(len(waiting), min(left, 0.1)):
            tp = TopicPartition(message.topic() or "", message.partition())
            if tp not in waiting:
                continue  # a further record of one that is answered, or an error that concerns none
            fault = message.error()
            if fault is None:
                found[tp] = _epoch(message, waiting[tp])
            elif fault.name() in _NOTHING_THERE:
                found[tp] = None
            elif not errors.is_missing(fault):
                log.debug("reading %s at %d: %s", tp, waiting[tp], fault.str())
                continue
            del waiting[tp]
            answered.append(tp)
        if answered:
            reader.incremental_unassign([KafkaTopicPartition(tp.topic, tp.number) for tp in answered])
    reader.unassign()
    return found


def _epoch(message: Any, offset: int) -> int | None:
    epoch = message.leader_epoch()
    return epoch if message.offset() == offset and epoch is not None and epoch >= 0 else None


def _batches(topic_partitions: Sequence[TopicPartition]) -> Iterator[Sequence[TopicPartition]]:
    for start in range(0, len(topic_partitions), _SIDE_BY_SIDE):
        yield topic_partitions[start : start + _SIDE_BY_SIDE]
