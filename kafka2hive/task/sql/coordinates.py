"""The coordinates of a row: a column that passes through the SELECT with the row, and is checked after the SELECT."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from kafka2hive.config.keys.columns import COORDINATES as COORDINATES
from kafka2hive.model.errors import TableError
from kafka2hive.model.offsets import AccountingMismatch, OffsetRange
from kafka2hive.task.fetch.chunk import Chunk
from kafka2hive.task.fetch.records import Indices, Offsets

TYPE = pa.struct([("task", pa.int32()), ("range", pa.int32()), ("offset", pa.int64()), ("time", pa.int64())])
"""The fields: the task's index in the epoch, the range's index in the task, the offset, the record's timestamp (epoch ms)."""


def coordinates(
    chunk: Chunk, indices: Indices | None, task: int, ranges: Sequence[OffsetRange]
) -> pa.StructArray:
    """Return the coordinates of the messages at `indices`; None stands for all messages."""
    index = {source: number for number, source in enumerate(ranges)}
    every = np.arange(len(chunk)) if indices is None else indices
    numbers = np.repeat(
        np.array([index[segment.range] for segment in chunk.segments], np.int32),
        chunk.count_by_segment(every),
    )
    tasks = np.full(len(every), task, np.int32)
    columns = [pa.array(tasks), pa.array(numbers), chunk.offsets(indices), chunk.timestamps(indices)]
    return pa.StructArray.from_arrays(columns, fields=list(TYPE))


class Arrivals:
    """Checks that each row of one task arrives at most once, and counts the rows by range."""

    def __init__(self, table: str, task: int, ranges: Sequence[OffsetRange]) -> None:
        self._table = table
        self._task = task
        self._ranges = ranges
        self._next = np.array([r.start for r in ranges], np.int64)
        self._counts = np.zeros(len(ranges), np.int64)

    def note(self, column: pa.StructArray) -> tuple[Indices, pa.Int64Array, pa.Int64Array]:
        """Return the index of the range, the offset and the timestamp of each row.

        Raises TableError (`sql.coordinates`) if a row comes twice, because the SELECT multiplies rows. Raises
        AccountingMismatch if a row has lost its coordinates or is outside this task's ranges: a bug, which no accepted SELECT
        can cause.
        """
        tasks, numbers, offsets, times = (column.field(name) for name in ("task", "range", "offset", "time"))
        if column.null_count or tasks.null_count or numbers.null_count or offsets.null_count:
            raise AccountingMismatch(f"{self._table}: a row of the SELECT has lost its offset")
        range_indexes = numbers.to_numpy(zero_copy_only=False).astype(np.int64)
        offset_array = offsets.to_numpy(zero_copy_only=False)
        if (tasks.to_numpy(zero_copy_only=False) != self._task).any() or (
            len(range_indexes) and not 0 <= range_indexes.min() <= range_indexes.max() < len(self._ranges)
        ):
            raise AccountingMismatch(f"{self._table}: the SELECT gave task {self._task} rows of another task")
        for number in np.unique(range_indexes).tolist():
            self._note_range(number, offset_array[range_indexes == number])
        return range_indexes, offsets, times

    def _note_range(self, number: int, offsets: Offsets) -> None:
        """Count the rows of one range. Their offsets must ascend, which shows that rows are distinct.

        Spark keeps the order of rows within a task.
        """
        source = self._ranges[number]
        if offsets.max() >= source.end or offsets.min() < source.start:
            raise AccountingMismatch(f"{self._table}: the SELECT gave rows outside of {source}")
        before = np.concatenate(([self._next[number] - 1], offsets[:-1]))
        repeats = np.flatnonzero(offsets <= before)
        if len(repeats):
            raise TableError(
                "sql.coordinates",
                f"{self._table}: the SELECT gives more than one row of {source.topic_partition}@{offsets[repeats[0]]}",
                "each record becomes one row or none: in a join, each record may match at most one row of the lookup;"
                " nothing was committed",
            )
        self._next[number] = offsets[-1] + 1
        self._counts[number] += len(offsets)

    def counts(self) -> tuple[int, ...]:
        """Return the number of rows by range."""
        return tuple(self._counts.tolist())
