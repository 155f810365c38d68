"""File formats in Hive: how CREATE TABLE declares each, whether a table's description matches it, and what Hive reads of it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kafka2hive.config.file_formats import FILE_FORMATS
from kafka2hive.config.file_formats.specification import StoredAs
from kafka2hive.config.keys import Column, FileFormat, LetterTimestamps, TextOptions, WriterOptions
from kafka2hive.hive import hiveql
from kafka2hive.hive.description import TableDescription
from kafka2hive.hive.properties import row_format
from kafka2hive.model.hive_types import type_words
from kafka2hive.plugins import HiveStorage

STORED_AS: Mapping[FileFormat, StoredAs] = {
    name: format.stored_as for name, format in FILE_FORMATS.items() if format.stored_as is not None
}
ESCAPED_ENDS = "serialization.escape.crlf"
_DEFAULTS = {"field.delim": "\x01", "serialization.null.format": "\\N"}
_TEXT_COLUMN = re.compile(r"(?i)\s*(string|(var)?char\b.*)\s*")


def format_difference(stored: StoredAs, table: TableDescription) -> str | None:
    """Return why a table or partition does not have this format; None if it does, or if Hive does not describe the format."""
    if not table.input_format:
        return None
    if stored.input_format not in table.input_format.rpartition(".")[2].lower():
        return f"it does not hold {stored.name} files but is read by {table.input_format}"
    if table.serde and table.serde not in stored.serdes:
        return f"its rows are not read as {stored.name} but by {table.serde}"
    if stored.output_format not in table.output_format.rpartition(".")[2].lower() and table.output_format:
        return f"Hive would not write {stored.name} files into it, but by {table.output_format}"
    return None


def stored_as(format: FileFormat, storage: HiveStorage | None) -> StoredAs:
    """Return how Hive stores this format; `storage` is what a plug-in's writer declares."""
    if storage is None:
        return STORED_AS[format]
    classes = (f"'{name}'" for name in (storage.serde, storage.input_format, storage.output_format))
    serde, reads, writes = classes
    properties = " WITH SERDEPROPERTIES ({properties})" if storage.serde_properties else ""
    return StoredAs(
        name=storage.serde.rpartition(".")[2],
        declared=f"ROW FORMAT SERDE {serde}{properties} STORED AS INPUTFORMAT {reads} OUTPUTFORMAT {writes}",
        input_format=storage.input_format.rpartition(".")[2].lower(),
        output_format=storage.output_format.rpartition(".")[2].lower(),
        serdes=(storage.serde,),
        input_class=storage.input_format,
        output_class=storage.output_format,
        by_place=storage.by_place,
    )


def storage_clause(format: FileFormat, options: TextOptions, storage: HiveStorage | None = None) -> str:
    """Return the storage clause of CREATE TABLE. `options` are for formats with a row format, `storage` for plug-ins."""
    properties = serde_properties(options) if storage is None else storage.serde_properties
    pairs = ((hiveql.literal(key), hiveql.literal(value)) for key, value in properties.items())
    declared = stored_as(format, storage).declared
    return declared.format(properties=", ".join(f"{key}={value}" for key, value in pairs))


def declared_serde_properties(
    format: FileFormat, options: TextOptions, storage: HiveStorage | None
) -> Mapping[str, str]:
    """Return the SerDe properties that CREATE TABLE declares for a format."""
    if storage is not None:
        return storage.serde_properties
    return serde_properties(options) if STORED_AS[format].has_row_format else {}


def serde_properties(options: TextOptions) -> dict[str, str]:
    """Return the SerDe properties for delimited text. Hive 2 and later write an escaped line end as `n` or `r`."""
    return {
        "field.delim": options.delimiter,
        "serialization.format": options.delimiter,
        "escape.delim": options.escape,
        "serialization.null.format": options.null_text,
        "serialization.escape.crlf": "true",
    }


def declared_properties(
    format: FileFormat, options: TextOptions, storage: HiveStorage | None, columns: Sequence[Column]
) -> Mapping[str, str]:
    """Return the properties by which the SerDe must read the map's files; empty for SerDes that read by none."""
    if storage is not None:
        return storage.serde_properties
    if not STORED_AS[format].has_row_format:
        return {}
    ours = serde_properties(options)
    if not any(_TEXT_COLUMN.fullmatch(column.type) for column in columns):
        del ours[ESCAPED_ENDS]  # no value has a line end
    del ours["serialization.format"]  # the separator only if there is no field.delim
    return ours


