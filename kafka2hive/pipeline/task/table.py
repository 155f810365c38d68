"""One table within a task: its chunks become rows, buckets, files and dead letters, and everything is counted."""

import functools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa

from kafka2hive.config.grammars.bucket_path import read_bucket_path
from kafka2hive.config.machine.native_library import LIBRARY
from kafka2hive.model.files import DataFile
from kafka2hive.model.offset_accounting import AccountingMismatch
from kafka2hive.pipeline.delivered import Delivered
from kafka2hive.pipeline.task.accounts import TableAccounts
from kafka2hive.pipeline.task.bucket.bucketer import NO_BUCKET, Bucketer, BucketIds
from kafka2hive.pipeline.task.chunk import Chunk, Positions
from kafka2hive.pipeline.task.chunk_decoder import ChunkDecoder, DecodedChunk
from kafka2hive.pipeline.task.refused.letters_of_task import LettersOfTask
from kafka2hive.pipeline.task.refused.whole_messages import Refused, refused_messages, rows_of
from kafka2hive.pipeline.task.rows import column_schema, row_schema
from kafka2hive.pipeline.task.sink import OpenSink, RowSink
from kafka2hive.pipeline.task.write.destination import new_attempt, to_dead_letters, to_table
from kafka2hive.pipeline.task.write.row_sources import RowSources
from kafka2hive.pipeline.values import TableFailure, TableManifest, TableSettings, TableTask, TaskSettings


def written_schema(table: TableSettings) -> pa.Schema:
    """What stands in the files: a Hive partition column takes its values from the path, never from the file."""
    return _without_path_columns(row_schema(column_schema(table), table.metadata), table)


def _without_path_columns(whole: pa.Schema, table: TableSettings) -> pa.Schema:
    in_path = {name.lower() for name in read_bucket_path(table.bucketing.path).names}
    return pa.schema([field for field in whole if field.name.lower() not in in_path])


