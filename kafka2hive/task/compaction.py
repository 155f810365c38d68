"""Copy the rows of a partition's early files into fewer, larger files: K3 of docs/protocol.md.

The rows are read and written through the ports of the file formats, a batch at a time. Memory holds a row group of an early
file and the buffers of the writer (`limits.task_memory`), then, for the check, a row group of a written file. Files that are
neither Parquet nor ORC are held whole.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from uuid import uuid4

import numpy as np
import pyarrow as pa

from kafka2hive.config.keys import TableSettings, WriterOptions
from kafka2hive.formats.contract.port import FileReader
from kafka2hive.formats.files import UNREADABLE, encoding_of, open_stored
from kafka2hive.formats.lines.files import LinesReader, PlainLines
from kafka2hive.formats.row_hash import Hashes, row_hashes
from kafka2hive.model.errors import Kafka2HiveError, TableError
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.paths.table_directory import extension_of, staging_directory
from kafka2hive.plan.contract import TableFailure, TaskSettings, UnitAssignment, UnitResult, WrittenUnit
from kafka2hive.storage.port import FileSystem
from kafka2hive.task.failures import TableErrors
from kafka2hive.task.rows import schema_in_files
from kafka2hive.task.watchdog import Watchdog
from kafka2hive.task.write.destination import Destination
from kafka2hive.task.write.limits import TaskLimits
from kafka2hive.task.write.table_writer import TableWriter

_BATCH_ROWS = 32_768
_WORD = 1 << 64


@dataclass(frozen=True, slots=True)
class RowSum:
    """The number of rows and the sum of their hashes, to compare rows from two sources. Valid within one process."""

    rows: int = 0
    hashes: int = 0

    def plus(self, batch: pa.RecordBatch) -> "RowSum":
        hashes = _hashes(batch)
        return RowSum(self.rows + len(batch), (self.hashes + int(hashes.sum(dtype=np.uint64))) % _WORD)


def _hashes(batch: pa.RecordBatch) -> Hashes:
    return row_hashes(zip(batch.schema.names, batch.columns, strict=True), len(batch))


class RowBag:
    """The rows of some files as a multiset of hashes, with 16 bytes per row. Valid within one process."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        hashes = np.concatenate([np.zeros(0, np.uint64), *map(_hashes, batches)])
        self._keys, self._counts = np.unique(hashes, return_counts=True)

    def take_from(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch without the rows that are in the bag. Each of these leaves the bag."""
        if not len(self._keys):
            return batch
        hashes = _hashes(batch)
        at = np.minimum(np.searchsorted(self._keys, hashes), len(self._keys) - 1)
        keep = np.ones(len(batch), np.bool_)
        for row in np.flatnonzero(self._keys[at] == hashes):
            if self._counts[at[row]]:
                self._counts[at[row]] -= 1
                keep[row] = False
        return batch.filter(pa.array(keep))


class SourceUnreadable(TableError):
    """An early file cannot be read or copied unchanged, so its Hive partition cannot be compacted."""


UNIT_DIFFERS = "compact.rows"


class UnitDiffers(Kafka2HiveError):
    """The files that a unit wrote hold different rows than its sources: a bug. The unit is not committed."""


class UnitWriter:
    """Writes units of one table. `progress` is called when a batch was read, or bytes were written."""

    def __init__(
        self,
        files: FileSystem,
        settings: TableSettings,
        memory_bytes: int,
        progress: Callable[[], None] = lambda: None,
    ) -> None:
        self._files = files
        self._settings = settings
        self._memory_bytes = memory_bytes
        self._progress = progress
        self._plain = PlainLines(schema_in_files(settings), settings.writer)
        self._format = encoding_of(settings.writer).extension.partition(".")[0]

    def write(self, assignment: UnitAssignment) -> WrittenUnit:
        """Copy the rows of the unit's sources into staged files. A crash or an error leaves orphans.

        The copy ends before the first source with different columns, so that a unit neither adds nor drops a column; the
        remaining sources need another unit. Raises SourceUnreadable, StorageError, UnitDiffers.
        """
        return self._write(assignment, RowBag(()))

    def write_again(self, assignment: UnitAssignment, left: Sequence[str]) -> tuple[DataFile, ...]:
        """Copy the rows of the unit's sources that are not in the files `left`, which the unit wrote earlier. See `write`.

        Every source is copied: where the columns change, another file begins.
        """
        bag = RowBag(batch for path in left for batch in self._batches(self._open(path), path))
        files: list[DataFile] = []
        while assignment.sources:
            written = self._write(assignment, bag)
            files += written.files
            assignment = replace(assignment, sources=assignment.sources[written.sources :])
        return tuple(files)

    def _write(self, assignment: UnitAssignment, bag: RowBag) -> WrittenUnit:
        limits = TaskLimits(self._memory_bytes, 2, max(assignment.target_bytes * 2, 1))
        first = self._open(assignment.sources[0])
        writer = TableWriter(
            destination=self._destination(assignment),
            files=self._files,
            schema=first.schema,
            options=self._options(first),
            limits=limits,
            progress=self._progress,
        )
        try:
            sources, read = self._copy(assignment, first, writer, bag)
            writer.finish()
            written = writer.results()
        except BaseException as error:
            writer.abandon()
            if isinstance(error, pa.ArrowException | ValueError):
                raise _unwritable(assignment.sources[0], f"its rows cannot be written: {error}") from error
            raise
        finally:
            limits.closer.stop()
        self._compare_rows(assignment, read, written)
        return WrittenUnit(tuple(written), sources, read.rows)

    def _copy(
        self, assignment: UnitAssignment, first: FileReader, writer: TableWriter, bag: RowBag
    ) -> tuple[int, RowSum]:
        """Write the rows that are not in `bag`. Return how many sources were copied, and the RowSum of these rows."""
        total, reader = RowSum(), first
        for number, path in enumerate(assignment.sources):
            if number and (reader := self._open(path)).schema != first.schema:
                return number, total
            start = 0
            for whole in self._batches(reader, path):
                if isinstance(reader, LinesReader) and not reader.is_whole(whole, start):
                    raise _unwritable(path, "its lines hold columns or values that a copy would lose")
                start += len(whole)
                batch = bag.take_from(whole)
                total = total.plus(batch)
                # a reader may return strings as dictionaries, but an encoder takes the types of the schema
                for rows in pa.Table.from_batches([batch]).cast(first.schema).to_batches():
                    numbers = np.zeros(len(rows), np.int32)
                    writer.add(rows, numbers, [assignment.home.path], numbers)
        return len(assignment.sources), total

    def _compare_rows(self, assignment: UnitAssignment, read: RowSum, written: Sequence[DataFile]) -> None:
        """Read the written files back from the storage. Raise UnitDiffers if their rows differ from `read`."""
        total = RowSum()
        for file in written:
            reader = open_stored(self._files.open(file.staged), extension_of(file.staged), self._plain)
            for batch in self._batches(reader, file.staged):
                total = total.plus(batch)
        if total != read:
            raise UnitDiffers(
                UNIT_DIFFERS,
                f"{assignment.home.location}: {len(assignment.sources)} files hold {read.rows} rows; the files written from"
                f" them hold {total.rows} rows, or rows with different values",
                "please report this bug; the compaction was not committed",
            )

    def _open(self, path: str) -> FileReader:
        """Open a source. Raise SourceUnreadable if its format or delimiters differ from the map's.

        Hive reads all files of a partition with the format and the delimiters of its registration.
        """
        if extension_of(path).partition(".")[0] != self._format:
            raise _unwritable(path, f"it is not in the format that the map has now, {self._format}")
        try:
            reader = open_stored(self._files.open(path), extension_of(path), self._plain)
            text = reader.recorded_text_options if isinstance(reader, LinesReader) else None
        except UNREADABLE as error:
            raise _unreadable(path, error) from error
        if text is not None and text != self._settings.writer.text:
            raise _unwritable(path, "its fields have different delimiters than the map's `text` has now")
        return reader

    def _batches(self, reader: FileReader, path: str) -> Iterator[pa.RecordBatch]:
        try:
            for batch in reader.batches(reader.schema.names, _BATCH_ROWS):
                self._progress()
                yield batch
        except UNREADABLE as error:
            raise _unreadable(path, error) from error

    def _options(self, first: FileReader) -> WriterOptions:
        """Return the table's options; `sorted_by` ends before the first column that is missing from the sources."""
        options, names = self._settings.writer, first.schema.names
        present = tuple(takewhile(lambda name: name in names, options.sorted_by))
        return replace(options, sorted_by=present)

    def _destination(self, assignment: UnitAssignment) -> Destination:
        return Destination(
            kind=FileKind.COMPACTED,
            ledger_id=assignment.ledger_id,
            table=assignment.home.table,
            generation=assignment.generation,
            epoch=assignment.epoch,
            task=assignment.task,
            attempt=uuid4().hex,
            planned_at_ms=assignment.planned_at_ms,
            ranges=(),
            hive_table=assignment.home.table,
            location=assignment.table_location,
            staging=staging_directory(assignment.table_location),
        )


def _unwritable(path: str, why: str) -> SourceUnreadable:
    return SourceUnreadable(
        "compact.source",
        f"{path} cannot be compacted: {why}",
        "set the table's columns and `writer` in the map to those with which the file was written; then a run tries again, or"
        " type the same `kafka2hive compact` command again. Nothing was changed",
    )


def _unreadable(path: str, error: Exception) -> SourceUnreadable:
    return SourceUnreadable(
        "compact.source",
        f"{path} cannot be read: {error}",
        "`kafka2hive verify --contents -c MAP` checks the table's files; nothing was changed",
    )


def run_unit(assignment: UnitAssignment, settings: TaskSettings) -> UnitResult:
    """Write a unit in a Spark worker (see `write_unit`)."""
    from kafka2hive.task.run import process_files

    with Watchdog(settings.stall_seconds) as watchdog:
        return write_unit(assignment, settings, partial(process_files, settings.storage), watchdog.touch)


def write_unit(
    assignment: UnitAssignment,
    settings: TaskSettings,
    open_files: Callable[[], FileSystem],
    progress: Callable[[], None] = lambda: None,
) -> UnitResult:
    """Write a unit in this process. An error of its table becomes the result's `failure`; a crash leaves orphans."""
    with TableErrors() as errors:
        table = settings.tables[assignment.home.table]
        try:
            written = UnitWriter(open_files(), table, settings.memory_bytes, progress).write(assignment)
        except UnitDiffers as error:
            return UnitResult(assignment.task, failure=TableFailure(error.code, error.message, error.remedy))
        return UnitResult(assignment.task, written)
    assert errors.failure is not None
    return UnitResult(assignment.task, failure=errors.failure)
