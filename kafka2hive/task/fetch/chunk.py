"""A chunk of one table's messages with the ranges that they came from, and its columns as Arrow arrays."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from confluent_kafka import Message

from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode.compiled import CArray
from kafka2hive.model.offsets import OffsetRange

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

_second: Callable[[tuple[int, int]], int] = itemgetter(1)

Positions = npt.NDArray[np.int64]
"""Positions of messages within a chunk, from 0, ascending; for rows, a position repeats for each row of its message."""

HeaderPairs = list[tuple[str, bytes | None]] | None


@dataclass(frozen=True, slots=True)
class Segment:
    """`count` consecutive messages of one range.

    `bytes` is the size of their values, `leader_epoch` that of the last message, -1 if unknown.
    """

    range: OffsetRange
    count: int
    bytes: int
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive messages of one table's ranges. Parts of the messages are extracted only on demand."""

    table: str
    segments: tuple[Segment, ...]
    messages: list[Any]
    _times: list[pa.Int64Array] = field(default_factory=list, init=False, repr=False, compare=False)
    _unreadable: set[int] = field(default_factory=set, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.messages)

    @property
    def value_bytes(self) -> int:
        return sum(segment.bytes for segment in self.segments)

    def bounds(self) -> npt.NDArray[np.int64]:
        """Return the end position of each segment; the last is the chunk's length."""
        return np.cumsum([segment.count for segment in self.segments], dtype=np.int64)

    def _messages_at(self, positions: Positions | None) -> Sequence[Any]:
        if positions is None or np.array_equal(positions, np.arange(len(self.messages))):
            return self.messages
        return [self.messages[position] for position in positions.tolist()]

    def values(self, positions: Positions | None = None) -> pa.BinaryArray:
        """Return the values, null for tombstones. Reading all of them also caches their timestamps."""
        if positions is not None:
            return _values(self._messages_at(positions))
        values, times = values_and_times(self.messages, self.value_bytes)
        self._times[:] = [times]
        return values

    def keys(self, positions: Positions | None = None) -> pa.BinaryArray:
        return pa.array(list(map(Message.key, self._messages_at(positions))), pa.binary())

    def offsets(self, positions: Positions | None = None) -> pa.Int64Array:
        return pa.array(list(map(Message.offset, self._messages_at(positions))), pa.int64())

    def timestamps(self, positions: Positions | None = None) -> pa.Int64Array:
        """Return epoch milliseconds, null for a record without a timestamp (-1 in Kafka's protocol)."""
        if positions is None and self._times:
            return self._times[0]
        return _times(self._messages_at(positions))

    def headers(self, positions: Positions | None = None) -> pa.ListArray:
        """Return `list<struct<key: string, value: binary>>`, null for a record with no or unreadable headers."""
        structs = [
            None if pairs is None else [{"key": key, "value": value} for key, value in pairs]
            for pairs in self.header_pairs(positions)
        ]
        return pa.array(structs, HEADERS)

    def header_pairs(self, positions: Positions | None = None) -> list[HeaderPairs]:
        """Return the name and value pairs of each record's headers, None as in `headers`."""
        wanted = range(len(self)) if positions is None else positions.tolist()
        return list(map(self._headers_at, wanted))

    def unreadable_headers(self) -> Positions:
        """Return the messages with a header name that is not UTF-8, which the client cannot return."""
        for position in range(len(self)):
            self._headers_at(position)
        return np.array(sorted(self._unreadable), dtype=np.int64)

    def _headers_at(self, position: int) -> HeaderPairs:
        if position in self._unreadable:
            return None  # a second call returns a list with NULL items, which crash the interpreter
        try:
            pairs: HeaderPairs = self.messages[position].headers()
        except (SystemError, UnicodeDecodeError):
            self._unreadable.add(position)
            return None
        return pairs

    def topics(self, positions: Positions | None = None) -> pa.StringArray:
        names = pa.array([segment.range.topic_partition.topic for segment in self.segments], pa.string())
        return names.take(self._segment_of(positions))

    def numbers(self, positions: Positions | None = None) -> pa.Int32Array:
        """Return the number of each message's topic partition."""
        numbers = pa.array([segment.range.topic_partition.number for segment in self.segments], pa.int32())
        return numbers.take(self._segment_of(positions))

    def _segment_of(self, positions: Positions | None) -> pa.Int64Array:
        if positions is None:
            counts = [segment.count for segment in self.segments]
            return pa.array(np.repeat(np.arange(len(counts)), counts))
        return pa.array(np.searchsorted(self.bounds(), positions, side="right"))

    def count_by_segment(self, positions: Positions) -> list[int]:
        """Return how many of `positions` lie in each segment."""
        if not len(positions):
            return [0] * len(self.segments)
        where = np.searchsorted(self.bounds(), positions, side="right")
        counts: list[int] = np.bincount(where, minlength=len(self.segments)).tolist()
        return counts

    def split(self, most_bytes: int) -> Iterator["Chunk"]:
        """Yield the messages in chunks of at most `most_bytes` of values; a larger message is a chunk by itself."""
        if self.value_bytes <= most_bytes:
            yield self
            return
        start = 0
        for segment in self.segments:
            held: list[Any] = []
            size = 0
            for message in self.messages[start : start + segment.count]:
                if held and size + len(message) > most_bytes:
                    yield self._piece(segment, held, size)
                    held, size = [], 0
                held.append(message)
                size += len(message)
            yield self._piece(segment, held, size)
            start += segment.count

    def _piece(self, segment: Segment, messages: list[Any], size: int) -> "Chunk":
        return Chunk(
            self.table, (Segment(segment.range, len(messages), size, segment.leader_epoch),), messages
        )


def values_and_times(
    messages: list[Any], value_bytes: int, library: Any = LIBRARY
) -> tuple[pa.BinaryArray, pa.Int64Array]:
    """Return the values, null for tombstones, and the timestamps as `Chunk.timestamps`.

    `value_bytes` is the sum of the values' sizes.
    """
    if library is None:
        return _values(messages), _times(messages)
    found = library.values_and_times(messages, Message.value, Message.timestamp, value_bytes)
    binary, integers = map(CArray, (pa.binary(), pa.int64()), found)
    return pa.array(binary), pa.array(integers)


def _values(messages: Sequence[Any]) -> pa.BinaryArray:
    return pa.array(list(map(Message.value, messages)), pa.binary())


def _times(messages: Sequence[Any]) -> pa.Int64Array:
    times = np.fromiter(map(_second, map(Message.timestamp, messages)), np.int64, len(messages))
    missing = times < 0
    return pa.array(times, mask=missing if missing.any() else None)
