"""Behind the SELECT: its rows get their buckets and become files, and are counted by the ranges that they come from."""

import time
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from kafka2hive.config.dead_letters import dead_letter_path
from kafka2hive.model.offset_accounting import AccountingMismatch
from kafka2hive.pipeline.decode.writable import rows_not_held, unwritable_of
from kafka2hive.pipeline.task.bucket.bucketer import NO_BUCKET, Bucketer
from kafka2hive.pipeline.task.chunk import Positions
from kafka2hive.pipeline.task.fetch.consumer import ConsumerPort
from kafka2hive.pipeline.task.refused.dead_letters import DEAD_LETTER_SCHEMA, dead_letters
from kafka2hive.pipeline.task.refused.refusals import Refusals
from kafka2hive.pipeline.task.rows import column_schema, row_schema
from kafka2hive.pipeline.task.sink import OpenSink, to_files
from kafka2hive.pipeline.task.sql.coordinates import COORDINATES, Arrivals
from kafka2hive.pipeline.task.sql.late_letters import LateLetters
from kafka2hive.pipeline.task.sql.shares import RowsWritten
from kafka2hive.pipeline.task.table import written_schema
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
        self._task = task
        self._unwritable = unwritable_of(table.writer)
        self._whole = row_schema(column_schema(table), table.metadata)
        self._written = written_schema(table)
        self._bucketer = Bucketer(table.bucketing, table.zone, self._whole, task.planned_at_ms, table.table)
        self._arrivals = Arrivals(task.table, index, task.ranges)
        self._late = LateLetters(task.table, task.ranges)
        self._consumer, self._stall_seconds, self._progress = consumer, settings.stall_seconds, progress
        self._refusals = Refusals()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        numbers = {tp: n for n, tp in enumerate(sorted({r.topic_partition for r in task.ranges}))}
        self._sources = np.array([numbers[r.topic_partition] for r in task.ranges], np.int32)
        self._limits = TaskLimits(settings.memory_bytes, settings.open_files, settings.file_bytes)
        open_sink = open_sink or to_files(table, files, self._limits, progress)
        self._data = open_sink(to_table(index, task, table, new_attempt()), self._written)
        letters = to_dead_letters(index, task, table, settings, new_attempt())
        self._letters = open_sink(letters, DEAD_LETTER_SCHEMA)
        self._letter_paths = (dead_letter_path(task.table, task.planned_at_ms),)

    def take(self, batch: pa.RecordBatch) -> None:
        if not len(batch):
            return
        begun = time.perf_counter()
        of_range, offsets, times = self._arrivals.note(batch.column(COORDINATES))
        rows = batch.select(self._whole.names).cast(self._whole)
        places: Positions = np.arange(len(rows))
        if self._unwritable is not None:
            bad, reasons = rows_not_held(rows, self._unwritable)
            if reasons:
                self._refuse(of_range, offsets, bad, reasons)
                places = np.setdiff1d(places, bad)
                rows = rows.take(pa.array(places))
        assigned = self._bucketer.assign(rows, lambda: times.take(pa.array(places)))
        if len(assigned.refused):
            self._refuse(of_range, offsets, places[assigned.refused], assigned.reasons)
        kept = assigned.ids != NO_BUCKET
        if not kept.all():
            rows, places = rows.filter(pa.array(kept)), places[kept]
        self._seconds["bucket"] += time.perf_counter() - begun
        begun = time.perf_counter()
        rows = rows.select(self._written.names)
        self._data.add(rows, assigned.ids[kept], self._bucketer.paths, self._sources[of_range[places]])
        self._seconds["write"] += time.perf_counter() - begun

    def _refuse(
        self, of_range: Positions, offsets: pa.Int64Array, places: Positions, reasons: list[str]
    ) -> None:
        for place, reason in zip(places.tolist(), reasons, strict=True):
            self._late.add(int(of_range[place]), offsets[place].as_py(), reason)

    def finish(self) -> RowsWritten:
        """Write what waits, and wait for the files."""
        begun = time.perf_counter()
        if len(self._late):
            self._write_letters()
        self._data.finish()
        self._letters.finish()
        files = (*self._data.results(), *self._letters.results())
        self._seconds["close"] += time.perf_counter() - begun
        late = self._late.counts()
        if self._letters.rows != sum(late):
            raise AccountingMismatch(
                f"{self._task.table}: {self._letters.rows} rows in late dead-letter files"
            )
        return RowsWritten(
            attempt=self._attempt,
            task=self._index,
            rows=tuple(
                arrived - refused for arrived, refused in zip(self._arrivals.counts(), late, strict=True)
            ),
            refused=late,
            refusals=self._refusals.most_frequent(),
            files=files,
            seconds=tuple(self._seconds.items()),
        )

    def _write_letters(self) -> None:
        sources = RowSources(self._task.ranges)
        for chunk, positions, reasons in self._late.records(
            self._consumer(), self._stall_seconds, self._progress
        ):
            self._refusals.add(chunk, positions, reasons)
            letters = dead_letters(chunk, positions, reasons, self._task.epoch)
            bucket = np.zeros(len(letters), np.int32)
            self._letters.add(letters, bucket, self._letter_paths, sources.of_rows(chunk, positions))

    def abandon(self) -> None:
        """Give all files up; never raises."""
        self._data.abandon()
        self._letters.abandon()

    def close(self) -> None:
        self._limits.closer.stop()
