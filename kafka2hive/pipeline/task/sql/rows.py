"""Behind the SELECT: its rows get their buckets and become files, and are counted by the ranges that they come from."""

import time
from collections import defaultdict
from collections.abc import Callable

import pyarrow as pa

from kafka2hive.pipeline.task.fetch.consumer import ConsumerPort
from kafka2hive.pipeline.task.refused.letters_of_task import LettersOfTask
from kafka2hive.pipeline.task.sink import OpenSink, to_files
from kafka2hive.pipeline.task.sql.placed import PlacedRows
from kafka2hive.pipeline.task.sql.shares import RowsWritten
from kafka2hive.pipeline.task.write.destination import new_attempt, to_dead_letters, to_table
from kafka2hive.pipeline.task.write.limits import TaskLimits
from kafka2hive.pipeline.task.write.row_sources import RowSources
from kafka2hive.pipeline.values import TableSettings, TableTask, TaskSettings
from kafka2hive.storage.port import FileSystem


class RowsOfTask:
    """One table's share of a task from the SELECT on: `take` batches, then `finish`, then `written`; `abandon` at any time.

    All but `abandon` raise what belongs to the table.
    """

    def __init__(
        self,
        attempt: int,
        index: int,
        task: TableTask,
        table: TableSettings,
        settings: TaskSettings,
        files: FileSystem,
        consumer: Callable[[], ConsumerPort],
        progress: Callable[[], None],
        open_sink: OpenSink | None = None,
    ) -> None:
        """`table` has the columns of the table. `consumer` is asked for only where records must be read again.

        `open_sink` None: rows become files on `files`.
        """
        self._attempt = attempt
        self._index = index
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._sources = RowSources(task.ranges)
        self._limits = TaskLimits(settings.memory_bytes, settings.open_files, settings.file_bytes)
        open_sink = open_sink or to_files(table, files, self._limits, progress)
        destination = to_dead_letters(index, task, table, settings, new_attempt())
        letters = LettersOfTask(task, destination, open_sink)
        stall = settings.stall_seconds
        self._placed = PlacedRows(index, task, table, letters, consumer, stall, progress)
        self._data = open_sink(to_table(index, task, table, new_attempt()), self._placed.schema)

    def take(self, batch: pa.RecordBatch) -> None:
        if not len(batch):
            return
        begun = time.perf_counter()
        placed = self._placed.take(batch)
        self._seconds["bucket"] += time.perf_counter() - begun
        begun = time.perf_counter()
        self._data.add(placed.rows, placed.ids, self._placed.paths, self._sources.of_ranges(placed.of_range))
        self._seconds["write"] += time.perf_counter() - begun

    def finish(self) -> RowsWritten:
        """Write what waits, and wait for the files."""
        begun = time.perf_counter()
        self._placed.finish()
        self._data.finish()
        files = (*self._data.results(), *self._placed.letter_files())
        self._seconds["close"] += time.perf_counter() - begun
        return RowsWritten(
            attempt=self._attempt,
            task=self._index,
            rows=self._placed.placed(),
            refused=self._placed.refused(),
            refusals=self._placed.refusals(),
            files=files,
            seconds=tuple(self._seconds.items()),
        )

    def abandon(self) -> None:
        """Give all files up; never raises."""
        self._data.abandon()
        self._placed.abandon()

    def close(self) -> None:
        self._limits.closer.stop()
