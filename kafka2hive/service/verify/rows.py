"""Rows reduced to what a comparison needs: a hash, a bucket, a file, and the place in Kafka if it is known."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.formats.row_hash import Hashes
from kafka2hive.model.offsets import OffsetRange, TopicPartition, merge_ranges

Indices = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]

OUTSIDE = -1
"""The place of a row whose offset is unknown or outside the ranges."""
NO_FILE = -1


@dataclass(frozen=True, slots=True)
class PlaceColumns:
    """The names of the columns with a row's origin.

    `topic` or `partition` is None if the table does not have that column: the span must then have only one topic, or only
    one partition number.
    """

    offset: str
    topic: str | None = None
    partition: str | None = None

    def names(self) -> list[str]:
        return [name for name in (self.topic, self.partition, self.offset) if name is not None]

    @property
    def complete(self) -> bool:
        """Return whether a row's origin follows from its columns alone."""
        return self.topic is not None and self.partition is not None

    def tells_apart(self, ranges: Sequence[OffsetRange]) -> bool:
        """Return whether these columns determine the origin of every row of these ranges."""
        topics = {r.topic_partition.topic for r in ranges}
        numbers = {r.topic_partition.number for r in ranges}
        return (self.topic is not None or len(topics) <= 1) and (
            self.partition is not None or len(numbers) <= 1
        )


class Span:
    """Numbers the offsets of several ranges from 0 to `length` - 1; such a number is a place."""

    def __init__(self, ranges: Sequence[OffsetRange]) -> None:
        self.ranges = tuple(sorted(r for r in ranges if len(r)))
        lengths = np.array([len(r) for r in self.ranges], np.int64)
        self._firsts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        self.length = int(self._firsts[-1])
        self._by_partition: dict[TopicPartition, list[int]] = {}
        for index, r in enumerate(self.ranges):
            self._by_partition.setdefault(r.topic_partition, []).append(index)

    def places(self, columns: PlaceColumns, batch: pa.RecordBatch) -> Indices:
        """Return the place of each row; OUTSIDE if its offset is in none of the ranges, or null."""
        offsets = batch.column(columns.offset)
        if offsets.null_count:
            offsets = offsets.fill_null(OUTSIDE)
        values = offsets.to_numpy().astype(np.int64, copy=False)
        result = np.full(len(values), OUTSIDE, np.int64)
        for topic_partition, rows in self._sources(columns, batch):
            for index in self._ranges_of(topic_partition):
                r = self.ranges[index]
                inside = (values >= r.start) & (values < r.end) & rows
                result[inside] = values[inside] - r.start + self._firsts[index]
        return result

    def _sources(
        self, columns: PlaceColumns, batch: pa.RecordBatch
    ) -> list[tuple[TopicPartition, npt.NDArray[np.bool_]]]:
        """Return each topic partition that occurs in the batch, with the mask of its rows."""
        only = next(iter(self._by_partition), TopicPartition("", -1))
        topics = _masks(batch, columns.topic, only.topic)
        numbers = _masks(batch, columns.partition, only.number)
        return [
            (TopicPartition(topic, number), topic_rows & number_rows)
            for topic, topic_rows in topics
            for number, number_rows in numbers
            if topic is not None and number is not None
        ]

    def _ranges_of(self, topic_partition: TopicPartition) -> list[int]:
        """Return the indexes of the ranges of a row's topic partition; rows do not name the cluster, dead letters do."""
        if topic_partition in self._by_partition:
            return self._by_partition[topic_partition]
        return [i for tp, of_tp in self._by_partition.items() if tp.key == topic_partition for i in of_tp]

    def at(self, place: int) -> tuple[TopicPartition, int]:
        """Return the topic partition and offset of a place."""
        index = int(np.searchsorted(self._firsts, place, side="right")) - 1
        r = self.ranges[index]
        return r.topic_partition, r.start + place - int(self._firsts[index])

    def place(self, topic_partition: TopicPartition, offset: int) -> int:
        """Return the place of an offset; OUTSIDE if it is in none of the ranges."""
        for index in self._by_partition.get(topic_partition, []):
            r = self.ranges[index]
            if r.start <= offset < r.end:
                return offset - r.start + int(self._firsts[index])
        return OUTSIDE

    def are_within(self, places: Indices, ranges: Sequence[OffsetRange]) -> npt.NDArray[np.bool_]:
        """Return whether each place belongs to one of the `ranges`, which must be parts of the span's."""
        result = np.zeros(len(places), np.bool_)
        for r in merge_ranges(ranges):
            for index in self._by_partition.get(r.topic_partition, []):
                whole = self.ranges[index]
                if whole.start <= r.start and r.end <= whole.end:
                    first = int(self._firsts[index]) + r.start - whole.start
                    result |= (places >= first) & (places < first + len(r))
        return result

    def runs(self, places: Indices) -> list[OffsetRange]:
        """Return the offset ranges of consecutive places; `places` must ascend."""
        if not len(places):
            return []
        begins_range = np.isin(places, self._firsts)
        cuts = np.flatnonzero((np.diff(places) != 1) | begins_range[1:]) + 1
        runs = []
        for start, stop in zip([0, *cuts.tolist()], [*cuts.tolist(), len(places)], strict=True):
            tp, first = self.at(int(places[start]))
            runs.append(OffsetRange(tp, first, first + int(places[stop - 1] - places[start]) + 1))
        return runs


