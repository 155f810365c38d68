"""The choice among the file formats: an encoding by a table's writer options, a reader by a file's first bytes or its name."""

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import get_args

import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.file_formats import LINE_FORMATS
from kafka2hive.config.keys import FileFormat, PluginOptions, WriterOptions
from kafka2hive.formats.avro import AVRO
from kafka2hive.formats.contract.port import Encoder, Encoding, FileEnd, FileReader, FormatCode, Unwritable
from kafka2hive.formats.lines.codec import CODEC_NAMES, codec_of, read_trailer
from kafka2hive.formats.lines.files import JSON, TEXT, LinesReader, PlainLines
from kafka2hive.formats.orc import ORC
from kafka2hive.formats.parquet import PARQUET, ParquetReader
from kafka2hive.formats.plugin import PLUGIN, PluginReader
from kafka2hive.storage.stored_file import StoredFile

_CODE: Mapping[str, FormatCode] = {
    "parquet": PARQUET,
    "orc": ORC,
    "avro": AVRO,
    "json": JSON,
    "text": TEXT,
    "plugin": PLUGIN,
}
UNREADABLE = (pa.ArrowException, OSError, UnicodeDecodeError)
"""The errors for a file that is damaged or has no known format."""
_FETCHED_AT_ONCE = 4 << 20


def encoding_of(options: WriterOptions) -> Encoding:
    """Return a new encoding, for one table in one task. Raises TableError if a plug-in fails."""
    encoding = _CODE[options.format].encoding(options)
    return SortingEncoding(encoding, options.sorted_by) if options.sorted_by else encoding


def unwritable_of(options: WriterOptions) -> Unwritable | None:
    """Return the check for rows that files with these options cannot hold; None if they hold every row."""
    return _CODE[options.format].unwritable(options)


class SortingEncoding:
    """Sorts every row group for another encoding. NULLs come last; rows with equal keys keep their order."""

    def __init__(self, inner: Encoding, columns: Sequence[str]) -> None:
        self._inner = inner
        self._columns = columns

    @property
    def extension(self) -> str:
        return self._inner.extension

    def open(self, stream: pa.NativeFile, first: pa.Table) -> "SortingEncoder":
        return SortingEncoder(self._inner.open(stream, first), self._columns)


class SortingEncoder:
    """Writes one file (see Encoder). While a row group is sorted, its rows are in memory twice."""

    def __init__(self, inner: Encoder, columns: Sequence[str]) -> None:
        self._inner = inner
        self._keys = [(name, "ascending", "at_end") for name in columns]

    def write(self, rows: pa.Table) -> None:
        self._inner.write(rows.take(pc.sort_indices(rows, sort_keys=self._keys)))

    def end(self, metadata: Mapping[str, str]) -> int:
        return self._inner.end(metadata)

    def abandon(self) -> None:
        self._inner.abandon()


def open_reader(data: bytes, extension: str = "", plain: PlainLines | None = None) -> FileReader:
    """Return a reader for a whole file. Raises UNREADABLE.

    `extension`: the extension of the file's name, "" if unknown. Files of plug-ins, and lines without compression, are
    recognised by their extension only. `plain` has the columns and options that these files do not contain; without it, their
    rows can only be counted.
    """
    if (name := extension.partition(".")[0]) and name not in get_args(FileFormat):
        return PluginReader(data, *_of_plugin(name, plain))
    if extension.partition(".")[0] in LINE_FORMATS or codec_of(data) is not None:
        return LinesReader(data, plain)
    by_magic = (code.read for code in _CODE.values() if code.magic and data.startswith(code.magic))
    return (next(by_magic, None) or ParquetReader)(BytesIO(data))


def open_stored(file: StoredFile, extension: str, plain: PlainLines | None = None) -> FileReader:
    """Return a reader for a stored file. Raises UNREADABLE, and what the file's methods raise.

    A large file is fetched while its rows are read if its format has parts. Others, and small ones, are fetched at once.
    """
    read = _CODE[extension].read if has_parts(extension) else None
    if read is not None and file.length > _FETCHED_AT_ONCE:
        return read(file)
    with file:
        return open_reader(file.read(), extension, plain)


def has_parts(extension: str) -> bool:
    """Return whether files with this extension have parts that can be read alone, as those of Parquet and ORC have."""
    code = _CODE.get(extension)
    return code is not None and code.has_parts


def end_of(extension: str, length: int, tail: Callable[[int], bytes]) -> FileEnd | None:
    """Return the footer of a file of `length` bytes; None if files with this extension have none, or the extension is unknown.

    `tail(n)` returns the last n bytes of the file. Raises UNREADABLE, and what `tail` raises.
    """
    format, _, suffix = extension.partition(".")
    if format in LINE_FORMATS and suffix in CODEC_NAMES:
        return read_trailer(CODEC_NAMES[suffix], length, tail)
    code = _CODE.get(extension)
    return None if code is None or code.end is None else code.end(length, tail)


def _of_plugin(name: str, plain: PlainLines | None) -> tuple[PluginOptions, pa.Schema | None]:
    """Return the plug-in's options, which are the table's if it still uses this plug-in, and the table's columns."""
    current = None if plain is None else plain.options.plugin
    options = current if current is not None and current.name == name else PluginOptions(name=name)
    return options, None if plain is None else plain.schema
