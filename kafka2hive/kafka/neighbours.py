"""The records around an offset, read from Kafka, to show that two clusters hold the same records there."""

import logging
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from kafka2hive.config.keys import KafkaOptions
from kafka2hive.kafka.client_log import ClientLog
from kafka2hive.kafka.librdkafka import kafka_partition, reader, reason, unavailable
from kafka2hive.kafka.port import RecordAddress

log = logging.getLogger(__name__)

BEFORE = 20
"""How many records before an offset are read."""


@dataclass(frozen=True, slots=True)
class NeighbourRecord:
    """A record, equal to another with the same key, value and timestamp."""

    key: bytes | None
    value: bytes | None
    timestamp: tuple[int, int]
    offset: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The last records before an offset, the oldest first, and the first one from it on; None at the end of the log."""

    before: tuple[NeighbourRecord, ...] = ()
    after: NeighbourRecord | None = None


def neighbours(
    options: KafkaOptions, addresses: Collection[RecordAddress], timeout_seconds: float
) -> dict[RecordAddress, Neighbours]:
    """Return the committed records around each address, which is named as the cluster names it.

    Raises ServiceUnavailable if one of them is not answered within the time limit.
    """
    from confluent_kafka import KafkaException

    client_log, began = ClientLog(log), time.monotonic()
    consumer = reader(options, timeout_seconds, client_log, {"isolation.level": "read_committed"})
    try:
        return {address: _neighbours(consumer, address, timeout_seconds) for address in addresses}
    except (KafkaException, TimeoutError) as error:
        consumer.poll(0)  # delivers librdkafka's log lines
        why = reason(options.properties, error) if isinstance(error, KafkaException) else str(error)
        raise unavailable(
            options=options, what="records before a position", why=why, client_log=client_log, since=began
        ) from error
    finally:
        consumer.close()


def _neighbours(consumer: Any, address: RecordAddress, seconds: float) -> Neighbours:
    """Read from ever further before the offset until there are BEFORE records, because offsets may be without a record."""
    tp, offset = address
    earliest, _ = consumer.get_watermark_offsets(kafka_partition(tp), timeout=seconds)
    back = 2 * BEFORE
    while True:
        start = max(earliest, offset - back)
        found = _read(consumer, address, start, seconds)
        if start == earliest or len(found.before) == BEFORE:
            return found
        back *= 8


def _read(consumer: Any, address: RecordAddress, start: int, seconds: float) -> Neighbours:
    tp, offset = address
    deadline = time.monotonic() + seconds
    before: list[NeighbourRecord] = []
    consumer.assign([kafka_partition(tp, start)])
    try:
        while (remaining := deadline - time.monotonic()) > 0:
            for message in consumer.consume(1000, min(remaining, 0.1)):
                fault = message.error()
                if fault is not None and fault.name() == "_PARTITION_EOF":
                    return Neighbours(tuple(before[-BEFORE:]))
                if fault is not None:
                    raise TimeoutError(f"{tp}: {fault.str()}")
                record = NeighbourRecord(
                    message.key(), message.value(), message.timestamp(), message.offset()
                )
                if record.offset >= offset:
                    return Neighbours(tuple(before[-BEFORE:]), record)
                before.append(record)
    finally:
        consumer.unassign()
    raise TimeoutError(f"{tp} was not read from offset {start} within {seconds:.0f} s")
