"""Properties of tables, partitions and SerDes in Hive: which change what readers see, and which are known to be harmless.

Table properties may have any name, so one that no engine reads by is ignored: it is suspect only if its name is one by which
rows are read, or begins as such names do. Properties of a SerDe are all suspect. Either kind is harmless if it is in a list.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kafka2hive.config.file_formats import FILE_FORMATS
from kafka2hive.config.keys import FileFormat
from kafka2hive.hive.description import TableDescription
from kafka2hive.model.paths.path import same_location

TABLE = "TBLPROPERTIES"
SERDE = "SERDEPROPERTIES"

_LINES = "it changes how lines are read"
_FILES = "it may change how files are read"
_TEXTS = "it changes how the text of a row is read"
_COLUMNS = "it replaces the table's columns"
_BUCKETS = "one file is expected for each bucket"
_COMPUTED = "partitions are computed, so registered ones are not seen"
_ELSEWHERE = "another table format says which files have rows"

_SUSPECT: Mapping[str, str] = {
    "skip.": "Hive leaves out lines of each file",
    "serialization.": _TEXTS,
    "field.": _TEXTS,
    "escape.delim": _TEXTS,
    "collection.delim": _TEXTS,
    "colelction.delim": _TEXTS,  # Hive 1 to 3 spell it so
    "mapkey.delim": _TEXTS,
    "quote.delim": _TEXTS,
    "line.delim": _LINES,
    "textinputformat.": _LINES,
    "text.null.empty.line": _LINES,
    "json.binary.format": _TEXTS,
    "timestamp.": "it changes how timestamps are read",
    "writer.time.zone": "it shifts timestamps",
    "columns": _COLUMNS,
    "columns.": _COLUMNS,
    "column.name.delimiter": _COLUMNS,
    "file.": _FILES,  # inputformat, outputformat
    "orc.": _FILES,
    "parquet.": _FILES,
    "hive.": _FILES,
    "mapred.": _FILES,
    "mapreduce.": _FILES,
    "io.compression.": _FILES,
    "avro.": "Hive reads Avro files by it instead of by the table's columns",
    "bucket_count": _BUCKETS,
    "bucket_field_name": _BUCKETS,
    "spark.sql.sources.numbuckets": _BUCKETS,
    "spark.sql.sources.bucketcol.": _BUCKETS,
    "spark.sql.sources.sortcol.": "rows are expected in an order",
    "storage_handler": "a storage handler reads the table, not its files",
    "transactional": "Hive reads only files that its own transactions wrote",
    "transactional_properties": "Hive reads only files that its own transactions wrote",
    "projection.": _COMPUTED,
    "storage.location.template": _COMPUTED,
    "partition.retention.period": "Hive drops partitions after that time; use `retain` in the map",
    "metadata_location": _ELSEWHERE,
    "iceberg.": _ELSEWHERE,
    "delta.": _ELSEWHERE,
    "hoodie.": _ELSEWHERE,
}
"""The names of suspect table properties in lower case (a beginning, if it ends with a dot), and what such a property does."""

_ENGINES = ("iceberg", "delta", "hudi")
_OF_ENGINES = ("table_type", "spark.sql.sources.provider")

_HARMLESS = (
    "hive.stats.",
    # only writers read these
    "avro.output.codec",
    "orc.compress",
    "orc.stripe.size",
    "orc.row.index.stride",
    "orc.create.index",
    "orc.bloom.filter.",
    "orc.block.",
    "orc.encoding.strategy",
    "orc.compression.strategy",
    "orc.dictionary.key.",
    "orc.write.",
    "orc.rows.between.memory.checks",
    "orc.memory.pool",
    "parquet.compression",
    "parquet.block.size",
    "parquet.page.",
    "parquet.dictionary.page.size",
    "parquet.enable.dictionary",
    "parquet.writer.",
    "parquet.bloom.filter.",
)
"""How the names of properties begin that look suspect, and change nothing for readers."""

_ROW_FORMAT = (
    "field.delim",
    "escape.delim",
    "line.delim",
    "collection.delim",
    "colelction.delim",
    "mapkey.delim",
    "serialization.format",
    "serialization.null.format",
    "serialization.escape.crlf",
)
"""The properties of ROW FORMAT DELIMITED. Only the SerDe of delimited text reads by them, and there their values are compared."""

_UNREAD_IN_TEXT = (
    "serialization.format",
    "collection.delim",
    "colelction.delim",
    "mapkey.delim",
    "serialization.escape.crlf",
)
"""Those that matter only to columns of arrays, maps and structs, which files of delimited text do not have, and to strings."""

_OFF = re.compile(r"false|0|utf-?8|", re.IGNORECASE)
_HAS_OFF = ("skip.", "serialization.encoding", "serialization.last.column.takes.rest", "transactional")
_POSITIONAL = ("parquet.column.index.access", "orc.force.positional.evolution", "projection.enabled")


@dataclass(frozen=True, slots=True)
class SuspectProperty:
    """A property that changes, or may change, what readers see. `clause` is TABLE or SERDE."""

    clause: str
    key: str
    value: str
    why: str

    def __str__(self) -> str:
        return f"its {self.clause} have {self.key}={self.value!r}: {self.why}"


def row_format(table: TableDescription) -> dict[str, str]:
    """Return the properties by which the table's or partition's SerDe reads text; table properties take precedence."""
    overriding = {key: value for key, value in table.parameters.items() if key in _ROW_FORMAT}
    return {**table.serde_properties, **overriding}


def suspect_properties(
    format: FileFormat, declared: Mapping[str, str], table: TableDescription
) -> Iterator[SuspectProperty]:
    """Yield the suspect properties of a table or partition. The SerDe's properties in `declared` are compared elsewhere."""
    for key, value in sorted(table.parameters.items()):
        why = _suspicion(key.lower(), value)
        if why and not (key in declared or _is_known(format, key, value)):
            yield SuspectProperty(TABLE, key, value, why)
    for key, value in sorted(table.serde_properties.items()):
        if key in declared or _is_known(format, key, value) or _is_own_path(key, value, table):
            continue
        why = _suspicion(key.lower(), value) or "what it changes for readers is unknown"
        yield SuspectProperty(SERDE, key, value, why)


def _suspicion(key: str, value: str) -> str:
    """Return what a table property does to readers; "" if it is not known to do anything."""
    if key in _OF_ENGINES:
        return _ELSEWHERE if value.lower() in _ENGINES else ""
    return next(
        (
            why
            for name, why in _SUSPECT.items()
            if key == name or (name.endswith(".") and key.startswith(name))
        ),
        "",
    )


def _is_known(format: FileFormat, key: str, value: str) -> bool:
    """Return whether a suspect name is harmless, by its name, its value or the table's format."""
    low = key.lower()
    if low.startswith(_HARMLESS):
        return True
    if low in _POSITIONAL or low.startswith(_HAS_OFF):
        return _OFF.fullmatch(value) is not None
    if low in _ROW_FORMAT:
        return (
            not _has_row_format(format) or low in _UNREAD_IN_TEXT or (low == "line.delim" and value == "\n")
        )
    return False


def _has_row_format(format: FileFormat) -> bool:
    stored = FILE_FORMATS[format].stored_as
    return stored is not None and stored.has_row_format


def _is_own_path(key: str, value: str, table: TableDescription) -> bool:
    """Return whether a property is Spark's name of the table's own directory, which its partitions repeat."""
    location = table.location
    if key != "path" or location is None:
        return key == "path"
    return same_location(value, location) or location.startswith(f"{value.rstrip('/')}/")