def other_properties(declared: Mapping[str, str], table: TableDescription) -> dict[str, str]:
    """Return the properties in `declared` that Hive's table or partition lacks or has otherwise; empty if it describes none."""
    if not table.input_format:
        return {}
    theirs = row_format(table)
    theirs.setdefault("field.delim", theirs.get("serialization.format", _DEFAULTS["field.delim"]))
    return {
        key: f"is {theirs.get(key)!r}, the map's {value!r}"
        for key, value in declared.items()
        if value not in (theirs.get(key, _DEFAULTS.get(key)), _byte(theirs.get(key, "")))
    }


def _byte(text: str) -> str | None:
    """Return the delimiter that Hive makes of digits, which are the number of a byte; None for other texts."""
    return chr(int(text) % 256) if re.fullmatch("-?[0-9]{1,3}", text) else None


SKIPS_CONVERSION = "hive.parquet.timestamp.skip.conversion"
_INT64 = "it cannot read timestamps of INT64"
_SHIFT = "it shifts timestamps of INT96 by its time zone"
_NO_SHIFT = f"set {SKIPS_CONVERSION}=true in hive-site.xml, unless that zone is UTC"


@dataclass(frozen=True, slots=True)
class Reader:
    """What differs between versions and configurations of Hive in reading files.

    `is_old`: an Apache Hive before 4. `shifts_int96`: it reads timestamps of INT96 as UTC, and shows them in its own zone.
    `ignores_case`: the formats whose columns it finds whatever the case of their names; only an old one needs to be told so.
    """

    is_old: bool
    shifts_int96: bool
    ignores_case: frozenset[FileFormat] = frozenset()


METASTORE_SCHEMAS = "hive.serdes.using.metastore.for.schema"


def unread(reader: Reader, writer: WriterOptions, columns: Sequence[Column]) -> tuple[str, str] | None:
    """Return what `reader` does not read, or reads wrongly, of the files of `writer`, and what to set; None if it reads all."""
    older = FILE_FORMATS[writer.format].older_hive
    faults: list[str] = []
    keys: list[str] = []
    remedies: list[str] = []
    has_times = older.int64_timestamps and any("timestamp" in type_words(column.type) for column in columns)
    is_int96 = writer.timestamps == "int96"
    if reader.is_old and writer.compression in older.codecs:
        faults.append(older.codecs[writer.compression])
        keys.append("compression: snappy")
    if (
        reader.is_old
        and writer.format not in reader.ignores_case
        and (capitals := [column.name for column in columns if _has_capitals(older.names(column))])
    ):
        faults.append(f"because of capital letters it reads NULL from {', '.join(capitals)}")
        remedies.append(older.capitals)
    binary = [column.name for column in columns if "binary" in type_words(column.type)]
    if reader.is_old and older.binary is not None and binary:
        fault, remedy = older.binary
        faults.append(f"{fault} {', '.join(binary)}")
        remedies.append(remedy)
    if reader.is_old and has_times and not is_int96:
        faults.append(_INT64)
        keys.append("timestamps: int96")
    if reader.shifts_int96 and has_times and (reader.is_old or is_int96):
        faults.append(_SHIFT)
        remedies.append(_NO_SHIFT)
    if keys:
        remedies.insert(0, f"set writer: {{{', '.join(keys)}}} in the map")
    return ("; ".join(faults), "; ".join(remedies)) if faults else None


def _has_capitals(names: Iterable[str]) -> bool:
    return any(name != name.lower() for name in names)


def unread_letters(
    reader: Reader, timestamps: LetterTimestamps | None, writers: Mapping[str, WriterOptions]
) -> tuple[str, str] | None:
    """Return what `reader` does not read of the timestamps of dead letters, and what to set; None if it reads them.

    `timestamps` is the map's key for them, `writers` are those of the tables by name.
    """
    is_int64 = {name: w.of_dead_letters(timestamps).timestamps != "int96" for name, w in writers.items()}
    faults: list[str] = []
    remedies: list[str] = []
    if reader.is_old and any(is_int64.values()):
        names = ", ".join(name for name, bad in is_int64.items() if bad)
        faults.append(f"in the dead letters of {names} {_INT64}")
        remedies.append("set dead_letters: {timestamps: int96} in the map")
    if reader.shifts_int96 and is_int64 and (reader.is_old or not all(is_int64.values())):
        faults.append(_SHIFT)
        remedies.append(_NO_SHIFT)
    return ("; ".join(faults), "; ".join(remedies)) if faults else None
