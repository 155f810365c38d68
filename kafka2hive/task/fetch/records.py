"""Records as a Kafka client delivers them: a batch consists of runs of records of one topic partition.

The Python client delivers a list of messages, the compiled library (native.py) one object for the whole batch. Both return
the parts of records as columns, each only on demand.
"""

import operator
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import filterfalse, pairwise
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from confluent_kafka import Message

from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode.values.batch import CArray

Key = tuple[str, int]
"""Topic and number of a topic partition."""

Offsets = npt.NDArray[np.int64]

Indices = npt.NDArray[np.int64]
"""Indices of messages within a chunk, from 0, ascending; for rows, an index repeats for each row of its message."""

UNREADABLE_HEADERS = "headers.utf8"
"""The reason of a dead letter whose record has a header name that is not UTF-8; the letter's headers are null."""

HeaderPairs = list[tuple[str, bytes | None]] | None

_milliseconds: Callable[[tuple[int, int]], int] = itemgetter(1)  # of (type of timestamp, milliseconds)


class Records(Protocol):
    """Records in the order of delivery. The argument `indices` selects records; None selects all of them."""

    def __len__(self) -> int: ...

    def slice(self, start: int, end: int) -> "Records": ...

    def joined(self, others: Sequence[Any]) -> "Records":
        """Return these records, followed by the records of `others`, which must be of the same class."""
        ...

    def compact(self) -> "Records":
        """Return the same records without keeping the memory of a delivery that is much larger than these records."""
        ...

    def value_bytes(self) -> int:
        """Return the sum of the values' sizes."""
        ...

    def sizes(self) -> npt.NDArray[np.int64]:
        """Return the size of each value, 0 for a tombstone."""
        ...

    def last(self) -> tuple[int, int]:
        """Return offset and leader epoch (-1 if unknown) of the last record. Must not be called without records."""
        ...

    def count_below(self, offset: int) -> int:
        """Return how many records of one topic partition have an offset below `offset`."""
        ...

    def values_and_times(self) -> tuple[pa.BinaryArray, pa.Int64Array]:
        """Return the values, null for tombstones, and the timestamps of all records."""
        ...

    def values(self, indices: Indices | None) -> pa.BinaryArray: ...

    def keys(self, indices: Indices | None) -> pa.BinaryArray: ...

    def offsets(self, indices: Indices | None) -> pa.Int64Array: ...

    def timestamps(self, indices: Indices | None) -> pa.Int64Array:
        """Return epoch milliseconds, null for a record without a timestamp (-1 in Kafka's protocol)."""
        ...

    def headers(self, indices: Indices | None) -> "Headers":
        """Return the headers of the selected records."""
        ...


@dataclass(frozen=True, slots=True)
class Headers:
    """The headers of records.

    `pairs` has the names and values of each record's headers, None for a record without headers or with unreadable ones.
    `unreadable` has the indexes in `pairs` of the records with a header name that is not UTF-8.
    """

    pairs: list[HeaderPairs]
    unreadable: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DeliveryRun:
    """Consecutive records of one topic partition, in the order of delivery."""

    key: Key
    records: Records


class Batch(Protocol):
    """What one call of `Client.consume` delivers."""

    @property
    def events(self) -> Sequence[Any]:
        """The client's errors and ends of the log, each as a Message with an error."""
        ...

    def tally(self) -> Sequence[tuple[Key, Offsets]]:
        """Return the offsets of the records, one entry per run, as the client delivered them."""
        ...

    def runs(self) -> Sequence[DeliveryRun]:
        """Return the records in runs of one topic partition, as the client delivered them."""
        ...


class MessageBatch:
    """Messages of the Python client."""

    def __init__(self, messages: list[Any]) -> None:
        self.events = tuple(filter(Message.error, messages))
        self._records = list(filterfalse(Message.error, messages)) if self.events else messages

    @cached_property
    def _runs(self) -> list[tuple[Key, list[Any]]]:
        return list(_runs(self._records))

    def tally(self) -> list[tuple[Key, Offsets]]:
        return [
            (key, np.fromiter(map(Message.offset, messages), np.int64, len(messages)))
            for key, messages in self._runs
        ]

    def runs(self) -> list[DeliveryRun]:
        return [DeliveryRun(key, MessageRecords(messages)) for key, messages in self._runs]


