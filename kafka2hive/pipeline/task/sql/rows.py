"""Behind the SELECT: its rows get their buckets and become files, and are counted by the ranges that they come from."""

import time
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from kafka2hive.model.files import FileKind
from kafka2hive.model.layout import staging_directory
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.pipeline.decode.writable import held_by_orc
from kafka2hive.pipeline.task.bucket.bucketer import NO_BUCKET, Bucketer
from kafka2hive.pipeline.task.chunk import Positions
from kafka2hive.pipeline.task.rows import column_schema, row_schema
from kafka2hive.pipeline.task.sql.coordinates import COORDINATES, Arrivals
from kafka2hive.pipeline.task.sql.records import staged_by
from kafka2hive.pipeline.task.sql.shares import RowsWritten
from kafka2hive.pipeline.task.table import written_schema
from kafka2hive.pipeline.task.write.limits import TaskLimits
from kafka2hive.pipeline.task.write.write import TableWriter
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
        progress: Callable[[], None],
    ) -> None:
        """`table` has the columns of the table."""
        self._attempt = attempt
        self._index = index
        self._task = task
        self._is_orc = table.writer.format == "orc"
        self._whole = row_schema(column_schema(table), table.metadata)
        self._written = written_schema(table)
        self._bucketer = Bucketer(table.bucketing, table.zone, self._whole, task.planned_at_ms)
        self._arrivals = Arrivals(task.table, index, task.ranges)
        self._refused = np.zeros(len(task.ranges), np.int64)
        self._first_refused: tuple[TopicPartition, int, str] | None = None
        self._seconds: defaultdict[str, float] = defaultdict(float)
        numbers = {tp: n for n, tp in enumerate(sorted({r.topic_partition for r in task.ranges}))}
        self._sources = np.array([numbers[r.topic_partition] for r in task.ranges], np.int32)
        self._limits = TaskLimits(settings.memory_bytes, settings.open_files, settings.file_bytes)
        destination = staged_by(
            FileKind.DATA, index, task, task.table, table.location, staging_directory(table.location)
        )
        options = table.writer_of(FileKind.DATA)
        self._data = TableWriter(destination, files, self._written, options, self._limits, progress)

    def take(self, batch: pa.RecordBatch) -> None:
        if not len(batch):
            return
        begun = time.perf_counter()
        of_range, offsets, times = self._arrivals.note(batch.column(COORDINATES))
        rows = batch.select(self._whole.names).cast(self._whole)
        places: Positions = np.arange(len(rows))
        if self._is_orc:
            rows, _, bad = held_by_orc(rows, None)
            if bad is not None:
                self._refuse(of_range, offsets, *bad)
                places = np.setdiff1d(places, bad[0])
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
        self._refused += np.bincount(of_range[places], minlength=len(self._refused))
        if self._first_refused is None:
            first = int(places[0])
            source = self._task.ranges[int(of_range[first])].topic_partition
            self._first_refused = source, offsets[first].as_py(), reasons[0]

    def finish(self) -> RowsWritten:
        """Write what waits, and wait for the files."""
        begun = time.perf_counter()
        self._data.finish()
        files = tuple(self._data.results())
        self._seconds["close"] += time.perf_counter() - begun
        arrived = np.array(self._arrivals.counts(), np.int64)
        return RowsWritten(
            attempt=self._attempt,
            task=self._index,
            rows=tuple((arrived - self._refused).tolist()),
            refused=tuple(self._refused.tolist()),
            first_refused=self._first_refused,
            files=files,
            seconds=tuple(self._seconds.items()),
        )

    def abandon(self) -> None:
        """Give all files up; never raises."""
        self._data.abandon()

    def close(self) -> None:
        self._limits.closer.stop()
