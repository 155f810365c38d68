"""A chunk of one table's records, with the ranges that they came from; its columns are Arrow arrays."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.task.fetch.records import HeaderPairs, Indices, Records

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@dataclass(frozen=True, slots=True)
class Segment:
    """`count` consecutive messages of one range.

    `bytes` is the size of their values. `leader_epoch` is the leader epoch of the last message, -1 if unknown.
    """

    range: OffsetRange
    count: int
    bytes: int
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive records of one table's ranges. Keys, values and other parts are extracted only on demand."""

    table: str
    segments: tuple[Segment, ...]
    records: Records
    _times: list[pa.Int64Array] = field(default_factory=list, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.records)

    @property
    def value_bytes(self) -> int:
        return sum(segment.bytes for segment in self.segments)

    def bounds(self) -> npt.NDArray[np.int64]:
        """Return the end index of each segment; the last is the chunk's length."""
        return np.cumsum([segment.count for segment in self.segments], dtype=np.int64)

    def values(self, indices: Indices | None = None) -> pa.BinaryArray:
        """Return the values, null for tombstones. A call for all values also caches the timestamps."""
        if indices is not None:
            return self.records.values(indices)
        values, times = self.records.values_and_times()
        self._times[:] = [times]
        return values

    def keys(self, indices: Indices | None = None) -> pa.BinaryArray:
        return self.records.keys(indices)

    def offsets(self, indices: Indices | None = None) -> pa.Int64Array:
        return self.records.offsets(indices)

    def timestamps(self, indices: Indices | None = None) -> pa.Int64Array:
        """Return epoch milliseconds, null for a record without a timestamp (-1 in Kafka's protocol)."""
        if indices is None and self._times:
            return self._times[0]
        return self.records.timestamps(indices)

    def headers(self, indices: Indices | None = None) -> pa.ListArray:
        """Return `list<struct<key: string, value: binary>>`, null for a record without headers or with unreadable ones."""
        structs = [
            None if pairs is None else [{"key": key, "value": value} for key, value in pairs]
            for pairs in self.header_pairs(indices)
        ]
        return pa.array(structs, HEADERS)

    def header_pairs(self, indices: Indices | None = None) -> list[HeaderPairs]:
        """Return the name and value pairs of each record's headers; None where `headers` returns null."""
        return self.records.headers(indices).pairs

    def unreadable_headers(self) -> Indices:
        """Return the indices of records with a header name that is not UTF-8; the client cannot return such headers."""
        return np.array(self.records.headers(None).unreadable, dtype=np.int64)

    def address(self, index: int) -> tuple[TopicPartition, int]:
        """Return the topic partition and the offset of a record."""
        segment = self.segments[int(np.searchsorted(self.bounds(), index, side="right"))]
        return segment.range.topic_partition, self.offsets(np.array([index], np.int64))[0].as_py()

    def topics(self, indices: Indices | None = None) -> pa.StringArray:
        """Return the topic of each message, with the name of its cluster if that is one of the map's `kafka_clusters`."""
        names = pa.array([segment.range.topic_partition.topic for segment in self.segments], pa.string())
        return names.take(self._segment_of(indices))

    def names_of_topics(self, indices: Indices | None = None) -> pa.StringArray:
        """Return the name of each message's topic in its cluster."""
        names = pa.array([segment.range.topic_partition.key[0] for segment in self.segments], pa.string())
        return names.take(self._segment_of(indices))

    def numbers(self, indices: Indices | None = None) -> pa.Int32Array:
        """Return the number of each message's topic partition."""
        numbers = pa.array([segment.range.topic_partition.number for segment in self.segments], pa.int32())
        return numbers.take(self._segment_of(indices))

    def _segment_of(self, indices: Indices | None) -> pa.Int64Array:
        if indices is None:
            counts = [segment.count for segment in self.segments]
            return pa.array(np.repeat(np.arange(len(counts)), counts))
        return pa.array(np.searchsorted(self.bounds(), indices, side="right"))

    def count_by_segment(self, indices: Indices) -> list[int]:
        """Return how many of `indices` lie in each segment."""
        if not len(indices):
            return [0] * len(self.segments)
        where = np.searchsorted(self.bounds(), indices, side="right")
        counts: list[int] = np.bincount(where, minlength=len(self.segments)).tolist()
        return counts

    def split(self, most_bytes: int) -> Iterator["Chunk"]:
        """Yield the records in chunks of at most `most_bytes` of values; a larger record is a separate chunk."""
        if self.value_bytes <= most_bytes:
            yield self
            return
        sizes, start = self.records.sizes().tolist(), 0
        for segment, end in zip(self.segments, self.bounds().tolist(), strict=True):
            held = 0
            for index in range(start, end):
                if index > start and held + sizes[index] > most_bytes:
                    yield self._piece(segment, start, index, held)
                    start, held = index, 0
                held += sizes[index]
            yield self._piece(segment, start, end, held)
            start = end

    def _piece(self, segment: Segment, start: int, end: int, size: int) -> "Chunk":
        records = self.records.slice(start, end)
        return Chunk(self.table, (Segment(segment.range, end - start, size, segment.leader_epoch),), records)
