"""The rules of a table's writer: its options must suit the file format and name columns of the files."""

import re
from collections.abc import Iterable
from typing import get_args

from kafka2hive.config.file_formats import FILE_FORMATS
from kafka2hive.config.keys.columns import METADATA_TYPES
from kafka2hive.config.keys.writer import FileFormat, WriterOptions
from kafka2hive.config.rules.table_options import TableCheck, columns_of, metadata_names
from kafka2hive.config.yaml.problems import closest
from kafka2hive.model.entry_points import PluginKind
from kafka2hive.model.hive_types import has_parts

_SUFFIX = re.compile(r"[a-z][a-z0-9]{0,15}")
_LEVELS = {"zstd": (1, 22), "gzip": (1, 9)}
_DEFAULT = WriterOptions()
_SPECIAL_OPTIONS = frozenset().union(*(format.options for format in FILE_FORMATS.values()))
"""The keys of `writer` that only some formats have."""


def check_writer(check: TableCheck) -> None:
    """Check that the writer's options suit its format and name columns of the files."""
    _check_level(check)
    _check_format(check)
    _check_columns(check)
    _check_plugin(check)


def _check_level(check: TableCheck) -> None:
    writer, path = check.table.writer, check.path("writer", "level")
    if writer.level is None:
        return
    if fault := FILE_FORMATS[writer.format].no_level:
        check.add(path, fault)
        return
    low, high = _LEVELS.get(writer.compression, (0, -1))
    if high < low:
        check.add(path, f"{writer.compression} has no levels")
    elif not low <= writer.level <= high:
        check.add(path, f"{writer.compression} has levels {low} to {high}")


def _check_format(check: TableCheck) -> None:
    writer, types = check.table.writer, _file_columns(check)
    format = FILE_FORMATS[writer.format]
    if writer.compression not in format.codecs:
        codecs = f"{', '.join(format.codecs[:-1])} or {format.codecs[-1]}"
        check.add(check.path("writer", "compression"), f"must be {codecs} for format {writer.format}")
    for key in sorted(_SPECIAL_OPTIONS - format.options):
        if getattr(writer, key) != getattr(_DEFAULT, key):
            check.add(check.path("writer", key), f"is an option of {_with_option(key)} files")
    if format.needs_columns and not types:
        message = f"{writer.format} requires that the map declares the table's columns"
        check.add(check.path("writer", "format"), message)
    for keys, message in format.faults(writer, types):
        check.add(check.path("writer", *keys), message)


def _with_option(key: str) -> str:
    """Return the names of the formats that have an option."""
    return " and ".join(each.title for each in FILE_FORMATS.values() if key in each.options)


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
