"""One table within a task: its chunks become rows, buckets, files and dead letters, and everything is counted."""

import functools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.values import MetadataColumn, Tombstones
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import FileKind
from kafka2hive.model.layout import staging_directory
from kafka2hive.model.offset_accounting import AccountingMismatch, OffsetAccounting, RangeAccounting
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.pipeline.decode import make_decoder
from kafka2hive.pipeline.delivered import Delivered, check_accounts
from kafka2hive.pipeline.task.bucket import NO_BUCKET, Bucketer, BucketIds
from kafka2hive.pipeline.task.chunk import Chunk, Positions
from kafka2hive.pipeline.task.dead_letters import (
    DEAD_LETTER_SCHEMA,
    dead_letter_path,
    dead_letters,
)
from kafka2hive.pipeline.task.filled import FilledColumns
from kafka2hive.pipeline.task.refusals import Refusals
from kafka2hive.pipeline.task.rows import row_schema, rows_of_nulls, with_metadata
from kafka2hive.pipeline.task.sink import OpenSink, RowSink
from kafka2hive.pipeline.task.sources import value_schema, value_sources
from kafka2hive.pipeline.task.template import parse_template
from kafka2hive.pipeline.task.write.write import Destination
from kafka2hive.pipeline.values import TableFailure, TableManifest, TableSettings, TableTask, TaskSettings

Refused = tuple[Positions, list[str]]
"""Messages for the dead letters with one reason each."""

NOWHERE: Positions = np.array([], dtype=np.int64)
_UNREADABLE = "headers.utf8: the name of a header is not UTF-8"
LARGEST_VALUE = 64 * 1024 * 1024  # what a decoder takes; a larger value is a dead letter


