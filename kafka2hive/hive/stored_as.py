"""File formats in Hive: how CREATE TABLE declares each, whether a table's description matches it, and what Hive reads of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka2hive.config.keys import Column, FileFormat, LetterTimestamps, TextOptions, WriterOptions
from kafka2hive.hive import hiveql
from kafka2hive.hive.description import TableDescription
from kafka2hive.model.hive_types import struct_fields, type_words
from kafka2hive.model.metastore import MetastoreRefused, Session
from kafka2hive.plugins import HiveStorage


@dataclass(frozen=True, slots=True)
class StoredAs:
    """One file format. `name` is for messages, `declared` is the clause of CREATE TABLE.

    `input_format` is a part of the input format's class name, in lower case. `serdes` are the classes that may read the
    rows; empty if the input format decides alone. `by_place`: Hive matches columns by position, not by name.
    """

    name: str
    declared: str
    input_format: str
    serdes: tuple[str, ...] = ()
    by_place: bool = False

    def difference(self, table: TableDescription) -> str | None:
        """Return why the table does not have this format; None if it does, or if Hive does not describe the format."""
        if not table.input_format:
            return None
        if self.input_format not in table.input_format.rpartition(".")[2].lower():
            return f"it does not hold {self.name} files but is read by {table.input_format}"
        if self.serdes and table.serde not in self.serdes:
            return f"its rows are not read as {self.name} but by {table.serde}"
        return None


_LAZY_SIMPLE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
_HIVE_JSON = "org.apache.hadoop.hive.serde2.JsonSerDe"
_HCATALOG_JSON = "org.apache.hive.hcatalog.data.JsonSerDe"  # Hive 2

_DEFAULTS = {"field.delim": "\x01", "serialization.null.format": "\\N"}

STORED_AS: dict[FileFormat, StoredAs] = {
    "parquet": StoredAs("Parquet", "STORED AS PARQUET", "parquet"),
    "orc": StoredAs("ORC", "STORED AS ORC", "orc", by_place=True),
    "avro": StoredAs("Avro", "STORED AS AVRO", "avro"),
    "json": StoredAs(
        "JSON",
        f"ROW FORMAT SERDE '{_HIVE_JSON}' STORED AS TEXTFILE",
        "textinputformat",
        (_HIVE_JSON, _HCATALOG_JSON),
    ),
    "text": StoredAs(
        "delimited text",
        f"ROW FORMAT SERDE '{_LAZY_SIMPLE}' WITH SERDEPROPERTIES ({{properties}}) STORED AS TEXTFILE",
        "textinputformat",
        (_LAZY_SIMPLE,),
        by_place=True,
    ),
}


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
        serdes=(storage.serde,),
        by_place=storage.by_place,
    )


def storage_clause(format: FileFormat, options: TextOptions, storage: HiveStorage | None = None) -> str:
    """Return the storage clause of CREATE TABLE. Only text needs `options`, only a plug-in `storage`."""
    properties = serde_properties(options) if storage is None else storage.serde_properties
    pairs = ((hiveql.literal(key), hiveql.literal(value)) for key, value in properties.items())
    declared = stored_as(format, storage).declared
    return declared.format(properties=", ".join(f"{key}={value}" for key, value in pairs))


def serde_properties(options: TextOptions) -> dict[str, str]:
    """Return the SerDe properties for delimited text. Hive 2 and later write an escaped line end as `n` or `r`."""
    return {
        "field.delim": options.delimiter,
        "serialization.format": options.delimiter,
        "escape.delim": options.escape,
        "serialization.null.format": options.null_text,
        "serialization.escape.crlf": "true",
    }


def other_properties(
    format: FileFormat, options: TextOptions, storage: HiveStorage | None, table: TableDescription
) -> list[str]:
    """Return the SerDe properties of Hive's table that differ from the map's; empty if Hive describes none."""
    expected: Mapping[str, str] = {}
    if storage is not None:
        expected = storage.serde_properties
    elif format == "text":
        ours = serde_properties(options)
        expected = {key: ours[key] for key in ("field.delim", "escape.delim", "serialization.null.format")}
    return [
        f"its SerDe property {key} is {table.serde_properties.get(key)!r}, the map's {value!r}"
        for key, value in expected.items()
        if table.input_format and table.serde_properties.get(key, _DEFAULTS.get(key)) != value
    ]


# Hive 4 has this key, and has read Parquet timestamps from INT64 since the same release. Distributions of Hive 3 may have both.
_WRITES_INT64 = "hive.parquet.write.int64.timestamp"
_SKIPS_CONVERSION = "hive.parquet.timestamp.skip.conversion"
_ORC_CASE = "orc.schema.evolution.case.sensitive"
_NOT_IN_OLD = {
    ("parquet", "zstd"): "it reads zstd only if Hadoop's native library has it (see hadoop checknative)",
    ("parquet", "lz4"): "it cannot read lz4",
    ("orc", "zstd"): "it cannot read zstd",
    ("orc", "lz4"): "it cannot read lz4 in the dead letters, which are Parquet files",
    ("avro", "zstd"): "it cannot read zstd",
}
_NO_CAPITALS: Mapping[FileFormat, str] = {
    "orc": f"set {_ORC_CASE}=false in hive-site.xml, or write these names in lower case in the map (with `from`)",
    "json": "leave the columns out of the map, so that Hive's table says them in lower case, or use Parquet",
}
_INT64 = "it cannot read timestamps of INT64"
_SHIFT = "it shifts timestamps of INT96 by its time zone"
_NO_SHIFT = f"set {_SKIPS_CONVERSION}=true in hive-site.xml, unless that zone is UTC"


@dataclass(frozen=True, slots=True)
class Reader:
    """What differs between versions and configurations of Hive in reading files.

    `is_old`: an Apache Hive before 4. `shifts_int96`: it reads timestamps of INT96 as UTC, and shows them in its own zone.
    `ignores_orc_case`: it finds columns of ORC files whatever the case of their names; only an old one needs to be told so.
    """

    is_old: bool
    shifts_int96: bool
    ignores_orc_case: bool = False


def reader_of(session: Session) -> Reader:
    """Ask Hive for some of its properties; a server that does not tell them is taken for a new one.

    Raises MetastoreUnavailable.
    """
    return Reader(
        is_old=_property(session, _WRITES_INT64) == f"{_WRITES_INT64} is undefined",
        shifts_int96=_property(session, _SKIPS_CONVERSION) == f"{_SKIPS_CONVERSION}=false",
        ignores_orc_case=_property(session, _ORC_CASE) == f"{_ORC_CASE}=false",
    )


def _property(session: Session, key: str) -> str:
    """Return Hive's answer `key=value` or `key is undefined`; "" if it is another one."""
    try:
        rows = session.run(f"SET {key}")
    except MetastoreRefused:
        return ""
    return str(rows[0][0]) if len(rows) == 1 and len(rows[0]) == 1 else ""


