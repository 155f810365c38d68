"""File formats as values: the map's checks, Hive and the readers ask these, and no other room knows a format by name."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from kafka2hive.config.file_formats.avro import AVRO
from kafka2hive.config.file_formats.lines import JSON, TEXT
from kafka2hive.config.file_formats.orc import ORC
from kafka2hive.config.file_formats.parquet import PARQUET
from kafka2hive.config.file_formats.specification import FileFormatSpec
from kafka2hive.config.keys.declaration import UNSET
from kafka2hive.config.keys.writer import FileFormat, WriterOptions

_PLUGIN = FileFormatSpec(
    name="plugin", stored_as=None, no_level="is not passed to a plug-in: use the plug-in's options"
)
FILE_FORMATS: Mapping[FileFormat, FileFormatSpec] = MappingProxyType(
    {each.name: each for each in (PARQUET, ORC, AVRO, JSON, TEXT, _PLUGIN)}
)
LINE_FORMATS = frozenset(each.name for each in FILE_FORMATS.values() if each.is_lines)


def with_codec(writer: WriterOptions) -> WriterOptions:
    """Return the options with the format's default codec if the map sets none; not every Hive reads zstd in every format."""
    if writer.compression is not UNSET:
        return writer
    return replace(writer, compression=FILE_FORMATS[writer.format].codec)