def written_schema(table: TableSettings) -> pa.Schema:
    """What stands in the files: a Hive partition column takes its values from the path, never from the file."""
    in_path = {name.lower() for name in parse_template(table.bucketing.path).partition_columns}
    whole = row_schema(value_schema(table), table.metadata)
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
        open_sink: OpenSink,
        progress: Callable[[], None],
    ) -> None:
        self.task = task
        self._index = index
        self._table = table
        self._progress = progress
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._accounts: dict[OffsetRange, OffsetAccounting] = {r: OffsetAccounting() for r in task.ranges}
        self._delivered: tuple[Delivered, ...] = ()
        self._refusals = Refusals()
        self._leader_epochs: dict[TopicPartition, tuple[int, int]] = {}
        self._newest_ms: int | None = None
        values = value_schema(table)
        try:
            self._decoder = make_decoder(
                table.format, values, table.zone, value_sources(table), table.any_case
            )
        except ValueError as error:
            raise TableError("decode.schema", f"{task.table}: {error}") from error
        self._filled = FilledColumns(table)
        whole = row_schema(values, table.metadata)
        self._bucketer = Bucketer(table.bucketing, table.zone, whole, task.planned_at_ms)
        written = written_schema(table)
        self._written_columns = written.names
        self._only = task.only_bucket
        self._wants_headers = any(column is MetadataColumn.HEADERS for column, _ in table.metadata)

        attempt = uuid4().hex

        def destination(kind: FileKind, hive_table: str, location: str) -> Destination:
            return Destination(
                kind,
                task.table,
                hive_table,
                location,
                staging_directory(table.location),
                task.ledger_id,
                task.generation,
                task.epoch,
                index,
                tuple(r for r in task.ranges if len(r)),
                attempt,
                task.planned_at_ms,
            )

        data = destination(FileKind.DATA, task.table, table.location)
        letters = destination(FileKind.DEAD_LETTER, settings.dead_letter_table, settings.dead_letter_location)
        self._data: RowSink = open_sink(data, written)
        self._letters: RowSink = open_sink(letters, DEAD_LETTER_SCHEMA)
        self._letter_paths = (dead_letter_path(task.table, task.planned_at_ms),)

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Count the time spent inside for a phase of the manifest."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[phase] += time.perf_counter() - begun

    def waited(self, seconds: float) -> None:
        """Time spent waiting for this table's records."""
        self._seconds["fetch"] += seconds

    def take(self, chunk: Chunk) -> None:
        """Every message of the chunk becomes a row, a dead letter, a filtered one or a counted tombstone."""
        refused: list[Refused] = []
        filtered: list[Positions] = []
        skipped = NOWHERE

        with self.timed("decode"):
            values = chunk.values()
            self._note_times(chunk)
            if chunk.value_bytes > LARGEST_VALUE:  # a chunk this large is one message (Chunk.split)
                positions: Positions = np.arange(len(chunk))
                refused.append((positions, [_oversized(chunk.value_bytes)] * len(chunk)))
                batches: list[tuple[pa.RecordBatch, Positions | None]] = []
            else:
                alive, tombstones = self._split(chunk, values, refused)
                batches = [self._decode(values, chunk, alive, refused)]
                if self._table.tombstones is Tombstones.SKIP:
                    skipped = tombstones
                elif len(tombstones):
                    nulls = rows_of_nulls(self._decoder.schema, len(tombstones))
                    batches.append((self._with_metadata(nulls, chunk, tombstones), tombstones))

        for rows, chosen in batches:
            with self.timed("bucket"):
                assigned = self._bucketer.assign(rows, functools.partial(chunk.timestamps, chosen))
                every = np.arange(len(chunk)) if chosen is None else chosen
                kept = assigned.ids != NO_BUCKET
                if len(assigned.refused):
                    refused.append((every[assigned.refused], assigned.reasons))
                if self._only is not None:
                    wanted = self._in_only_bucket(assigned.ids)
                    filtered.append(every[kept & ~wanted])
                    kept &= wanted
                ids = assigned.ids
                if not kept.all():
                    rows, ids = rows.filter(pa.array(kept)), ids[kept]
                if len(self._written_columns) != rows.num_columns:
                    rows = rows.select(self._written_columns)
            with self.timed("write"):
                self._data.add(rows, ids, self._bucketer.paths)

        if self._only is not None:  # a refetch dumps one bucket's rows again; its dead letters are in place
            filtered.extend(positions for positions, _ in refused)
            refused = []
        for positions, reasons in refused:
            with self.timed("write"):
                self._refusals.add(chunk, positions, reasons)
                letters = dead_letters(chunk, positions, reasons, self.task.epoch)
                self._letters.add(letters, np.zeros(len(letters), np.int32), self._letter_paths)
        self._count(chunk, [p for p, _ in refused], filtered, skipped)
        self._progress()

    def _split(
        self, chunk: Chunk, values: pa.BinaryArray, refused: list[Refused]
    ) -> tuple[Positions | None, Positions]:
        """Positions of the messages to decode (None: all) and of the tombstones; the rest goes to `refused`."""
        if not values.null_count and not self._wants_headers:
            return None, NOWHERE
        dead = values.is_null().to_numpy(zero_copy_only=False)
        unreadable = chunk.unreadable_headers() if self._wants_headers else NOWHERE
        if len(unreadable):
            refused.append((unreadable, [_UNREADABLE] * len(unreadable)))
        alive, tombstones = ~dead, dead
        alive[unreadable] = tombstones[unreadable] = False
        return (None if alive.all() else np.flatnonzero(alive)), np.flatnonzero(tombstones)

    def _decode(
        self, values: pa.BinaryArray, chunk: Chunk, alive: Positions | None, refused: list[Refused]
    ) -> tuple[pa.RecordBatch, Positions | None]:
        """Rows of the accepted messages with metadata columns, and their positions (None: all messages)."""
        if alive is not None:
            values = values.take(pa.array(alive))
        decoded = self._decoder.decode(values)
        self._filled.note(decoded.rows, values)
        if len(decoded.rejected):
            rejected = decoded.rejected.to_numpy().astype(np.int64)
            accepted = decoded.accepted.to_numpy().astype(np.int64)
            refused.append((rejected if alive is None else alive[rejected], decoded.reasons.to_pylist()))
            chosen: Positions | None = accepted if alive is None else alive[accepted]
        else:
            chosen = alive
        return self._with_metadata(decoded.rows, chunk, chosen), chosen

    def _with_metadata(self, rows: pa.RecordBatch, chunk: Chunk, chosen: Positions | None) -> pa.RecordBatch:
        return with_metadata(rows, chunk, self._table.metadata, self._table.zone, chosen)

    def _in_only_bucket(self, ids: BucketIds) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        wanted = [number for number, path in enumerate(self._bucketer.paths) if path == self._only]
        return np.isin(ids, wanted)

    def _note_times(self, chunk: Chunk) -> None:
        newest = pc.max(chunk.timestamps()).as_py()
        if newest is not None:
            self._newest_ms = newest if self._newest_ms is None else max(newest, self._newest_ms)

    def _count(
        self, chunk: Chunk, refused: list[Positions], filtered: list[Positions], skipped: Positions
    ) -> None:
        letters = _sums(chunk, refused)
        dropped = _sums(chunk, filtered)
        tombstones = chunk.count_by_segment(skipped)
        for number, segment in enumerate(chunk.segments):
            gone = letters[number] + dropped[number] + tombstones[number]
            self._accounts[segment.range] += OffsetAccounting(
                read=segment.count,
                written=segment.count - gone,
                filtered=dropped[number],
                tombstones=tombstones[number],
                dead_lettered=letters[number],
                bytes=segment.bytes,
            )
            self._note_leader(segment.range, segment.leader_epoch)

    def _note_leader(self, source: OffsetRange, leader_epoch: int) -> None:
        """Of several ranges of one topic partition the furthest counts."""
        known = self._leader_epochs.get(source.topic_partition)
        if known is None or source.start >= known[0]:
            self._leader_epochs[source.topic_partition] = (source.start, leader_epoch)

    def complete(self, delivered: Sequence[Delivered]) -> None:
        """All chunks were taken: write what waits, begin to close the files.

        `delivered` is what the client says of each range that is not empty. Raises AccountMismatch where it is not what
        came in chunks.
        """
        for one in delivered:
            self._accounts[one.range] += OffsetAccounting(absent=one.absent)
        self._delivered = tuple(delivered)
        check_accounts(self._range_accounts(), self._delivered)
        whole = tuple(account for r, account in self._accounts.items() if len(r))
        with self.timed("write"):
            self._data.finish(whole)
            self._letters.finish(whole)

    def manifest(self) -> TableManifest:
        """Wait for the files. Raises AccountMismatch when the rows of files and accounts do not add up."""
        with self.timed("close"):
            files = (*self._data.results(), *self._letters.results())
        accounts = self._range_accounts()
        _check_rows("data", self._data.rows, sum(a.account.written for a in accounts))
        _check_rows("dead-letter", self._letters.rows, sum(a.account.dead_lettered for a in accounts))
        return TableManifest(
            table=self.task.table,
            task=self._index,
            generation=self.task.generation,
            epoch=self.task.epoch,
            files=files,
            accounts=accounts,
            delivered=self._delivered,
            leader_epochs=tuple((tp, epoch) for tp, (_, epoch) in self._leader_epochs.items()),
            newest_ms=self._newest_ms,
            seconds=tuple(self._seconds.items()),
            refusals=self._refusals.most_frequent(),
            columns=self._filled.seen(),
        )

    def _range_accounts(self) -> tuple[RangeAccounting, ...]:
        return tuple(
            RangeAccounting(self._index, source, account) for source, account in self._accounts.items()
        )

    def fail(self, failure: TableFailure) -> TableManifest:
        """Give up all files; what was closed already becomes an orphan that the ledger's owner sweeps."""
        self.abandon()
        return failed_manifest(self._index, self.task, failure)

    def abandon(self) -> None:
        """Give up all files without a manifest; never raises."""
        self._data.abandon()
        self._letters.abandon()


def failed_manifest(index: int, task: TableTask, failure: TableFailure) -> TableManifest:
    return TableManifest(task.table, index, task.generation, task.epoch, failure=failure)


def _sums(chunk: Chunk, several: list[Positions]) -> list[int]:
    counts = [chunk.count_by_segment(positions) for positions in several]
    return [sum(column) for column in zip(*counts, strict=True)] if counts else [0] * len(chunk.segments)


def _oversized(size: int) -> str:
    return f"decode.oversized: {size} bytes, {LARGEST_VALUE} are allowed"


def _check_rows(kind: str, in_files: int, in_accounts: int) -> None:
    if in_files != in_accounts:
        raise AccountingMismatch(
            f"{in_files} rows in {kind} files, {in_accounts} in the accounts of the ranges"
        )
