"""Readers of files. A whole file is recognised by its first bytes, the end of a file by the extension of its name."""

from collections.abc import Callable
from typing import get_args

import pyarrow as pa

from kafka2hive.config.keys import FileFormat, PluginOptions
from kafka2hive.config.keys.writer import LINE_FORMATS
from kafka2hive.formats.avro import container as avro
from kafka2hive.formats.avro.encoding import AvroEncoding
from kafka2hive.formats.avro.reader import AvroReader, avro_end
from kafka2hive.formats.contract.port import FileEnd, FileReader
from kafka2hive.formats.lines.codec import CODEC_NAMES, codec_of, read_trailer
from kafka2hive.formats.lines.reader import LinesReader, PlainLines
from kafka2hive.formats.orc.encoding import OrcEncoding
from kafka2hive.formats.orc.reader import OrcReader, orc_end
from kafka2hive.formats.orc.tail import MAGIC
from kafka2hive.formats.parquet.encoding import ParquetEncoding
from kafka2hive.formats.parquet.reader import ParquetReader, parquet_end
from kafka2hive.formats.plugin import PluginReader

UNREADABLE = (pa.ArrowException, OSError)
"""The errors for a file that is damaged or has no known format."""


def open_reader(data: bytes, extension: str = "", plain: PlainLines | None = None) -> FileReader:
    """Return a reader for a whole file. Raises UNREADABLE.

    `extension` is that of the file's name, "" if unknown; files of plug-ins and lines without compression are recognised
    only by it. `plain` is what those files do not contain; without it, their rows can be counted, but not read.
    """
    if (name := extension.partition(".")[0]) and name not in get_args(FileFormat):
        return PluginReader(data, *_of_plugin(name, plain))
    if extension.partition(".")[0] in LINE_FORMATS or codec_of(data) is not None:
        return LinesReader(data, plain)
    if data.startswith(avro.MAGIC):
        return AvroReader(data)
    return OrcReader(data) if data.startswith(MAGIC) else ParquetReader(data)


def end_of(extension: str, length: int, tail: Callable[[int], bytes]) -> FileEnd | None:
    """Return the footer of a file of `length` bytes; None if files with this extension have none, or it is unknown.

    `tail(n)` returns the last n bytes of the file. Raises UNREADABLE, and what `tail` raises.
    """
    match extension.split("."):
        case [ParquetEncoding.extension]:
            return parquet_end(length, tail)
        case [OrcEncoding.extension]:
            return orc_end(length, tail)
        case [AvroEncoding.extension]:
            return avro_end(length, tail)
        case [format, suffix] if format in LINE_FORMATS and suffix in CODEC_NAMES:
            return read_trailer(CODEC_NAMES[suffix], length, tail)
        case _:
            return None


def _of_plugin(name: str, plain: PlainLines | None) -> tuple[PluginOptions, pa.Schema | None]:
    """Return the plug-in's options, the table's own if it still uses this plug-in, and the table's columns."""
    current = None if plain is None else plain.options.plugin
    options = current if current is not None and current.name == name else PluginOptions(name=name)
    return options, None if plain is None else plain.schema
