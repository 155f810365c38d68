"""Place the rows of one task after the SELECT: check that each row comes once, compute its bucket, and write it to a file.

If a row cannot be written, its record becomes a dead letter. A dead letter holds all bytes of the record, which the row
lacks, so the record is read from Kafka again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kafka2hive.config.dead_letters import CLOSED, OUT_OF_BOUNDS, OUT_OF_RANGE
from kafka2hive.formats.files import unwritable_of
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import DataFile
from kafka2hive.model.offsets import AccountingMismatch, OffsetRange, cluster_of
from kafka2hive.plan.contract import Refusal
from kafka2hive.plugins import Reason
from kafka2hive.task.dead_letters import DeadLetterFiles
from kafka2hive.task.fetch.chunk import Chunk
from kafka2hive.task.fetch.fetch import TableUnreadable
from kafka2hive.task.fetch.reader import RangeReader
from kafka2hive.task.fetch.records import Indices, Offsets
from kafka2hive.task.part import PhaseTimes, TablePart, TaskEnvironment, new_attempt
from kafka2hive.task.rejections import rows_not_held
from kafka2hive.task.rows import column_schema, row_schema, schema_in_files
from kafka2hive.task.sql.coordinates import COORDINATES, Arrivals
from kafka2hive.task.sql.shares import RowsWritten
from kafka2hive.task.write.bucket_split import RowSources
from kafka2hive.task.write.bucketer import NO_BUCKET, Bucketer, BucketIds

MOST_UNWRITABLE_ROWS = 100_000
"""The limit for one task: if more rows cannot be written, the SELECT is probably wrong, not the records."""


@dataclass(frozen=True, slots=True)
class PlacedBatch:
    """Rows with the columns of the files; per row the index of its bucket's path (`ids`), of its range, and its offset."""

    rows: pa.RecordBatch
    ids: BucketIds
    range_indexes: Indices
    offsets: Offsets


class PlacedRows:
    """Places the rows of one task. Call `take`, then `finish`, then the counts; or `abandon` at any time.

    All methods except `abandon` raise the errors of this table (TABLE_ERRORS).
    """

    def __init__(self, part: TablePart, environment: TaskEnvironment) -> None:
        """Raise TableError if the table's bucket does not fit its columns."""
        table = part.table
        self.schema = schema_in_files(table)
        self._table = part.task.table
        self._environment = environment
        self._unwritable = unwritable_of(table.writer)
        self._whole = row_schema(column_schema(table), table.metadata)
        planned_at_ms = part.task.planned_at_ms
        self._bucketer = Bucketer(
            bucketing=table.bucketing,
            table_zone=table.zone,
            schema=self._whole,
            planned_at_ms=planned_at_ms,
            table=table.table,
            bounds=part.task.bounds,
        )
        self._arrivals = Arrivals(part.task.table, part.index, part.ranges)
        self._unwritable_rows = UnwritableRows(part.task.table, part.ranges)
        self._letters = DeadLetterFiles(part, environment, new_attempt())

    @property
    def paths(self) -> list[str]:
        """Return the paths of the buckets so far. Later calls return longer lists with the same beginning."""
        return self._bucketer.paths

    def take(self, batch: pa.RecordBatch) -> PlacedBatch:
        range_indexes, offsets, times = self._arrivals.note(batch.column(COORDINATES))
        rows = batch.select(self._whole.names).cast(self._whole)
        places: Indices = np.arange(len(rows))
        if self._unwritable is not None:
            bad, reasons = rows_not_held(rows, self._unwritable)
            if reasons:
                self._refuse(range_indexes, offsets, bad, reasons)
                places = np.setdiff1d(places, bad)
                rows = rows.take(pa.array(places))
        assigned = self._bucketer.assign(rows, lambda: times.take(pa.array(places)))
        if len(assigned.refused):
            self._refuse(range_indexes, offsets, places[assigned.refused], assigned.reasons)
        kept = assigned.ids != NO_BUCKET
        if not kept.all():
            rows, places = rows.filter(pa.array(kept)), places[kept]
        return PlacedBatch(
            rows=rows.select(self.schema.names),
            ids=assigned.ids[kept],
            range_indexes=range_indexes[places],
            offsets=offsets.to_numpy(zero_copy_only=False)[places],
        )

    def _refuse(
        self, range_indexes: Indices, offsets: pa.Int64Array, places: Indices, reasons: list[Reason]
    ) -> None:
        for place, reason in zip(places.tolist(), reasons, strict=True):
            self._unwritable_rows.add(int(range_indexes[place]), offsets[place].as_py(), reason)

    def finish(self) -> None:
        """Write the dead letters and start closing their files."""
        if len(self._unwritable_rows):
            for letters in self._unwritable_rows.records(self._environment):
                self._letters.add(*letters)
        self._letters.sink.finish()

    def letter_files(self) -> tuple[DataFile, ...]:
        """Wait for the files of dead letters. Raises AccountingMismatch if their rows do not match the counts."""
        files = tuple(self._letters.sink.results())
        if self._letters.sink.rows != sum(self.refused_rows()):
            raise AccountingMismatch(
                f"{self._table}: {self._letters.sink.rows} rows in the dead-letter files of the SELECT"
            )
        return files

    def placed(self) -> tuple[int, ...]:
        """Return the number of rows by range, without the refused ones."""
        counts = zip(self._arrivals.counts(), self.refused_rows(), strict=True)
        return tuple(arrived - refused for arrived, refused in counts)

    def refused_rows(self) -> tuple[int, ...]:
        """Return the number of refused rows by range."""
        return self._unwritable_rows.counts()

    def refused_rows_for(self, *codes: str) -> tuple[int, ...]:
        """Return the number of rows by range that are refused for one of the reasons `codes`."""
        return self._unwritable_rows.counts_of(codes)

    def refusals(self) -> tuple[Refusal, ...]:
        return self._letters.refusals()

    def abandon(self) -> None:
        """Abandon all files; never raises."""
        self._letters.sink.abandon()


