"""The rules of a table's writer: its options must suit the file format and name columns of the files."""

import re
from collections.abc import Iterable
from typing import get_args

from kafka2hive.config.keys.columns import METADATA_TYPES
from kafka2hive.config.keys.writer import LINE_FORMATS, FileFormat, TextOptions
from kafka2hive.config.rules.columns import has_parts
from kafka2hive.config.rules.table_options import TableCheck, columns_of, metadata_names
from kafka2hive.config.yaml.problems import closest
from kafka2hive.model.entry_points import PluginKind
from kafka2hive.model.hive_types import avro_faults, type_words

_AVRO_CODECS = ("gzip", "zstd", "snappy", "none")
_SUFFIX = re.compile(r"[a-z][a-z0-9]{0,15}")
_LINE_CODECS = ("gzip", "zstd", "none")
_LEVELS = {"zstd": (1, 22), "gzip": (1, 9)}


def check_writer(check: TableCheck) -> None:
    """Check that the writer's options suit its format and name columns of the files."""
    _check_level(check)
    _check_format(check)
    _check_text(check)
    _check_avro(check)
    _check_columns(check)
    _check_plugin(check)


def _check_level(check: TableCheck) -> None:
    writer, path = check.table.writer, check.path("writer", "level")
    if writer.level is None:
        return
    if writer.format == "orc":
        check.add(path, "ORC files always use the codec's default level")
        return
    if writer.format == "plugin":
        check.add(path, "is not passed to a plug-in: use the plug-in's options")
        return
    low, high = _LEVELS.get(writer.compression, (0, -1))
    if high < low:
        check.add(path, f"{writer.compression} has no levels")
    elif not low <= writer.level <= high:
        check.add(path, f"{writer.compression} has levels {low} to {high}")


def _check_format(check: TableCheck) -> None:
    writer = check.table.writer
    if writer.format in LINE_FORMATS and writer.compression not in _LINE_CODECS:
        path = check.path("writer", "compression")
        check.add(path, f"must be gzip, zstd or none for format {writer.format}")
    if writer.format == "parquet":
        return
    is_set = {
        "dictionary": bool(writer.dictionary),
        "page_index": writer.page_index,
        "bloom_filter": bool(writer.bloom_filter),
        "timestamps": writer.timestamps != "micros" and writer.format != "avro",
    }
    for key in (key for key, value in is_set.items() if value):
        check.add(check.path("writer", key), "is an option of Parquet files")


def _check_text(check: TableCheck) -> None:
    writer = check.table.writer
    text = writer.text
    if writer.format != "text":
        if text != TextOptions():
            check.add(check.path("writer", "text"), "is an option of text files")
        return
    if text.delimiter == text.escape:
        check.add(check.path("writer", "text"), "delimiter and escape must differ")
    elif text.delimiter in text.null_text or text.null_text.endswith(text.escape):
        message = "must not contain the delimiter or end with the escape"
        check.add(check.path("writer", "text", "null_text"), message)
    types = _file_columns(check)
    if not types:
        check.add(check.path("writer", "format"), "text requires that the map declares the table's columns")
    nested = [name for name, kind in types.items() if has_parts(kind)]
    for name in nested:
        message = (
            f"a field of a text file holds a single value, but {name} is nested: use json, parquet or orc"
        )
        check.add(check.path("writer", "format"), message)


def _check_avro(check: TableCheck) -> None:
    writer = check.table.writer
    if writer.format != "avro":
        return
    if writer.compression not in _AVRO_CODECS:
        check.add(check.path("writer", "compression"), "must be gzip, zstd, snappy or none for format avro")
    types = _file_columns(check)
    if not types:
        check.add(check.path("writer", "format"), "avro requires that the map declares the table's columns")
    for name, kind in types.items():
        for fault in avro_faults(name, kind):
            check.add(check.path("writer", "format"), f"is avro, and {fault}")
    has_times = any("timestamp" in type_words(kind) for kind in types.values())
    if writer.timestamps == "int96" or (has_times and writer.timestamps != "millis"):
        message = "Hive reads timestamps of Avro files as milliseconds: write millis; finer timestamps become dead letters"
        check.add(check.path("writer", "timestamps"), message)


def _check_columns(check: TableCheck) -> None:
    writer = check.table.writer
    names_by_key = {
        "sorted_by": writer.sorted_by,
        "dictionary": [name for name, _ in writer.dictionary],
        "bloom_filter": writer.bloom_filter,
    }
    types = _file_columns(check)
    for key, names in names_by_key.items():
        if names and not types:
            check.add(
                check.path("writer", key), "refers to columns, so the map must declare the table's columns"
            )
            continue
        for name, fault, near in _faults(key, names, types):
            check.add(check.path("writer", key), f"{name} {fault}", near)


def _file_columns(check: TableCheck) -> dict[str, str]:
    """Return the types of the files' columns by name; empty if the map does not declare them."""
    declared = columns_of(check.table)
    if not declared:
        return {}
    return declared | {name: METADATA_TYPES[kind] for kind, name in metadata_names(check.table.metadata)}


def _faults(key: str, names: Iterable[str], types: dict[str, str]) -> Iterable[tuple[str, str, str]]:
    seen: set[str] = set()
    for name in names:
        kind = types.get(name, "").strip().lower()
        if name not in types:
            yield name, "is not a column of the files", closest(name, types)
        elif name in seen:
            yield name, "is repeated", ""
        elif key != "dictionary" and has_parts(kind):
            yield name, f"is of type {types[name]}: only columns with one value per row are allowed", ""
        elif key == "bloom_filter" and kind == "boolean":
            yield name, "is of type boolean, for which a Bloom filter is useless", ""
        seen.add(name)


def _check_plugin(check: TableCheck) -> None:
    writer, path = check.table.writer, check.path("writer", "plugin")
    if (writer.format == "plugin") != (writer.plugin is not None):
        message = (
            f"is used only with format plugin; the writer's format is {writer.format}"
            if writer.plugin is not None
            else "is missing: format plugin requires the name of a writer"
        )
        check.add(path, message)
    if writer.plugin is None:
        return
    name = writer.plugin.name
    if not _SUFFIX.fullmatch(name) or name in get_args(FileFormat):
        message = f"{name} becomes a file suffix: use 1 to 16 letters a-z and digits, a letter first, and no built-in format"
        check.add((*path, "name"), message)
    else:
        check.require_plugin(PluginKind.WRITER, writer.plugin, path)
    if check.table.schema_evolution == "add":
        message = (
            "add cannot be used with a plug-in's files: Hive may be unable to read old files with new columns"
        )
        check.add(check.path("schema_evolution"), message)
