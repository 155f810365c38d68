"""Files that plug-ins write and read. Rows are counted before and after, so a plug-in cannot lose any unnoticed."""

import io
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

import pyarrow as pa

from kafka2hive.config.keys import PluginOptions, WriterOptions
from kafka2hive.formats.contract.port import FormatCode
from kafka2hive.model.entry_points import PluginKind, fault_of_storage, foreign_code, load
from kafka2hive.model.errors import TableError
from kafka2hive.plugins import FileWriter, HiveStorage, WriterContext

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class PluginOutput(io.RawIOBase):
    """The file object for a plug-in's writer. It writes to the stream, and to a copy on local disk for the count.

    `error` is the first error of the stream or the disk, even if the writer caught it.
    """

    def __init__(self, stream: pa.NativeFile) -> None:
        super().__init__()
        self._stream = stream
        self._copy = cast("BinaryIO", tempfile.TemporaryFile(prefix="kafka2hive-"))  # noqa: SIM115  it outlives this
        self._ended = False
        self._muted = False
        self.error: Exception | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: "ReadableBuffer") -> int:
        size = memoryview(data).nbytes
        if self._muted:
            return size
        if self._ended:
            raise ValueError("the file is ended")
        try:
            self._write(data)
        except Exception as error:
            self.error = self.error or error
            raise
        return size

    def _write(self, data: "ReadableBuffer") -> None:
        self._stream.write(data)
        try:
            self._copy.write(data)
        except OSError as error:
            raise TableError(
                "plugin.disk",
                f"a copy of a file cannot be written to {tempfile.gettempdir()}: {error}",
                "free space there on the worker's host, or give its environment another TMPDIR",
            ) from error

    def take_copy(self) -> BinaryIO:
        """Return the copy, positioned at its beginning. A later write raises ValueError."""
        self._ended = True
        self._copy.seek(0)
        return self._copy

    def mute(self) -> None:
        """Delete the copy, and ignore later writes."""
        self._muted = True
        self._copy.close()


def writer_of(plugin: PluginOptions) -> FileWriter:
    """Load the plug-in's writer. Raises TableError (`plugin.missing`, `plugin.failed`)."""
    make = load(PluginKind.WRITER, plugin.name)
    with foreign_code(PluginKind.WRITER, plugin.name):
        return cast("FileWriter", make(WriterContext(options=dict(plugin.options))))


def storage_of(plugin: PluginOptions) -> HiveStorage:
    """Return how Hive reads the writer's files. Raises TableError (`plugin.missing`, `plugin.failed`, `plugin.result`)."""
    writer = writer_of(plugin)
    with foreign_code(PluginKind.WRITER, plugin.name):
        storage = writer.hive
    if (fault := fault_of_storage(storage)) is not None:
        raise wrong_result(plugin.name, fault)
    return storage


def wrong_result(name: str, fault: str) -> TableError:
    return TableError(
        "plugin.result",
        f"{PluginKind.WRITER.value} {name}: {fault}",
        "correct the plug-in; nothing of the epoch was committed for the table",
    )


class PluginEncoder:
    """One file (Encoder). It also raises TableError (`plugin.failed`, `plugin.result`, `plugin.disk`)."""

    def __init__(self, stream: pa.NativeFile, schema: pa.Schema, name: str, writer: FileWriter) -> None:
        self._name = name
        self._writer = writer
        self._rows = 0
        self._output = PluginOutput(stream)
        try:
            with self._foreign_call():
                self._file = writer.open(cast("BinaryIO", self._output), schema)
        except BaseException:
            self.abandon()
            raise

    def write(self, rows: pa.Table) -> None:
        with self._foreign_call():
            for batch in rows.to_batches():
                self._file.write(batch)
        self._rows += len(rows)

    def end(self, metadata: Mapping[str, str]) -> int:
        """Close the file, and return the rows that the writer counts in it. The file does not hold the metadata."""
        try:
            with self._foreign_call():
                self._file.close()
            with self._foreign_call():
                rows = self._writer.count(self._output.take_copy())
        finally:
            self.abandon()
        if type(rows) is not int or rows != self._rows:
            raise wrong_result(self._name, f"it was given {self._rows} rows and counts {rows!r} in the file")
        return rows

    def abandon(self) -> None:
        self._output.mute()

    @contextmanager
    def _foreign_call(self) -> Iterator[None]:
        """Raise an error of the output unchanged, even if the writer caught it."""
        try:
            with foreign_code(PluginKind.WRITER, self._name):
                yield
        finally:
            if self._output.error is not None:
                raise self._output.error


class PluginEncoding:
    """The files of one table in one task. Raises TableError (`plugin.missing`, `plugin.failed`)."""

    def __init__(self, plugin: PluginOptions) -> None:
        self.extension = plugin.name
        self._writer = writer_of(plugin)

    def open(self, stream: pa.NativeFile, first: pa.Table) -> PluginEncoder:
        return PluginEncoder(stream, first.schema, self.extension, self._writer)


class PluginReader:
    """A whole file (FileReader). An error or an invalid result of the plug-in is raised as pa.ArrowInvalid."""

    def __init__(self, data: bytes, plugin: PluginOptions, columns: pa.Schema | None) -> None:
        """Read `data`. `columns` are the table's in the map; with None, only `rows` works."""
        self._data = data
        self._name = plugin.name
        self._columns = columns
        with self._foreign_call():
            self._writer = writer_of(plugin)

    @property
    def rows(self) -> int:
        with self._foreign_call():
            rows = self._writer.count(io.BytesIO(self._data))
        if type(rows) is not int:
            raise self._invalid(f"count returned {type(rows).__name__}")
        return rows

    @property
    def schema(self) -> pa.Schema:
        first = next(self._batches(), None)
        return pa.schema([]) if first is None else first.schema

    def filled_columns(self) -> set[str]:
        """Return all columns, because their values are not counted."""
        return set(self.schema.names)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        for batch in self._batches():
            chosen = batch.select(list(columns))
            yield from (chosen.slice(start, rows) for start in range(0, len(chosen), rows))

    def _batches(self) -> Iterator[pa.RecordBatch]:
        if self._columns is None:
            raise self._invalid("the file does not contain its columns, and no table of the map gives them")
        with self._foreign_call():
            batches = iter(self._writer.read(io.BytesIO(self._data), self._columns))
        schema: pa.Schema | None = None
        while True:
            with self._foreign_call():
                batch = next(batches, None)
            if batch is None:
                return
            if not isinstance(batch, pa.RecordBatch) or (schema is not None and batch.schema != schema):
                raise self._invalid("read did not return record batches of one schema")
            batch.validate(full=True)
            schema = batch.schema
            yield batch

    @contextmanager
    def _foreign_call(self) -> Iterator[None]:
        try:
            with foreign_code(PluginKind.WRITER, self._name):
                yield
        except TableError as error:
            raise pa.ArrowInvalid(error.message) from error

    def _invalid(self, fault: str) -> pa.ArrowInvalid:
        return pa.ArrowInvalid(f"{PluginKind.WRITER.value} {self._name}: {fault}")


def _encoding(options: WriterOptions) -> PluginEncoding:
    assert options.plugin is not None, "the map's check"
    return PluginEncoding(options.plugin)


PLUGIN = FormatCode(encoding=_encoding)
