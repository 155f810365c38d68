"""Warnings about the readers that a table's map names (`readers`): what they cannot read of its files, or show differently.

The facts were tried with Trino 476, Spark 4.3, DuckDB 2.0 and Polars 2.1; docs/file-formats.md has them in a table.
"""

from collections.abc import Iterator

from kafka2hive.config.file_formats import FILE_FORMATS
from kafka2hive.config.keys import ServiceMap, TableRule
from kafka2hive.config.keys.columns import METADATA_TYPES
from kafka2hive.config.keys.table import TableReader
from kafka2hive.model.errors import TableError
from kafka2hive.model.hive_types import type_words
from kafka2hive.service.validate.check import Check, Warned


def check_readers(service_map: ServiceMap) -> list[Check]:
    """Return a warning for each thing that a reader in the map does with a table. Needs no cluster."""
    return [
        Check("reader", rule.table, Warned(error))
        for rule in service_map.tables
        for reader in dict.fromkeys(rule.readers)
        for error in _WARNINGS[reader](rule)
    ]


def _unread(rule: TableRule, message: str, remedy: str) -> TableError:
    return TableError("readers.unread", f"{rule.table}: {message}", remedy)


def _differs(rule: TableRule, message: str, remedy: str) -> TableError:
    return TableError("readers.differs", f"{rule.table}: {message}", remedy)


def _of_format(rule: TableRule, reader: TableReader) -> Iterator[TableError]:
    """Yield what the reader does with the table's file format."""
    words = _type_words(rule)
    for fault in FILE_FORMATS[rule.writer.format].reader_faults:
        if (
            fault.reader is reader
            and (not fault.codecs or rule.writer.compression in fault.codecs)
            and (not fault.types or words & fault.types)
            and (not fault.evolving or rule.schema_evolution == "add")
        ):
            yield (_differs if fault.differs else _unread)(rule, fault.message, fault.remedy)


def _trino(rule: TableRule) -> Iterator[TableError]:
    yield from _of_format(rule, TableReader.TRINO)
    if _has_microseconds(rule):
        yield _differs(
            rule,
            "Trino cuts timestamps to milliseconds by default, also in filters",
            "set hive.timestamp-precision=MICROSECONDS in Trino's catalog",
        )
    if rule.latest is not None:
        yield _unread(
            rule,
            f"Trino cannot translate the view {rule.table}_latest",
            "query the view in Hive or Spark",
        )


def _spark(rule: TableRule) -> Iterator[TableError]:
    yield from _of_format(rule, TableReader.SPARK)
    if "timestamp" in _type_words(rule):
        yield _differs(
            rule,
            "timestamps of a Hive table are instants in Spark, shown in the session's time zone",
            "set spark.sql.session.timeZone=UTC; then Spark shows the wall clock of the table's zone",
        )


def _directories(rule: TableRule) -> Iterator[TableError]:
    if rule.compact is not None:
        levels = rule.bucketing.path.count("/") + 1
        yield _differs(
            rule,
            "a recursive glob such as **/*.final reads early and compacted files of a partition, so rows are there twice",
            f"glob by depth, {'/'.join(['*=*'] * levels)}/*.final: such a glob finds a partition once it is compacted",
        )


_WARNINGS = {
    TableReader.TRINO: _trino,
    TableReader.SPARK: _spark,
    TableReader.DUCKDB: _directories,
    TableReader.POLARS: _directories,
}


def _type_words(rule: TableRule) -> set[str]:
    """Return the words of all types of the table's columns; unknown columns (the map has none) count as none."""
    words = {word for column in rule.columns for word in type_words(column.type)}
    return words | {word for kind, _ in rule.metadata for word in type_words(METADATA_TYPES[kind])}


def _has_microseconds(rule: TableRule) -> bool:
    """Return whether a column may have microseconds. The metadata column of Kafka's timestamp has milliseconds."""
    words = {word for column in rule.columns for word in type_words(column.type)}
    return "timestamp" in words and rule.writer.timestamps != "millis"
