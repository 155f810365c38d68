"""One table's part of a task while it runs: records become rows in files or dead letters, and every record is counted."""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from kafka2hive.config.dead_letters import CLOSED, OUT_OF_RANGE
from kafka2hive.config.native_library import LIBRARY
from kafka2hive.model.files import DataFile
from kafka2hive.model.offsets import AccountingMismatch, OffsetAccounting
from kafka2hive.plan.contract import ClientCounts, TableManifest
from kafka2hive.plugins import Reason
from kafka2hive.task.accounts import TableAccounts
from kafka2hive.task.chunk_decoder import DecodedChunk
from kafka2hive.task.dead_letters import DeadLetterFiles
from kafka2hive.task.fetch.chunk import Chunk
from kafka2hive.task.fetch.records import Indices
from kafka2hive.task.part import PhaseTimes, TablePart, TaskEnvironment, new_attempt
from kafka2hive.task.rejections import Rejections, rejected_messages, rows_of, with_reason
from kafka2hive.task.rows import column_schema, row_schema, schema_in_files
from kafka2hive.task.window_tally import WindowTally
from kafka2hive.task.write.bucket_split import RowSources
from kafka2hive.task.write.bucketer import NO_BUCKET, Bucketer, BucketIds


@dataclass(frozen=True, slots=True)
class Fates:
    """What becomes of the messages of one chunk, as indices.

    `rows` has the index of each row's message; all rows of a message are in one item of the list.
    """

    rejections: list[Rejections] = field(default_factory=list)
    filtered: list[Indices] = field(default_factory=list)
    tombstones: list[Indices] = field(default_factory=list)
    rows: list[Indices] = field(default_factory=list)


class RowEnd(Protocol):
    """The destination of a table's decoded rows. Call `take`, then `finish`, then `files`; or `abandon` at any time."""

    @property
    def rows(self) -> int:
        """Return the number of rows taken; filtered and rejected rows do not count."""
        ...

    @property
    def is_last(self) -> bool:
        """Return whether the accounts are final; False if rows may still be dropped after this end."""
        ...

    def take(
        self, chunk: Chunk, rows: pa.RecordBatch, indices: Indices | None, fates: Fates
    ) -> Iterable[pa.RecordBatch]:
        """Take one row per index (None: one row per message), and record in `fates` what becomes of the messages.

        Returns the rows that the task passes on.
        """
        ...

    def finish(self, accounts: tuple[OffsetAccounting, ...]) -> None: ...

    def files(self) -> Sequence[DataFile]: ...

    def abandon(self) -> None:
        """Give up all rows and files; never raises."""
        ...


OpenEnd = Callable[[TablePart, TaskEnvironment, str, PhaseTimes], RowEnd]
"""Opens the RowEnd of one attempt; the third argument is the attempt's name."""


class BucketedRows:
    """The end of a table without SQL, which writes rows into the files of their buckets."""

    is_last = True

    def __init__(
        self, part: TablePart, environment: TaskEnvironment, attempt: str, times: PhaseTimes
    ) -> None:
        """Raise TableError if the table's bucket does not fit its columns."""
        table = part.table
        self._only_bucket = part.task.only_bucket
        self._times = times
        self._sources = RowSources(part.ranges)
        whole = row_schema(column_schema(table), table.metadata)
        self._bucketer = Bucketer(
            bucketing=table.bucketing,
            table_zone=table.zone,
            schema=whole,
            planned_at_ms=part.task.planned_at_ms,
            table=table.table,
            bounds=part.task.bounds,
        )
        in_files = schema_in_files(table)
        self._columns = in_files.names
        self._sink = environment.open_sink(table, part.data(attempt), in_files)

    @property
    def rows(self) -> int:
        return self._sink.rows

    def take(
        self, chunk: Chunk, rows: pa.RecordBatch, indices: Indices | None, fates: Fates
    ) -> Iterable[pa.RecordBatch]:
        with self._times.timed("bucket"):
            rows, ids, places = self._assign(chunk, rows, indices, fates)
        with self._times.timed("write"):
            self._sink.add(rows, ids, self._bucketer.paths, self._sources.ids_of_rows(chunk, places))
        fates.rows.append(places)
        return ()

    def _assign(
        self, chunk: Chunk, rows: pa.RecordBatch, indices: Indices | None, fates: Fates
    ) -> tuple[pa.RecordBatch, BucketIds, Indices]:
        """Return the rows to write, their buckets and the indices of their messages.

        Messages without a row to write are recorded in `fates` as filtered or rejected. A row without a bucket rejects its
        whole message.
        """
        assignment = self._bucketer.assign(rows, functools.partial(chunk.timestamps, indices))
        ids = assignment.ids
        every = np.arange(len(chunk)) if indices is None else indices
        kept = ids != NO_BUCKET
        if len(assignment.refused):
            bad = rejected_messages(every, assignment.refused, assignment.reasons)
            fates.rejections.append(bad)
            kept &= ~rows_of(every, bad[0])
        if self._only_bucket is not None:
            only = [n for n, path in enumerate(self._bucketer.paths) if path == self._only_bucket]
            in_only = np.isin(ids, only)
            others = every[kept & ~in_only]
            kept &= in_only
            fates.filtered.append(np.setdiff1d(others, every[kept]))
        if not kept.all():
            rows, ids, every = rows.filter(pa.array(kept)), ids[kept], every[kept]
        if len(self._columns) != rows.num_columns:
            rows = rows.select(self._columns)
        return rows, ids, every

    def finish(self, accounts: tuple[OffsetAccounting, ...]) -> None:
        self._sink.finish(accounts)

    def files(self) -> Sequence[DataFile]:
        return self._sink.results()

    def abandon(self) -> None:
        self._sink.abandon()


