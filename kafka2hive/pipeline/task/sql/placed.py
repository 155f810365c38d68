"""The rows of one task behind the SELECT: proven to come once, with their buckets; what cannot be written is a dead letter."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kafka2hive.model.files import DataFile
from kafka2hive.model.offset_accounting import AccountingMismatch
from kafka2hive.pipeline.decode.writable import rows_not_held, unwritable_of
from kafka2hive.pipeline.task.bucket.bucketer import NO_BUCKET, Bucketer, BucketIds
from kafka2hive.pipeline.task.chunk import Positions
from kafka2hive.pipeline.task.fetch.consumer import ConsumerPort
from kafka2hive.pipeline.task.refused.letters_of_task import LettersOfTask
from kafka2hive.pipeline.task.rows import column_schema, row_schema
from kafka2hive.pipeline.task.sql.coordinates import COORDINATES, Arrivals
from kafka2hive.pipeline.task.sql.late_letters import LateLetters
from kafka2hive.pipeline.task.table import written_schema
from kafka2hive.pipeline.values import Refusal, TableSettings, TableTask


@dataclass(frozen=True, slots=True)
class Placed:
    """Rows as they stand in files; for each the index of its bucket's path, its range's number and its offset."""

    rows: pa.RecordBatch
    ids: BucketIds
    of_range: Positions
    offsets: Positions


class PlacedRows:
    """`take` batches, then `finish`, then the counts; `abandon` at any time. All but `abandon` raise what is the table's."""

    def __init__(
        self,
        index: int,
        task: TableTask,
        table: TableSettings,
        letters: LettersOfTask,
        consumer: Callable[[], ConsumerPort],
        stall_seconds: float,
        progress: Callable[[], None],
    ) -> None:
        """`table` has the columns of the table. `consumer` is asked for only where records must be read again."""
        self.schema = written_schema(table)
        self._table = task.table
        self._unwritable = unwritable_of(table.writer)
        self._whole = row_schema(column_schema(table), table.metadata)
        self._bucketer = Bucketer(table.bucketing, table.zone, self._whole, task.planned_at_ms, table.table)
        self._arrivals = Arrivals(task.table, index, task.ranges)
        self._late = LateLetters(task.table, task.ranges)
        self._consumer, self._stall_seconds, self._progress = consumer, stall_seconds, progress
        self._letters = letters

    @property
    def paths(self) -> list[str]:
        """Of the buckets that were met; it grows, and nothing in it changes."""
        return self._bucketer.paths

    def take(self, batch: pa.RecordBatch) -> Placed:
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
        at = offsets.to_numpy(zero_copy_only=False)[places]
        return Placed(rows.select(self.schema.names), assigned.ids[kept], of_range[places], at)

    def _refuse(
        self, of_range: Positions, offsets: pa.Int64Array, places: Positions, reasons: list[str]
    ) -> None:
        for place, reason in zip(places.tolist(), reasons, strict=True):
            self._late.add(int(of_range[place]), offsets[place].as_py(), reason)

    def finish(self) -> None:
        """Begin to close the files of dead letters."""
        if len(self._late):
            consumer = self._consumer()
            for refused in self._late.records(consumer, self._stall_seconds, self._progress):
                self._letters.add(*refused)
        self._letters.sink.finish()

    def letter_files(self) -> tuple[DataFile, ...]:
        """Wait for them."""
        files = tuple(self._letters.sink.results())
        if self._letters.sink.rows != sum(self.refused()):
            raise AccountingMismatch(
                f"{self._table}: {self._letters.sink.rows} rows in late dead-letter files"
            )
        return files

    def placed(self) -> tuple[int, ...]:
        """Rows by range, without the refused ones."""
        counts = zip(self._arrivals.counts(), self.refused(), strict=True)
        return tuple(arrived - refused for arrived, refused in counts)

    def refused(self) -> tuple[int, ...]:
        """By range."""
        return self._late.counts()

    def refusals(self) -> tuple[Refusal, ...]:
        return self._letters.refusals()

    def abandon(self) -> None:
        """Give all files up; never raises."""
        self._letters.sink.abandon()
