"""Both sides of the shuffle of a table with SQL: rows are assigned to parts and sent, then received and written."""

import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.config.dead_letters import CLOSED, OUT_OF_RANGE
from kafka2hive.model.offsets import AccountingMismatch, OffsetRange
from kafka2hive.task.fetch.records import Indices, Offsets
from kafka2hive.task.part import PhaseTimes, TablePart, TaskEnvironment, new_attempt
from kafka2hive.task.rows import schema_in_files
from kafka2hive.task.sql.coordinates import COORDINATES
from kafka2hive.task.sql.placement import PlacedBatch, PlacedRows
from kafka2hive.task.sql.shares import ArrivalCount, RowsReceived, RowsWritten
from kafka2hive.task.write.bucket_split import RowSources
from kafka2hive.task.write.bucketer import BucketIds

Marks = npt.NDArray[np.uint64]

MOVED = pa.struct(
    [
        ("part", pa.int32()),
        ("path", pa.string()),
        ("range", pa.int32()),
        ("offset", pa.int64()),
        ("attempt", pa.int64()),
    ]
)
"""What travels with a row: the part that writes it, its bucket's path, its range's index in the whole epoch, its offset, and
the attempt that sent it."""

ROWS_TOGETHER = 100_000
"""The rows of one bucket in one task that go to the same part, because fewer rows would not justify another file."""