class TableRun:
    """A table's part of a task while it runs. Call `take`, then `complete`, then `manifest`; or `abandon` at any time.

    All methods except `abandon` raise the errors of this table (TABLE_ERRORS); the caller must then call `abandon`.
    """

    def __init__(
        self, part: TablePart, environment: TaskEnvironment, open_end: OpenEnd = BucketedRows
    ) -> None:
        """Raise TableError if the table's format or bucket does not fit its columns."""
        self.part = part
        self.times = PhaseTimes()
        self._progress = environment.progress
        self._accounts = TableAccounts(part.index, part.ranges, _window_tally(part))
        self._is_bounded = part.task.bounds is not None
        self._decoder = environment.decoder(part.table)
        attempt = new_attempt()
        self._end = open_end(part, environment, attempt, self.times)
        self._letters = DeadLetterFiles(part, environment, attempt)

    def take(self, chunk: Chunk) -> Iterator[pa.RecordBatch]:
        """Turn every message of the chunk into rows or a dead letter, or count it as filtered or as a tombstone.

        Yields the rows that the task passes on (RowEnd).
        """
        fates = Fates()
        for decoded in self._timed_parts(chunk):
            fates.rejections.extend(decoded.rejections)
            fates.filtered.append(decoded.without_rows)
            fates.tombstones.append(decoded.skipped)
            for rows, indices in decoded.batches:
                yield from self._end.take(chunk, rows, indices, fates)
        letters = fates.rejections
        if self.part.task.only_bucket is not None:
            # a refetch rewrites the rows of one bucket; its dead letters are already committed
            fates.filtered.extend(indices for indices, _ in letters)
            letters = []
        with self.times.timed("write"):
            for indices, reasons in letters:
                self._letters.add(chunk, indices, reasons)
        self._accounts.count(
            chunk,
            dead_lettered=[indices for indices, _ in letters],
            filtered=fates.filtered,
            tombstones=np.concatenate(fates.tombstones),
            rows=fates.rows,
            out_of_range=[with_reason(rejected, OUT_OF_RANGE) for rejected in letters]
            if self._is_bounded
            else (),
            late=[with_reason(rejected, *CLOSED) for rejected in letters] if self._is_bounded else (),
        )
        self._progress()

    def keep(self, chunk: Chunk, reasons: Sequence[Reason]) -> None:
        """Take every message of the chunk as a dead letter without decoding it; `reasons` has one per message."""
        every = np.arange(len(chunk))
        self._letters.keep(chunk, every, self._decoder.stored_reasons(chunk, reasons))
        self._accounts.count(chunk, dead_lettered=[every], filtered=[], tombstones=every[:0])

    def _timed_parts(self, chunk: Chunk) -> Iterator[DecodedChunk]:
        """Yield the decoded parts; a part is decoded only after the previous one was written."""
        parts = self._decoder.decode(chunk)
        while True:
            with self.times.timed("decode"):
                part = next(parts, None)
            if part is None:
                return
            yield part
            self._progress()

    def complete(self, delivered: Sequence[ClientCounts]) -> None:
        """Write the buffered rows and start closing the files, after the last chunk.

        `delivered` has the client's counts of each range that is not empty. Raises AccountingMismatch if they differ from the
        counts of the chunks.
        """
        self._accounts.complete(delivered)
        accounts = self._accounts.footer_accounts()
        with self.times.timed("write"):
            self._end.finish(accounts)
            self._letters.sink.finish(accounts if self._end.is_last else None)

    def manifest(self) -> TableManifest:
        """Wait for the files. Raises AccountingMismatch if the rows in files differ from those in the accounts."""
        with self.times.timed("close"):
            files = (*self._end.files(), *self._letters.sink.results())
        accounts = self._accounts.range_accounts()
        _check_rows("data", self._end.rows, sum(a.account.rows for a in accounts))
        _check_rows("dead-letter", self._letters.sink.rows, sum(a.account.dead_lettered for a in accounts))
        return TableManifest(
            table=self.part.task.table,
            task=self.part.index,
            generation=self.part.task.generation,
            epoch=self.part.task.epoch,
            files=files,
            accounts=accounts,
            delivered=self._accounts.delivered,
            leader_epochs=self._accounts.leader_epochs(),
            newest_ms=self._accounts.newest_ms,
            seconds=self.times.by_phase(),
            refusals=self._letters.refusals(),
            columns=self._decoder.columns_seen(),
            unmapped=self._decoder.unmapped_fields(),
            changed=self._decoder.changed(),
            broken=self._decoder.broken_rules(),
            is_compiled=LIBRARY is not None,
            windows=self._accounts.windows(),
        )

    def abandon(self) -> None:
        """Give up all files. Closed files become orphans, which the ledger's owner deletes. Never raises."""
        self._end.abandon()
        self._letters.sink.abandon()


def _window_tally(part: TablePart) -> WindowTally | None:
    """Return the tally of a table with `counts`; None if the task reads records again, which were counted before."""
    counts = part.table.counts
    is_first = part.task.replay is None and part.task.only_bucket is None
    return WindowTally(counts.window) if counts is not None and is_first else None


def _check_rows(kind: str, in_files: int, in_accounts: int) -> None:
    if in_files != in_accounts:
        raise AccountingMismatch(
            f"{in_files} rows in {kind} files, {in_accounts} in the accounts of the ranges"
        )
