"""Write the rows of one table into files by bucket, with full row groups, bounded memory and bounded open files.

Within a row group the rows of a topic partition are adjacent if there are enough of them (bucket_split.py).

Rows wait first in a pool, unsorted, then in their bucket's buffer until they become a row group. The pool makes
out-of-order streams cheap: batches with rows of a thousand buckets are split once per pool, not once per batch,
and a bucket never keeps a whole batch alive for a few of its rows.
"""

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import pyarrow as pa

from kafka2hive.config.keys import WriterOptions
from kafka2hive.formats.files import encoding_of
from kafka2hive.model.files import DataFile
from kafka2hive.model.offsets import OffsetAccounting
from kafka2hive.storage.port import FileSystem
from kafka2hive.task.write.bucket_split import BucketSlice, SourceIds, split_by_bucket
from kafka2hive.task.write.bucketer import BucketIds
from kafka2hive.task.write.destination import Destination
from kafka2hive.task.write.limits import WRITE_ERRORS, TaskLimits
from kafka2hive.task.write.upload import StagedFile, UploadPlace

_POOL_BYTES = 16 * 1024 * 1024  # a split holds these rows twice
_ARRAY_BYTES = 640  # the overhead of an array in Arrow and pyarrow, without its values


@dataclass(slots=True)
class _Bucket:
    """The buffer and the open file of a bucket; `batches` is by source."""

    path: str
    batches: dict[int, list[pa.RecordBatch]] = field(default_factory=dict)
    rows: int = 0
    bytes: int = 0
    file: StagedFile | None = None