class UnwritableRows:
    """The rows of a table's part that cannot be written. Call `add` for each row, then read their `records` once."""

    def __init__(self, table: str, ranges: Sequence[OffsetRange]) -> None:
        self._table = table
        self._ranges = ranges
        self._bad = 0
        self._reasons: list[dict[int, Reason]] = [{} for _ in ranges]
        self._counts: list[Counter[str]] = [Counter() for _ in ranges]

    def add(self, number: int, offset: int, reason: Reason) -> None:
        """Note a row of the range with the index `number`.

        Raises TableError (`sql.no_bucket`) beyond MOST_UNWRITABLE_ROWS; rows that the bounds of event time refuse do not count.
        """
        self._reasons[number][offset] = reason
        self._counts[number][reason.code] += 1
        self._bad += reason.code not in OUT_OF_BOUNDS
        if self._bad > MOST_UNWRITABLE_ROWS:
            source = self._ranges[number].topic_partition
            raise TableError(
                "sql.no_bucket",
                f"{self._table}: more than {MOST_UNWRITABLE_ROWS} rows of the SELECT cannot be written,"
                f" such as {source}@{offset}: {reason}",
                "let the SELECT repair such rows (coalesce), or leave them out (WHERE .. IS NOT NULL)",
            )

    def __len__(self) -> int:
        return sum(map(len, self._reasons))

    def counts(self) -> tuple[int, ...]:
        """Return the number of rows by range."""
        return tuple(map(len, self._reasons))

    def counts_of(self, codes: Iterable[str]) -> tuple[int, ...]:
        """Return the number of rows by range with one of these reasons."""
        return tuple(sum(counts[code] for code in codes) for counts in self._counts)

    def records(self, environment: TaskEnvironment) -> Iterator[tuple[Chunk, Indices, list[Reason]]]:
        """Read the records of the rows again, and yield chunks with the records' indices and reasons.

        Raises TableError if Kafka no longer has all of them.
        """
        spans = {
            OffsetRange(source.topic_partition, min(reasons), max(reasons) + 1): reasons
            for source, reasons in zip(self._ranges, self._reasons, strict=True)
            if reasons
        }
        cluster = next((cluster_of(source.topic_partition.topic) for source in spans), "")
        reader = RangeReader(
            environment.consumer(cluster),
            {self._table: list(spans)},
            environment.settings.stall_seconds,
            environment.progress,
        )
        letters = 0
        for event in reader:
            match event:
                case TableUnreadable(_, failure):
                    raise failure.error
                case Chunk():
                    indices, reasons = _letters_in(event, spans)
                    letters += len(reasons)
                    if reasons:
                        yield event, indices, reasons
        if letters != len(self):
            raise TableError(
                "sql.no_bucket",
                f"{self._table}: {len(self)} rows of the SELECT cannot be written, and Kafka has deleted {len(self) - letters}"
                " of their records meanwhile",
                "the epoch was not committed for this table; the run tries again by itself",
            )


def _letters_in(chunk: Chunk, spans: dict[OffsetRange, dict[int, Reason]]) -> tuple[Indices, list[Reason]]:
    offsets = chunk.offsets().to_pylist()
    indices: list[int] = []
    reasons: list[Reason] = []
    start = 0
    for segment in chunk.segments:
        reasons_by_offset = spans[segment.range]
        for index in range(start, start + segment.count):
            reason = reasons_by_offset.get(offsets[index])
            if reason is not None:
                indices.append(index)
                reasons.append(reason)
        start += segment.count
    return np.array(indices, np.int64), reasons


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
            sources = self._sources.ids_of_ranges(placed.range_indexes)
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
            refused=self._placed.refused_rows(),
            out_of_range=self._placed.refused_rows_for(OUT_OF_RANGE),
            late=self._placed.refused_rows_for(*CLOSED),
            refusals=self._placed.refusals(),
            files=files,
            seconds=self._times.by_phase(),
        )

    def close(self) -> None:
        """Give up the files if `finish` did not return them; never raises."""
        self._data.abandon()
        self._placed.abandon()