def _runs(messages: list[Any]) -> Iterator[tuple[Key, list[Any]]]:
    if not messages:
        return
    topics = list(map(Message.topic, messages))
    numbers = np.fromiter(map(Message.partition, messages), np.int32, len(messages))
    changes = numbers[1:] != numbers[:-1]
    if len(set(topics)) > 1:
        changes |= np.fromiter(map(operator.ne, topics, topics[1:]), np.bool_, len(changes))
    for start, stop in pairwise([0, *(np.flatnonzero(changes) + 1).tolist(), len(messages)]):
        yield (topics[start], int(numbers[start])), messages[start:stop]


@dataclass(frozen=True, slots=True)
class MessageRecords:
    """Messages of the Python client as Records."""

    messages: list[Any]
    _unreadable: set[int] = field(default_factory=set, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.messages)

    def slice(self, start: int, end: int) -> "MessageRecords":
        return MessageRecords(self.messages[start:end])

    def joined(self, others: Sequence["MessageRecords"]) -> "MessageRecords":
        return MessageRecords([message for records in (self, *others) for message in records.messages])

    def compact(self) -> "MessageRecords":
        return self  # each message has its own memory

    def value_bytes(self) -> int:
        return sum(map(len, self.messages))

    def sizes(self) -> npt.NDArray[np.int64]:
        return np.fromiter(map(len, self.messages), np.int64, len(self.messages))

    def last(self) -> tuple[int, int]:
        epoch = self.messages[-1].leader_epoch()
        return self.messages[-1].offset(), -1 if epoch is None else epoch

    def count_below(self, offset: int) -> int:
        return bisect_left(self.messages, offset, key=Message.offset)

    def values_and_times(self) -> tuple[pa.BinaryArray, pa.Int64Array]:
        return values_and_times(self.messages, self.value_bytes())

    def values(self, indices: Indices | None) -> pa.BinaryArray:
        return _values(self._chosen(indices))

    def keys(self, indices: Indices | None) -> pa.BinaryArray:
        return pa.array(list(map(Message.key, self._chosen(indices))), pa.binary())

    def offsets(self, indices: Indices | None) -> pa.Int64Array:
        return pa.array(list(map(Message.offset, self._chosen(indices))), pa.int64())

    def timestamps(self, indices: Indices | None) -> pa.Int64Array:
        return _times(self._chosen(indices))

    def _chosen(self, indices: Indices | None) -> Sequence[Any]:
        if indices is None or np.array_equal(indices, np.arange(len(self.messages))):
            return self.messages
        return [self.messages[index] for index in indices.tolist()]

    def headers(self, indices: Indices | None) -> Headers:
        chosen = range(len(self)) if indices is None else indices.tolist()
        pairs = list(map(self._headers_at, chosen))
        return Headers(pairs, tuple(place for place, index in enumerate(chosen) if index in self._unreadable))

    def _headers_at(self, index: int) -> HeaderPairs:
        if index in self._unreadable:
            return None  # a second call of `headers` would return a list with NULL items, which crash the interpreter
        try:
            pairs: HeaderPairs = self.messages[index].headers()
        except (SystemError, UnicodeDecodeError):
            self._unreadable.add(index)
            return None
        return pairs


def values_and_times(
    messages: list[Any], value_bytes: int, library: Any = LIBRARY
) -> tuple[pa.BinaryArray, pa.Int64Array]:
    """Return the values, null for tombstones, and the timestamps as `Records.timestamps`.

    `value_bytes` is the sum of the values' sizes.
    """
    if library is None:
        return _values(messages), _times(messages)
    arrays = library.values_and_times(messages, Message.value, Message.timestamp, value_bytes)
    binary, integers = map(CArray, (pa.binary(), pa.int64()), arrays)
    return pa.array(binary), pa.array(integers)


def _values(messages: Sequence[Any]) -> pa.BinaryArray:
    return pa.array(list(map(Message.value, messages)), pa.binary())


def _times(messages: Sequence[Any]) -> pa.Int64Array:
    times = np.fromiter(map(_milliseconds, map(Message.timestamp, messages)), np.int64, len(messages))
    missing = times < 0
    return pa.array(times, mask=missing if missing.any() else None)