class TableRun:
    """A table's share of a task while it runs: `take` chunks, then `complete`, then `manifest`; `fail` at any time.

    `take`, `complete` and `manifest` raise what belongs to this table alone (see `TABLE_ERRORS` in run); the
    caller then calls `fail`, and only that.
    """

    def __init__(
        self,
        index: int,
        task: TableTask,
        table: TableSettings,
        settings: TaskSettings,
        decoder: ChunkDecoder,
        open_sink: OpenSink,
        progress: Callable[[], None],
    ) -> None:
        self.task = task
        self._index = index
        self._progress = progress
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._accounts = TableAccounts(index, task.ranges)
        self._sources = RowSources(task.ranges)
        self._decoder = decoder
        whole = row_schema(column_schema(table), table.metadata)
        self._bucketer = Bucketer(table.bucketing, table.zone, whole, task.planned_at_ms, table.table)
        written = _without_path_columns(whole, table)
        self._written_columns = written.names
        attempt = new_attempt()
        data = to_table(index, task, table, attempt)
        self._data: RowSink = open_sink(data, written)
        letters = to_dead_letters(index, task, table, settings, attempt)
        self._letters = LettersOfTask(task, letters, open_sink)

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        begun = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[phase] += time.perf_counter() - begun

    def waited(self, seconds: float) -> None:
        self._seconds["fetch"] += seconds

    def take(self, chunk: Chunk) -> None:
        """Every message of the chunk becomes rows, a dead letter, a filtered one or a counted tombstone."""
        filtered: list[Positions] = []
        refused: list[Refused] = []
        skipped: list[Positions] = []
        written: list[Positions] = []
        for decoded in self._timed_parts(chunk):
            refused += decoded.refused
            filtered.append(decoded.without_rows)
            skipped.append(decoded.skipped)
            for rows, chosen in decoded.batches:
                with self._timed("bucket"):
                    rows, ids, positions = self._bucket(chunk, rows, chosen, refused, filtered)
                with self._timed("write"):
                    self._data.add(rows, ids, self._bucketer.paths, self._sources.of_rows(chunk, positions))
                written.append(positions)
        # a refetch writes one bucket's rows again; its dead letters are in place
        if self.task.only_bucket is not None:
            filtered.extend(positions for positions, _ in refused)
            refused = []
        with self._timed("write"):
            for positions, reasons in refused:
                self._letters.add(chunk, positions, reasons)
        self._accounts.count(
            chunk,
            dead_lettered=[positions for positions, _ in refused],
            filtered=filtered,
            tombstones=np.concatenate(skipped),
            rows=written,
        )
        self._progress()

    def _timed_parts(self, chunk: Chunk) -> Iterator[DecodedChunk]:
        """A part is decoded when the one before is written."""
        parts = self._decoder.decode(chunk)
        while True:
            with self._timed("decode"):
                part = next(parts, None)
            if part is None:
                return
            yield part
            self._progress()

    def _bucket(
        self,
        chunk: Chunk,
        rows: pa.RecordBatch,
        chosen: Positions | None,
        refused: list[Refused],
        filtered: list[Positions],
    ) -> tuple[pa.RecordBatch, BucketIds, Positions]:
        """The rows to write, their buckets and the positions of their messages.

        Messages of which no row is written go to `refused` or `filtered`: to `refused` also where one row has no bucket.
        """
        assigned = self._bucketer.assign(rows, functools.partial(chunk.timestamps, chosen))
        ids = assigned.ids
        every = np.arange(len(chunk)) if chosen is None else chosen
        kept = ids != NO_BUCKET
        if len(assigned.refused):
            bad = refused_messages(every, assigned.refused, assigned.reasons)
            refused.append(bad)
            kept &= ~rows_of(every, bad[0])
        if self.task.only_bucket is not None:
            only = [n for n, path in enumerate(self._bucketer.paths) if path == self.task.only_bucket]
            in_only = np.isin(ids, only)
            others = every[kept & ~in_only]
            kept &= in_only
            filtered.append(np.setdiff1d(others, every[kept]))
        if not kept.all():
            rows, ids, every = rows.filter(pa.array(kept)), ids[kept], every[kept]
        if len(self._written_columns) != rows.num_columns:
            rows = rows.select(self._written_columns)
        return rows, ids, every

    def complete(self, delivered: Sequence[Delivered]) -> None:
        """All chunks were taken: write what waits, begin to close the files.

        `delivered` is what the client says of each range that is not empty. Raises AccountingMismatch where it is not what
        came in chunks.
        """
        self._accounts.complete(delivered)
        accounts = self._accounts.for_footers()
        with self._timed("write"):
            self._data.finish(accounts)
            self._letters.sink.finish(accounts)

    def manifest(self) -> TableManifest:
        """Wait for the files. Raises AccountingMismatch when the rows of files and accounts do not add up."""
        with self._timed("close"):
            files = (*self._data.results(), *self._letters.sink.results())
        accounts = self._accounts.of_ranges()
        _check_rows("data", self._data.rows, sum(a.account.rows for a in accounts))
        _check_rows("dead-letter", self._letters.sink.rows, sum(a.account.dead_lettered for a in accounts))
        return manifest_of(
            self._index, self.task, files, self._accounts, self._letters, self._decoder, self._seconds
        )

    def fail(self, failure: TableFailure) -> TableManifest:
        """Give up all files; what was closed already becomes an orphan that the ledger's owner deletes."""
        self.abandon()
        return failed_manifest(self._index, self.task, failure)

    def abandon(self) -> None:
        """Give up all files without a manifest; never raises."""
        self._data.abandon()
        self._letters.sink.abandon()


def manifest_of(
    index: int,
    task: TableTask,
    files: Sequence[DataFile],
    accounts: TableAccounts,
    letters: LettersOfTask,
    decoder: ChunkDecoder,
    seconds: Mapping[str, float],
) -> TableManifest:
    return TableManifest(
        table=task.table,
        task=index,
        generation=task.generation,
        epoch=task.epoch,
        files=tuple(files),
        accounts=accounts.of_ranges(),
        delivered=accounts.delivered,
        leader_epochs=accounts.leader_epochs(),
        newest_ms=accounts.newest_ms,
        seconds=tuple(seconds.items()),
        refusals=letters.refusals(),
        columns=decoder.columns_seen(),
        unmapped=decoder.unmapped_fields(),
        changed=decoder.changed(),
        is_compiled=LIBRARY is not None,
    )


def failed_manifest(index: int, task: TableTask, failure: TableFailure) -> TableManifest:
    return TableManifest(
        table=task.table, task=index, generation=task.generation, epoch=task.epoch, failure=failure
    )


def _check_rows(kind: str, in_files: int, in_accounts: int) -> None:
    if in_files != in_accounts:
        raise AccountingMismatch(
            f"{in_files} rows in {kind} files, {in_accounts} in the accounts of the ranges"
        )
