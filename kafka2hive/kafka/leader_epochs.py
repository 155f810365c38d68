"""Leader epochs of single records, read by offset."""

import logging
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kafka2hive.config.keys import KafkaOptions
from kafka2hive.kafka.client_log import ClientLog
from kafka2hive.kafka.librdkafka import is_missing, is_refused, kafka_partition, reader, reason, unavailable
from kafka2hive.kafka.port import RecordAddress
from kafka2hive.model.offsets import TopicPartition

log = logging.getLogger(__name__)

# Topic partitions that one reader fetches at once, and the largest fetch of each in bytes.
_MOST_AT_ONCE = 500
_PROPERTIES = {"fetch.message.max.bytes": "16384"}
# KafkaError.name(): there is no record at this offset or after it.
_NO_RECORD = frozenset({"_PARTITION_EOF", "_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE"})


def record_epochs(
    options: KafkaOptions, addresses: Collection[RecordAddress], timeout_seconds: float
) -> dict[RecordAddress, int | None]:
    """Return the leader epoch of the record at each address.

    An epoch is None if no record has this offset (compacted, a transaction marker, outside the log) or the broker gives
    no epoch. Topic partitions that Kafka does not know, refuses, or does not answer in time are left out.
    Readers run one after another and join no group: about 10 ms for one record, under a second for a thousand topic
    partitions on an idle broker. Raises ServiceUnavailable if nothing is answered.
    """
    from confluent_kafka import KafkaException

    if not addresses:
        return {}
    client_log, began = ClientLog(log), time.monotonic()
    deadline = began + timeout_seconds
    epochs: dict[RecordAddress, int | None] = {}
    failures: dict[TopicPartition, str] = {}
    consumer = reader(options, timeout_seconds, client_log, _PROPERTIES)
    try:
        # checked first, because a reader notices only after 30 s that a topic does not exist
        topics = consumer.list_topics(timeout=timeout_seconds).topics
        present = {
            (tp, at)
            for tp, at in addresses
            if tp.topic in topics and tp.number in topics[tp.topic].partitions
        }
        rounds = list(_rounds(present))
        for number, offsets in enumerate(rounds):
            if number:  # a new reader: a record fetched for another offset must not count as an answer
                consumer.close()
                consumer = reader(options, timeout_seconds, client_log, _PROPERTIES)
            # a round without answers uses only its share of the time
            share = (deadline - time.monotonic()) / (len(rounds) - number)
            answers = read_epochs(
                consumer, {tp: at for tp, at in offsets.items() if tp not in failures}, share
            )
            epochs.update({(tp, offsets[tp]): epoch for tp, epoch in answers.epochs.items()})
            failures.update(answers.failures)
    except KafkaException as error:
        consumer.poll(0)  # delivers librdkafka's log lines
        why = reason(options.properties, error)
        raise unavailable(
            options=options, what="leader epochs", why=why, client_log=client_log, since=began
        ) from error
    finally:
        consumer.close()
    for tp, why in sorted(failures.items())[:1]:
        log.warning("no record of %s (of %d) this time: %s", tp, len(failures), why)
    if present and not epochs:
        what = f"records of {len(present)} topic partitions"
        raise unavailable(
            options=options, what=what, why=next(iter(failures.values())), client_log=client_log, since=began
        )
    return epochs


@dataclass(frozen=True, slots=True)
class Answers:
    """One answer per topic partition: in `epochs` (None: no such record, or no epoch), or in `failures` with the reason."""

    epochs: Mapping[TopicPartition, int | None]
    failures: Mapping[TopicPartition, str]


def read_epochs(consumer: Any, offsets: Mapping[TopicPartition, int], seconds: float) -> Answers:
    """Fetch one record per topic partition with a new Consumer, within `seconds`.

    A topic partition leaves the assignment at its first answer.
    """
    deadline = time.monotonic() + seconds
    consumer.assign([kafka_partition(tp, offset) for tp, offset in offsets.items()])
    waiting = dict(offsets)
    epochs: dict[TopicPartition, int | None] = {}
    failures: dict[TopicPartition, str] = {}
    while waiting and (remaining := deadline - time.monotonic()) > 0:
        answered: list[TopicPartition] = []
        # not more than are waiting, or `consume` would use up its time limit
        for message in consumer.consume(len(waiting), min(remaining, 0.1)):
            tp = TopicPartition(message.topic() or "", message.partition())
            if tp not in waiting:
                continue  # another record of an answered topic partition, or an error without one
            fault = message.error()
            if fault is None:
                epochs[tp] = _epoch(message, waiting[tp])
            elif fault.name() in _NO_RECORD:
                epochs[tp] = None
            elif is_missing(fault) or is_refused(fault):
                failures[tp] = fault.str()
            else:
                log.debug("reading %s at %d: %s", tp, waiting[tp], fault.str())
                continue
            del waiting[tp]
            answered.append(tp)
        if answered:
            consumer.incremental_unassign([kafka_partition(tp) for tp in answered])
    consumer.unassign()
    return Answers(epochs, failures | dict.fromkeys(waiting, "no answer in time"))


def _epoch(message: Any, offset: int) -> int | None:
    epoch = message.leader_epoch()
    return epoch if message.offset() == offset and epoch is not None and epoch >= 0 else None


def _rounds(records: Collection[RecordAddress]) -> Iterator[dict[TopicPartition, int]]:
    """Yield rounds that hold every record once; a round has at most one offset of a topic partition."""
    offsets: dict[TopicPartition, list[int]] = {}
    for topic_partition, offset in sorted(records, reverse=True):
        offsets.setdefault(topic_partition, []).append(offset)
    while offsets:
        topic_partitions = sorted(offsets)
        for start in range(0, len(topic_partitions), _MOST_AT_ONCE):
            yield {tp: offsets[tp].pop() for tp in topic_partitions[start : start + _MOST_AT_ONCE]}
        offsets = {tp: remaining for tp, remaining in offsets.items() if remaining}
