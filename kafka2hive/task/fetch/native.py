"""The compiled library's client (native/src/fetch): librdkafka's records become columns without Python objects.

It uses the librdkafka that confluent_kafka has loaded. If it cannot serve the map's Kafka properties, the Python client reads.
"""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException, Message, cimpl, libversion
from confluent_kafka import TopicPartition as Assignment

from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode.values.batch import CArray
from kafka2hive.task.fetch.records import DeliveryRun, HeaderPairs, Headers, Indices, Key, Offsets

log = logging.getLogger(__name__)

_BATCH_BYTES = 16 * 1024 * 1024
# Python's logging level by syslog's, as confluent_kafka maps them
_LEVELS = (50, 50, 50, 40, 30, 20, 20, 10)


@cache
def librdkafka(library: Any = LIBRARY) -> Any:
    """Return the compiled library's access to the loaded librdkafka. If it does not fit, log why and return None."""
    if library is None:
        return None  # a run's first line names the missing library
    try:
        loaded = library.Librdkafka(cimpl.__file__, os.RTLD_LAZY | os.RTLD_NOLOAD)
        why = "" if loaded.version == libversion()[1] else f"it is not librdkafka {libversion()[0]}"
    except OSError as error:
        why = str(error)
    if why:
        log.warning(
            "the Python client reads the records, which costs more CPU: librdkafka does not fit (%s)", why
        )
        return None
    return loaded


def python_only_setting(config: Mapping[str, object]) -> str:
    """Return the property that only the Python client serves, with its value; empty if the config lacks such a property."""
    name = "sasl.oauthbearer.metadata.authentication.type"
    return f"{name}: aws_iam" if config.get(name) == "aws_iam" else ""


class NativeClient:
    """The compiled library's consumer as a Client (consumer.py)."""

    def __init__(
        self,
        config: Mapping[str, object],
        logger: logging.Logger,
        on_error: Callable[[KafkaError], None],
        on_throttle: Callable[[str, float], None],
    ) -> None:
        """Raise KafkaException if librdkafka refuses the config. `librdkafka()` must not be None."""
        self._logger = logger
        self._on_error = on_error
        self._on_throttle = on_throttle
        texts = {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in config.items()
        }
        self._consumer = _call(librdkafka().consumer, list(({"log.queue": "true"} | texts).items()))

    def assign(self, assignments: Sequence[Assignment]) -> None:
        _call(self._consumer.assign, _triples(assignments))

    def assignment(self) -> list[Assignment]:
        return [
            Assignment(topic, number, offset) for topic, number, offset, _ in _call(self._consumer.assignment)
        ]

    def incremental_unassign(self, assignments: Sequence[Assignment]) -> None:
        _call(self._consumer.incremental_unassign, _triples(assignments))

    def unassign(self) -> None:
        _call(self._consumer.unassign)

    def position(self, assignments: Sequence[Assignment]) -> list[Assignment]:
        positions = _call(self._consumer.position, _triples(assignments))
        return [Assignment(topic, number, offset) for topic, number, offset, _ in positions]

    def errors_of_offsets(self, asked: Sequence[Assignment], seconds: float) -> dict[Key, KafkaError | None]:
        answers = _call(self._consumer.offsets_for_times, _triples(asked), seconds)
        return {(topic, number): KafkaError(code) if code else None for topic, number, _, code in answers}

    def consume(self, count: int, seconds: float) -> "NativeBatch":
        batch = _call(self._consumer.consume, count, _BATCH_BYTES, seconds)
        lines, errors, throttles = self._consumer.heard()
        for level, facility, client, text in lines:
            self._logger.log(_LEVELS[level], "%s [%s] %s", facility, client, text)
        for code, text in errors:
            self._on_error(KafkaError(code, text))
        for broker, millis in throttles:
            self._on_throttle(broker, millis / 1000)
        return NativeBatch(batch)

    def close(self) -> None:
        _call(self._consumer.close)


def _triples(assignments: Sequence[Assignment]) -> list[tuple[str, int, int]]:
    return [(a.topic, a.partition, a.offset) for a in assignments]


def _call(function: Callable[..., Any], *arguments: object) -> Any:
    """Call the library. Raises KafkaException with the client's error."""
    try:
        return function(*arguments)
    except LIBRARY.ClientError as error:
        raise KafkaException(KafkaError(*error.args)) from None


class NativeBatch:
    """A batch of the compiled library as a Batch (records.py)."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self.events = tuple(
            Message(topic=topic, partition=number, offset=offset, error=KafkaError(code, text))
            for topic, number, offset, code, text in batch.events()
        )

    def tally(self) -> list[tuple[Key, Offsets]]:
        return [
            ((topic, number), np.frombuffer(offsets, np.int64))
            for topic, number, offsets in self._batch.tally()
        ]

    def runs(self) -> list[DeliveryRun]:
        return [
            DeliveryRun((topic, number), NativeRecords(records))
            for topic, number, records in self._batch.runs()
        ]


class NativeRecords:
    """Records of the compiled library as Records (records.py)."""

    def __init__(self, records: Any) -> None:
        self._records = records

    def __len__(self) -> int:
        return len(self._records)

    def slice(self, start: int, end: int) -> "NativeRecords":
        return NativeRecords(self._records.slice(start, end))

    def joined(self, others: Sequence["NativeRecords"]) -> "NativeRecords":
        return NativeRecords(self._records.joined([self._records, *(other._records for other in others)]))

    def compact(self) -> "NativeRecords":
        return NativeRecords(self._records.compact())

    def value_bytes(self) -> int:
        return int(self._records.bytes())

    def sizes(self) -> npt.NDArray[np.int64]:
        return np.frombuffer(self._records.sizes(), np.int64)

    def last(self) -> tuple[int, int]:
        offset, leader_epoch = self._records.last()
        return offset, leader_epoch

    def count_below(self, offset: int) -> int:
        return int(self._records.count_below(offset))

    def values_and_times(self) -> tuple[pa.BinaryArray, pa.Int64Array]:
        values, times = self._records.values_and_timestamps()
        return pa.array(CArray(pa.binary(), values)), pa.array(CArray(pa.int64(), times))

    def values(self, indices: Indices | None) -> pa.BinaryArray:
        return pa.array(CArray(pa.binary(), self._records.values(_bytes(indices))))

    def keys(self, indices: Indices | None) -> pa.BinaryArray:
        return pa.array(CArray(pa.binary(), self._records.keys(_bytes(indices))))

    def offsets(self, indices: Indices | None) -> pa.Int64Array:
        return pa.array(CArray(pa.int64(), self._records.offsets(_bytes(indices))))

    def timestamps(self, indices: Indices | None) -> pa.Int64Array:
        return pa.array(CArray(pa.int64(), self._records.timestamps(_bytes(indices))))

    def headers(self, indices: Indices | None) -> Headers:
        pairs: list[HeaderPairs]
        pairs, unreadable = self._records.headers(_bytes(indices))
        return Headers(pairs, tuple(unreadable))


def _bytes(indices: Indices | None) -> bytes | None:
    return None if indices is None else np.asarray(indices, np.int64).tobytes()
