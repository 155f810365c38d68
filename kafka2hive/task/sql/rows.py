"""The side after the SELECT: rows get their buckets, become files, and are counted by the ranges that they come from."""

import pyarrow as pa

from kafka2hive.task.part import PhaseTimes, TablePart, TaskEnvironment, new_attempt
from kafka2hive.task.sql.placement import PlacedRows
from kafka2hive.task.sql.shares import RowsWritten
from kafka2hive.task.write.bucket_split import RowSources


class SelectedRows:
    """A table's part after the SELECT. Call `take`, then `finish`; and `close` at the end in any case.

    All methods except `close` raise the errors of this table (TABLE_ERRORS).
    """

    def __init__(self, attempt: int, part: TablePart, environment: TaskEnvironment) -> None:
        self._attempt = attempt
        self._part = part
        self._times = PhaseTimes()
        self._sources = RowSources(part.ranges)
        self._placed = PlacedRows(part, environment)
        self._data = environment.open_sink(part.table, part.data(new_attempt()), self._placed.schema)

    def take(self, batch: pa.RecordBatch) -> None:
        if not len(batch):
            return
        with self._times.timed("bucket"):
            placed = self._placed.take(batch)
        with self._times.timed("write"):
            sources = self._sources.of_ranges(placed.of_range)
            self._data.add(placed.rows, placed.ids, self._placed.paths, sources)

    def finish(self) -> RowsWritten:
        """Write the buffered rows and wait for the files."""
        with self._times.timed("close"):
            self._placed.finish()
            self._data.finish()
            files = (*self._data.results(), *self._placed.letter_files())
        return RowsWritten(
            attempt=self._attempt,
            task=self._part.index,
            rows=self._placed.placed(),
            refused=self._placed.refused(),
            refusals=self._placed.refusals(),
            files=files,
            seconds=self._times.by_phase(),
        )

    def close(self) -> None:
        """Give up the files if `finish` did not return them; never raises."""
        self._data.abandon()
        self._placed.abandon()
