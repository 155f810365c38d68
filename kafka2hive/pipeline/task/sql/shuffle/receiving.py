"""Behind the shuffle: rows of all tasks become the files of their buckets, and are counted by where they come from."""

import time
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from kafka2hive.model.offset_accounting import AccountingMismatch
from kafka2hive.pipeline.task.bucket.bucketer import BucketIds
from kafka2hive.pipeline.task.chunk import Positions
from kafka2hive.pipeline.task.sink import to_files
from kafka2hive.pipeline.task.sql.coordinates import COORDINATES
from kafka2hive.pipeline.task.sql.shares import Came, RowsReceived
from kafka2hive.pipeline.task.sql.shuffle.moved import Marks, marks_of
from kafka2hive.pipeline.task.table import written_schema
from kafka2hive.pipeline.task.write.destination import new_attempt, to_table
from kafka2hive.pipeline.task.write.limits import TaskLimits
from kafka2hive.pipeline.task.write.row_sources import RowSources
from kafka2hive.pipeline.values import TableSettings, TaskPlan, TaskSettings
from kafka2hive.storage.port import FileSystem


class RowsOfPart:
    """One part of a table's rows: `take` batches, then `finish`; `abandon` at any time. The others raise what is the table's."""

    def __init__(
        self,
        part: int,
        whole: TaskPlan,
        table: TableSettings,
        settings: TaskSettings,
        files: FileSystem,
        progress: Callable[[], None],
    ) -> None:
        """`whole` has all ranges of the table's epoch."""
        (task,) = whole.tables
        self._part = part
        self._table = task.table
        self._ranges = len(task.ranges)
        self._schema = written_schema(table)
        self._sources = RowSources(task.ranges)
        self._paths: list[str] = []
        self._ids: dict[str, int] = {}
        self._counts: dict[int, Positions] = {}
        self._marks: dict[int, Marks] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._limits = TaskLimits(settings.memory_bytes, settings.open_files, settings.file_bytes)
        open_sink = to_files(table, files, self._limits, progress)
        self._data = open_sink(to_table(whole.index, task, table, new_attempt()), self._schema)

    def take(self, batch: pa.RecordBatch) -> None:
        if not len(batch):
            return
        begun = time.perf_counter()
        moved = batch.column(COORDINATES)
        part, path, of_range, offset, attempt = columns = moved.flatten()
        if any(column.null_count for column in columns):
            raise AccountingMismatch(f"{self._table}: a row has lost where it comes from in the shuffle")
        numbers = of_range.to_numpy().astype(np.int64)
        if (part.to_numpy() != self._part).any() or not 0 <= numbers.min() <= numbers.max() < self._ranges:
            raise AccountingMismatch(f"{self._table}: part {self._part} got rows of elsewhere in the shuffle")
        self._note(numbers, offset.to_numpy(), attempt.to_numpy())
        rows = batch.select(self._schema.names).cast(self._schema)
        self._data.add(rows, self._buckets(path), self._paths, self._sources.of_ranges(numbers))
        self._seconds["write"] += time.perf_counter() - begun

    def _buckets(self, path: pa.StringArray) -> BucketIds:
        encoded = path.dictionary_encode()
        own = []
        for text in encoded.dictionary.to_pylist():
            own.append(self._ids.setdefault(text, len(self._paths)))
            if own[-1] == len(self._paths):
                self._paths.append(text)
        ids: BucketIds = np.array(own, np.int32)[encoded.indices.to_numpy()]
        return ids

    def _note(self, numbers: Positions, offsets: Positions, attempts: Positions) -> None:
        for attempt in np.unique(attempts).tolist():
            mine = attempts == attempt
            counts = np.bincount(numbers[mine], minlength=self._ranges)
            marks = marks_of(numbers[mine], offsets[mine], self._ranges)
            if attempt in self._counts:
                self._counts[attempt] += counts
                self._marks[attempt] += marks
            else:
                self._counts[attempt], self._marks[attempt] = counts, marks

    def finish(self) -> RowsReceived:
        """Write what waits, and wait for the files."""
        begun = time.perf_counter()
        self._data.finish()
        files = tuple(self._data.results())
        self._seconds["close"] += time.perf_counter() - begun
        came = tuple(
            Came(number, attempt, int(counts[number]), int(self._marks[attempt][number]))
            for attempt, counts in self._counts.items()
            for number in np.flatnonzero(counts).tolist()
        )
        return RowsReceived(part=self._part, came=came, files=files, seconds=tuple(self._seconds.items()))

    def abandon(self) -> None:
        """Give all files up; never raises."""
        self._data.abandon()

    def close(self) -> None:
        self._limits.closer.stop()
