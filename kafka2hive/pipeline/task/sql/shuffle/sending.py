"""Before the shuffle: rows of the SELECT are checked and get their bucket, and say which part they go to."""

import time
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from kafka2hive.pipeline.task.fetch.consumer import ConsumerPort
from kafka2hive.pipeline.task.refused.letters_of_task import LettersOfTask
from kafka2hive.pipeline.task.sink import to_files
from kafka2hive.pipeline.task.sql.coordinates import COORDINATES
from kafka2hive.pipeline.task.sql.placed import PlacedRows
from kafka2hive.pipeline.task.sql.shares import RowsWritten
from kafka2hive.pipeline.task.sql.shuffle.moved import MOVED, ROWS_TOGETHER, Parts, marks_of
from kafka2hive.pipeline.task.write.destination import new_attempt, to_dead_letters
from kafka2hive.pipeline.task.write.limits import TaskLimits
from kafka2hive.pipeline.values import TableSettings, TableTask, TaskPlan, TaskSettings
from kafka2hive.storage.port import FileSystem


class RowsSentOfTask:
    """One table's share of a task: `send` batches, then `finish`; `abandon` at any time."""

    def __init__(
        self,
        attempt: int,
        share: TaskPlan,
        whole: TaskPlan,
        first: int,
        parts: int,
        table: TableSettings,
        settings: TaskSettings,
        files: FileSystem,
        consumer: Callable[[], ConsumerPort],
        progress: Callable[[], None],
        together: int = ROWS_TOGETHER,
    ) -> None:
        """`first`: the number of the share's first range among those of `whole`, whose task all files are named by."""
        (task,), (everything,) = share.tables, whole.tables
        self._attempt = attempt
        self._index = share.index
        self._task: TableTask = task
        self._first = first
        self._parts = Parts(parts, task.ranges, together)
        self._marks = np.zeros(len(task.ranges), np.uint64)
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._limits = TaskLimits(settings.memory_bytes, settings.open_files, settings.file_bytes)
        open_sink = to_files(table, files, self._limits, progress)
        destination = to_dead_letters(whole.index, everything, table, settings, new_attempt())
        letters = LettersOfTask(task, destination, open_sink)
        stall = settings.stall_seconds
        self._placed = PlacedRows(share.index, task, table, letters, consumer, stall, progress)

    def send(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows to write, each with where it goes and where it comes from."""
        begun = time.perf_counter()
        placed = self._placed.take(batch)
        count, paths = len(placed.rows), self._placed.paths
        self._marks += marks_of(placed.of_range, placed.offsets, len(self._marks))
        moved = pa.StructArray.from_arrays(
            [
                pa.array(self._parts.of_rows(placed.ids, paths)),
                pa.array(paths, pa.string()).take(pa.array(placed.ids)),
                pa.array((placed.of_range + self._first).astype(np.int32)),
                pa.array(placed.offsets),
                pa.array(np.full(count, self._attempt, np.int64)),
            ],
            fields=list(MOVED),
        )
        self._seconds["bucket"] += time.perf_counter() - begun
        return placed.rows.append_column(COORDINATES, moved)

    def finish(self) -> RowsWritten:
        """Wait for the files of dead letters."""
        self._placed.finish()
        files = self._placed.letter_files()
        return RowsWritten(
            attempt=self._attempt,
            task=self._index,
            rows=self._placed.placed(),
            refused=self._placed.refused(),
            marks=tuple(self._marks.tolist()),
            refusals=self._placed.refusals(),
            files=files,
            seconds=tuple(self._seconds.items()),
        )

    def abandon(self) -> None:
        """Give all files up; never raises."""
        self._placed.abandon()

    def close(self) -> None:
        self._limits.closer.stop()