class Parts:
    """Assigns the rows of a task to `count` parts: a small bucket to one part, a large bucket to several in turn.

    A bucket is large if it has more rows than `together`, and more rows than the task's offsets divided by `count`.
    """

    def __init__(self, count: int, ranges: Sequence[OffsetRange], together: int = ROWS_TOGETHER) -> None:
        self._count = count
        self._together = max(together, -(-sum(map(len, ranges)) // count))
        self._first: list[int] = []
        self._seen = np.zeros(0, np.int64)

    def assign(self, ids: BucketIds, paths: Sequence[str]) -> npt.NDArray[np.int32]:
        self._first += [zlib.crc32(path.encode()) % self._count for path in paths[len(self._first) :]]
        self._seen = np.concatenate([self._seen, np.zeros(len(paths) - len(self._seen), np.int64)])
        order = np.argsort(ids, kind="stable")
        buckets, starts, counts = np.unique(ids[order], return_index=True, return_counts=True)
        place = np.empty(len(ids), np.int64)  # each row's place among all rows of its bucket
        place[order] = (
            np.arange(len(ids)) - np.repeat(starts, counts) + np.repeat(self._seen[buckets], counts)
        )
        self._seen[buckets] += counts
        parts = (np.array(self._first, np.int64)[ids] + place // self._together) % self._count
        return parts.astype(np.int32)


def marks_of(range_indexes: Indices, offsets: Offsets, ranges: int) -> Marks:
    """Return the sum of the offsets' hashes (splitmix64) by range, so that a lost row cannot cancel out a doubled one."""
    with np.errstate(over="ignore"):
        mixed = offsets.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
        sums = np.zeros(ranges, np.uint64)
        np.add.at(sums, range_indexes, mixed)
    return sums


class SentRows:
    """A table's part of a task before the shuffle. Call `send`, then `finish`; and `close` at the end in any case.

    Rows of the SELECT are checked and get their bucket and the number of the part that writes them.
    """

    def __init__(
        self,
        attempt: int,
        part: TablePart,
        environment: TaskEnvironment,
        *,
        first: int,
        parts: int,
        together: int = ROWS_TOGETHER,
    ) -> None:
        """`first` is the index of this task's first range among all ranges of the table's epoch."""
        self._attempt = attempt
        self._index = part.index
        self._first = first
        self._parts = Parts(parts, part.ranges, together)
        self._marks = np.zeros(len(part.ranges), np.uint64)
        self._times = PhaseTimes()
        self._placed = PlacedRows(part, environment)

    def send(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows to write, each with its destination and its origin (MOVED)."""
        with self._times.timed("bucket"):
            return self._with_destinations(self._placed.take(batch))

    def _with_destinations(self, placed: PlacedBatch) -> pa.RecordBatch:
        count, paths = len(placed.rows), self._placed.paths
        self._marks += marks_of(placed.range_indexes, placed.offsets, len(self._marks))
        destinations = pa.StructArray.from_arrays(
            [
                pa.array(self._parts.assign(placed.ids, paths)),
                pa.array(paths, pa.string()).take(pa.array(placed.ids)),
                pa.array((placed.range_indexes + self._first).astype(np.int32)),
                pa.array(placed.offsets),
                pa.array(np.full(count, self._attempt, np.int64)),
            ],
            fields=list(MOVED),
        )
        return placed.rows.append_column(COORDINATES, destinations)

    def finish(self) -> RowsWritten:
        """Wait for the files of dead letters, and return the report."""
        self._placed.finish()
        files = self._placed.letter_files()
        return RowsWritten(
            attempt=self._attempt,
            task=self._index,
            rows=self._placed.placed(),
            refused=self._placed.refused_rows(),
            out_of_range=self._placed.refused_rows_for(OUT_OF_RANGE),
            late=self._placed.refused_rows_for(*CLOSED),
            marks=tuple(self._marks.tolist()),
            refusals=self._placed.refusals(),
            files=files,
            seconds=self._times.by_phase(),
        )

    def close(self) -> None:
        """Give up the files if `finish` did not return them; never raises."""
        self._placed.abandon()


class ReceivedRows:
    """One part of a table's rows after the shuffle. Call `take`, then `finish`; and `close` at the end in any case.

    Rows of all tasks become the files of their buckets and are counted by range and attempt.
    """

    def __init__(self, number: int, whole: TablePart, environment: TaskEnvironment) -> None:
        """`whole` has all ranges of the table's epoch."""
        self._part = number
        self._table = whole.task.table
        self._ranges = len(whole.ranges)
        self._schema = schema_in_files(whole.table)
        self._sources = RowSources(whole.ranges)
        self._paths: list[str] = []
        self._ids: dict[str, int] = {}
        self._counts: dict[int, Indices] = {}
        self._marks: dict[int, Marks] = {}
        self._times = PhaseTimes()
        self._data = environment.open_sink(whole.table, whole.data(new_attempt()), self._schema)

    def take(self, batch: pa.RecordBatch) -> None:
        if len(batch):
            with self._times.timed("write"):
                self._take(batch)

    def _take(self, batch: pa.RecordBatch) -> None:
        part, path, range_indexes, offset, attempt = columns = batch.column(COORDINATES).flatten()
        if any(column.null_count for column in columns):
            raise AccountingMismatch(
                f"{self._table}: a row has lost its destination or its origin in the shuffle"
            )
        numbers = range_indexes.to_numpy().astype(np.int64)
        if (part.to_numpy() != self._part).any() or not 0 <= numbers.min() <= numbers.max() < self._ranges:
            raise AccountingMismatch(
                f"{self._table}: part {self._part} got rows of another part or range in the shuffle"
            )
        self._note(numbers, offset.to_numpy(), attempt.to_numpy())
        rows = batch.select(self._schema.names).cast(self._schema)
        self._data.add(rows, self._buckets(path), self._paths, self._sources.ids_of_ranges(numbers))

    def _buckets(self, path: pa.StringArray) -> BucketIds:
        encoded = path.dictionary_encode()
        numbers = []
        for text in encoded.dictionary.to_pylist():
            numbers.append(self._ids.setdefault(text, len(self._paths)))
            if numbers[-1] == len(self._paths):
                self._paths.append(text)
        ids: BucketIds = np.array(numbers, np.int32)[encoded.indices.to_numpy()]
        return ids

    def _note(self, numbers: Indices, offsets: Offsets, attempts: Indices) -> None:
        for attempt in np.unique(attempts).tolist():
            of_attempt = attempts == attempt
            counts = np.bincount(numbers[of_attempt], minlength=self._ranges)
            marks = marks_of(numbers[of_attempt], offsets[of_attempt], self._ranges)
            if attempt in self._counts:
                self._counts[attempt] += counts
                self._marks[attempt] += marks
            else:
                self._counts[attempt], self._marks[attempt] = counts, marks

    def finish(self) -> RowsReceived:
        """Write the buffered rows, wait for the files, and return the report."""
        with self._times.timed("close"):
            self._data.finish()
            files = tuple(self._data.results())
        arrivals = tuple(
            ArrivalCount(number, attempt, int(counts[number]), int(self._marks[attempt][number]))
            for attempt, counts in self._counts.items()
            for number in np.flatnonzero(counts).tolist()
        )
        return RowsReceived(part=self._part, arrivals=arrivals, files=files, seconds=self._times.by_phase())

    def close(self) -> None:
        """Give up the files if `finish` did not return them; never raises."""
        self._data.abandon()