class SparseSpan:
    """Numbers some `places` of a span from 0, for sides with few rows of a long span. The places must ascend."""

    def __init__(self, span: Span, places: Indices) -> None:
        self._span = span
        self._places = places

    def runs(self, places: Indices) -> list[OffsetRange]:
        """Return the offset ranges of consecutive places of the whole span."""
        return self._span.runs(self._places[places])


def _masks(batch: pa.RecordBatch, name: str | None, only: Any) -> list[tuple[Any, npt.NDArray[np.bool_]]]:
    """Return each distinct value of a column with the mask of its rows; if `name` is None, all rows have the value `only`."""
    if name is None:
        return [(only, np.ones(len(batch), np.bool_))]
    column = batch.column(name)
    if len(column) and not column.null_count and pc.all(pc.equal(column, column[0])).as_py():
        return [(column[0].as_py(), np.ones(len(batch), np.bool_))]
    encoded = column.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy()
    return [(value, codes == code) for code, value in enumerate(encoded.dictionary.to_pylist())]


@dataclass(slots=True)
class RowHashes:
    """The rows of one side, batch by batch, with 24 bytes per row."""

    places: list[Indices] = field(default_factory=list)
    hashes: list[Hashes] = field(default_factory=list)
    buckets: list[Numbers] = field(default_factory=list)
    files: list[Numbers] = field(default_factory=list)
    count: int = 0

    def add(self, places: Indices | None, hashes: Hashes, buckets: Numbers, file: int = NO_FILE) -> None:
        """Add a batch; `places` is None if the rows have none."""
        size = len(hashes)
        self.places.append(np.full(size, OUTSIDE, np.int64) if places is None else places)
        self.hashes.append(hashes)
        self.buckets.append(buckets)
        self.files.append(np.full(size, file, np.int32))
        self.count += size

    def extend(self, more: "RowHashes") -> None:
        self.places += more.places
        self.hashes += more.hashes
        self.buckets += more.buckets
        self.files += more.files
        self.count += more.count

    def whole(self) -> "RowArrays":
        return RowArrays(
            np.concatenate([*self.places, np.zeros(0, np.int64)]),
            np.concatenate([*self.hashes, np.zeros(0, np.uint64)]),
            np.concatenate([*self.buckets, np.zeros(0, np.int32)]),
            np.concatenate([*self.files, np.zeros(0, np.int32)]),
        )


@dataclass(frozen=True, slots=True)
class RowArrays:
    """The rows of one side; the four arrays have the same length."""

    places: Indices
    hashes: Hashes
    buckets: Numbers
    files: Numbers

    def __len__(self) -> int:
        return len(self.hashes)


class Paths:
    """Numbers the paths of Hive partitions, alike for both sides of a comparison."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, path: str) -> int:
        number = self._numbers.setdefault(path, len(self.names))
        if number == len(self.names):
            self.names.append(path)
        return number