def _names_with_capitals(reader: Reader, format: FileFormat, columns: Sequence[Column]) -> list[str]:
    """Return the columns that an old Hive does not find: itself in ORC, or a field of a struct in lines of JSON."""
    names = {
        "orc": {} if reader.ignores_orc_case else {column.name: [column.name] for column in columns},
        "json": {column.name: struct_fields(column.type) for column in columns},
    }.get(format, {})
    return [column for column, written in names.items() if any(name != name.lower() for name in written)]


def unread(reader: Reader, writer: WriterOptions, columns: Sequence[Column]) -> tuple[str, str] | None:
    """Return what `reader` does not read, or reads wrongly, of the files of `writer`, and what to set; None if it reads all."""
    faults: list[str] = []
    keys: list[str] = []
    remedies: list[str] = []
    has_times = writer.format == "parquet" and any(
        "timestamp" in type_words(column.type) for column in columns
    )
    is_int96 = writer.timestamps == "int96"
    if reader.is_old and (writer.format, writer.compression) in _NOT_IN_OLD:
        faults.append(_NOT_IN_OLD[writer.format, writer.compression])
        keys.append("compression: snappy")
    if reader.is_old and (capitals := _names_with_capitals(reader, writer.format, columns)):
        faults.append(f"because of capital letters it reads NULL from {', '.join(capitals)}")
        remedies.append(_NO_CAPITALS[writer.format])
    binary = [column.name for column in columns if "binary" in type_words(column.type)]
    if reader.is_old and writer.format == "json" and binary:
        faults.append(f"it does not decode the base64 of {', '.join(binary)}")
        remedies.append("use Parquet, or unbase64() in queries")
    if reader.is_old and has_times and not is_int96:
        faults.append(_INT64)
        keys.append("timestamps: int96")
    if reader.shifts_int96 and has_times and (reader.is_old or is_int96):
        faults.append(_SHIFT)
        remedies.append(_NO_SHIFT)
    if keys:
        remedies.insert(0, f"set writer: {{{', '.join(keys)}}} in the map")
    return ("; ".join(faults), "; ".join(remedies)) if faults else None


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