class TableWriter:
    """Writes one kind of files of one table. Call `add`, then `finish`, then `results`; or `abandon` at any time.

    The file that ended last waits without its footer until another file ends. So at least one file is left for `finish` to
    write the accounts of all records into its footer. This file does not count towards the limit on open files.

    Every method except `abandon` raises StorageError, TableError or pa.ArrowException if a file cannot be written. The
    caller must then call `abandon` and cannot use the writer any more.
    """

    def __init__(
        self,
        destination: Destination,
        files: FileSystem,
        schema: pa.Schema,
        options: WriterOptions,
        limits: TaskLimits,
        progress: Callable[[], None] = lambda: None,
    ) -> None:
        self._destination = destination
        self._place = UploadPlace(
            files=files,
            directory=destination.staging,
            held=limits.held,
            clock=limits.clock,
            progress=progress,
        )
        self._schema = schema
        self._options = options
        self._encoding = encoding_of(options)
        self._limits = limits
        self._pool: list[pa.RecordBatch] = []
        self._pool_ids: list[BucketIds] = []
        self._pool_sources: list[SourceIds] = []
        self._pool_bytes = 0
        self._pool_limit = min(_POOL_BYTES, max(1, limits.memory_bytes // 8))
        self._paths: Sequence[str] = ()
        self._buckets: dict[int, _Bucket] = {}
        self._closings: list[tuple[Future[DataFile], StagedFile]] = []
        self._last_ended: tuple[str, StagedFile] | None = None
        self._accounts: tuple[OffsetAccounting, ...] | None = None
        self._failure: Exception | None = None
        self.buffered_bytes = 0
        self.rows = 0
        limits.join(self)

    def add(self, rows: pa.RecordBatch, ids: BucketIds, paths: Sequence[str], sources: SourceIds) -> None:
        """Add rows, each with its index into `paths` and its source. `paths` may grow between calls but not change."""
        self._raise_failure()
        if not len(rows):
            return
        self._paths = paths
        size = rows.nbytes
        self._pool.append(rows)
        self._pool_ids.append(ids)
        self._pool_sources.append(sources)
        self._pool_bytes += size
        self._buffer(size)
        self.rows += len(rows)
        if self._pool_bytes >= self._pool_limit:
            self._drain()
        self._limits.settle()
        self._raise_failure()

    def relieve(self) -> None:
        self._drain()
        if self._buckets:
            self._flush(max(self._buckets, key=lambda number: self._buckets[number].bytes))

    def end_file(self, bucket: int) -> None:
        """End the bucket's file. It waits for its footer; the file that waited before is closed."""
        held = self._buckets[bucket]
        file, held.file = held.file, None
        self._limits.note_end(self, bucket)
        if file is not None:
            self._keep_back((held.path, file))

    def _keep_back(self, ended: tuple[str, StagedFile] | None) -> None:
        """Let `ended` wait; write the footer of the file that waited before, and let a thread close, sync and rename it."""
        waiting, self._last_ended = self._last_ended, ended
        if waiting is None:
            return
        path, file = waiting
        try:
            file.end(self._destination.footer(path, file.rows, self._accounts).metadata())
        except WRITE_ERRORS:
            file.abandon()
            raise
        publish = functools.partial(_publish, self._destination, path, file)
        self._closings.append((self._limits.closer.submit(publish), file))

    def finish(self, accounts: tuple[OffsetAccounting, ...] | None = None) -> None:
        """Write all buffered rows and start closing all files. The footers written from here on get `accounts`."""
        self._raise_failure()
        self._accounts = accounts
        self._drain()
        for number in list(self._buckets):
            self._flush(number)
            self.end_file(number)
        self._keep_back(None)
        self._limits.leave(self)

    def results(self) -> list[DataFile]:
        """Wait for the closings, after `finish`, and return the files."""
        self._raise_failure()
        files = [closing.result() for closing, _ in self._closings]
        written = sum(file.rows for file in files)  # the encoders' counts, independent of ours
        if written != self.rows:
            raise pa.ArrowInvalid(f"the writer took {self.rows} rows, but its files hold {written}")
        return files

    def abandon(self) -> None:
        """Give up all files; closed files become orphans. Does not wait, never raises."""
        self._limits.leave(self)
        for closing, file in self._closings:
            if closing.cancel():
                file.abandon()
            else:
                file.make_no_further_try()
        for held in self._buckets.values():
            if held.file is not None:
                held.file.abandon()
        if self._last_ended is not None:
            self._last_ended[1].abandon()
        self._last_ended = None
        self._buckets, self._closings = {}, []
        self._pool, self._pool_ids, self._pool_sources = [], [], []
        self._buffer(-self.buffered_bytes)
        self._pool_bytes = 0

    def fail(self, error: Exception) -> None:
        self.abandon()
        self._failure = error

    def _buffer(self, more: int) -> None:
        self.buffered_bytes += more
        self._limits.buffered_bytes += more

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _drain(self) -> None:
        """Move rows from the pool into the buckets, then write full buckets as row groups.

        The whole pool is split before the first bucket is written: slices that stay in a buffer keep the memory of the rows
        that were split with them.
        """
        for number in self._split_pool():
            held = self._buckets[number]
            if held.rows >= self._options.row_group_rows or held.bytes >= self._options.row_group_bytes:
                self._flush(number)

    def _split_pool(self) -> list[int]:
        """Move rows from the pool into the buckets, and return the numbers of these buckets."""
        if not self._pool:
            return []
        pooled = self._pool, self._pool_ids, self._pool_sources
        self._pool, self._pool_ids, self._pool_sources = [], [], []
        self._buffer(-self._pool_bytes)
        self._pool_bytes = 0
        return list(dict.fromkeys(self._hold(piece) for piece in split_by_bucket(*pooled)))

    def _hold(self, piece: BucketSlice) -> int:
        number = piece.bucket
        held = self._buckets.get(number)
        if held is None:
            held = self._buckets[number] = _Bucket(self._paths[number])
        size = sum(batch.nbytes + _ARRAY_BYTES * batch.num_columns for batch in piece.batches)
        held.batches.setdefault(piece.source, []).extend(piece.batches)
        held.rows += sum(map(len, piece.batches))
        held.bytes += size
        self._buffer(size)
        return number

    def _flush(self, number: int) -> None:
        """Write a bucket's buffer as row groups, and end the file if it has reached its size."""
        held = self._buckets[number]
        if not held.rows:
            return
        in_order = [batch for source in sorted(held.batches) for batch in held.batches[source]]
        rows = pa.Table.from_batches(in_order, self._schema)
        self._buffer(-held.bytes)
        held.batches, held.rows, held.bytes = {}, 0, 0
        if held.file is None:
            held.file = self._open(number, held.path, rows)
        else:
            self._limits.note_use(self, number)
        most = self._options.row_group_rows
        for group in [rows] if len(rows) <= 1.5 * most else _slices(rows, most):
            held.file.write(group)
        if held.file.length >= self._limits.file_bytes:
            self.end_file(number)

    def _open(self, number: int, path: str, first: pa.Table) -> StagedFile:
        self._limits.note_opening(self, number)
        new_name = functools.partial(self._destination.new_name, path, self._encoding.extension)
        return StagedFile(self._place, new_name, lambda stream: self._encoding.open(stream, first))


def _slices(rows: pa.Table, most: int) -> list[pa.Table]:
    return [rows.slice(start, most) for start in range(0, len(rows), most)]


def _publish(destination: Destination, path: str, file: StagedFile) -> DataFile:
    return destination.data_file(path, file.publish())
