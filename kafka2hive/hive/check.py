"""Comparison of a table in Hive with the map's, and the changes that make Hive's table match. Pure."""

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from kafka2hive.config.keys import Column
from kafka2hive.config.keys.writer import LINE_FORMATS
from kafka2hive.hive import hiveql
from kafka2hive.hive.description import TableDescription, TableKind
from kafka2hive.hive.stored_as import other_properties, stored_as
from kafka2hive.hive.tables import TableSpec, column_list
from kafka2hive.model.errors import TableError
from kafka2hive.model.hive_type_parser import ALIASES
from kafka2hive.model.hive_types import is_wider, type_words
from kafka2hive.model.paths.path import same_location

_NOT_WIDENED = LINE_FORMATS | {"avro"}
"""How Hive reads an old text as a new type is untested, and Avro does not widen most types."""

_NO_TABLES = (TableKind.VIEW, TableKind.OTHER)  # their other differences do not matter

_TEXT = re.compile(r"string|(var)?char(\(\d+\))?")
_LARGEST = {"tinyint": 2**7 - 1, "smallint": 2**15 - 1, "int": 2**31 - 1, "bigint": 2**63 - 1}
_LATE = datetime.datetime(2099, 12, 31, 23, 59)

_REMEDIES = {
    "hive.not_a_table": "give the map another table name",
    "hive.transactional": "recreate it as an external table, or give the map another table name",
    "hive.managed": "recreate it with CREATE EXTERNAL TABLE (or, without moving it: ALTER TABLE .. SET TBLPROPERTIES"
    " ('EXTERNAL'='TRUE'), in Hive 4 ('TRANSLATED_TO_EXTERNAL'='FALSE', 'external.table.purge'='FALSE')),"
    " or give the map another table name",
    "hive.location": "correct the map's location, or ALTER TABLE .. SET LOCATION",
    "hive.format": "set the map's writer (format, text) to the table's, recreate the table for the map's format,"
    " or give the map another table name",
    "hive.partition_columns": "make the map's bucket path name the table's partition columns in their order,"
    " or recreate the table with partition columns of type string",
    "hive.columns": "correct the map's columns, or give the map another table name",
}

Difference = tuple[str, str]
"""A code and a message."""


def check_table(spec: TableSpec, table: TableDescription) -> None:
    """Raise TableError if Hive's table does not match the map: with all differences, and the code of the first (`hive.*`).

    Columns that only Hive has are allowed and read as NULL. If `spec.columns` is empty, Hive's columns are not compared.
    """
    differences = _kind(table)
    if table.kind not in _NO_TABLES:
        differences += [*_location(spec, table), *_format(spec, table)]
        differences += [*_partition_columns(spec, table), *_columns(spec, table)]
    if differences:
        code = differences[0][0]
        message = "; ".join(each for _, each in differences)
        remedy = _change_of_columns(spec, table) if code == "hive.columns" else ""
        raise TableError(code, f"{spec.table}: {message}", remedy or _REMEDIES[code])


def _kind(table: TableDescription) -> list[Difference]:
    if table.kind in _NO_TABLES:
        return [("hive.not_a_table", f"it is a {table.kind.value}")]
    if table.transactional:
        why = "Hive reads only files that its own transactions wrote, so it would not see kafka2hive's"
        return [("hive.transactional", f"it is transactional (ACID): {why}")]
    if table.kind is TableKind.MANAGED:
        why = "DROP TABLE would delete the files, and the ledger would miss them"
        return [("hive.managed", f"it is a managed table: {why}")]
    return []


def _location(spec: TableSpec, table: TableDescription) -> list[Difference]:
    if table.location is None or same_location(table.location, spec.location):
        return []
    return [("hive.location", f"Hive has it at {table.location}, the map at {spec.location}")]


def _format(spec: TableSpec, table: TableDescription) -> list[Difference]:
    difference = stored_as(spec.format, spec.storage).difference(table)
    if difference is not None:
        return [("hive.format", difference)]
    if spec.format == "avro" and table.ledger is None:
        return [("hive.format", difference) for difference in _structs_of_others(spec)]
    others = other_properties(spec.format, spec.text, spec.storage, table)
    return [("hive.format", difference) for difference in others]


def _structs_of_others(spec: TableSpec) -> list[str]:
    """Return a difference for each column with a struct, whose fields' case another tool has chosen and Hive does not show.

    Hive matches struct fields in Avro files case-sensitively, but describes all of them in lower case.
    """
    return [
        f"column {column.name} holds a struct: if the table was created with capital letters in the fields' names, which Hive"
        " does not show, Hive would read NULL, because the map's Avro files have these names in lower case"
        for column in spec.columns
        if "struct" in type_words(column.type)
    ]


def _partition_columns(spec: TableSpec, table: TableDescription) -> list[Difference]:
    ours = [column.name.lower() for column in spec.partition_columns]
    theirs = [column.name.lower() for column in table.partition_columns]
    if ours == theirs:
        return _partition_types(spec, table)
    message = f"Hive partitions it by ({', '.join(theirs)}), the map's bucket path by ({', '.join(ours)})"
    return [("hive.partition_columns", message)]


def _partition_types(spec: TableSpec, table: TableDescription) -> list[Difference]:
    """Return the partition columns whose types cannot hold the values of the bucket path.

    Hive itself would refuse such a value only at the registration, after the commit.
    """
    templates = dict(level.partition("=")[::2] for level in spec.bucket_path.split("/"))
    columns = {column.name.lower(): _normalise(column.type) for column in spec.columns}
    return [
        (
            "hive.partition_columns",
            f"Hive's partition column {other.name} is {other.type},"
            f" which cannot hold {template or 'any text'} of the map's bucket path",
        )
        for ours, other in zip(spec.partition_columns, table.partition_columns, strict=True)
        for template in [templates.get(ours.name, "")]
        if not can_hold(_normalise(other.type), template, columns)
    ]


def _columns(spec: TableSpec, table: TableDescription) -> list[Difference]:
    present = {column.name.lower(): column for column in table.columns}
    differences = []
    for column in spec.columns:
        other = present.get(column.name.lower())
        if other is None:
            differences.append(f"Hive has no column {column.name} {column.type}")
        elif not same_type(column.type, other.type):
            differences.append(f"column {column.name} is {column.type} in the map, {other.type} in Hive")
    if stored_as(spec.format, spec.storage).by_place and not differences:
        differences += _order(spec, table)
    return [("hive.columns", difference) for difference in differences]


def _order(spec: TableSpec, table: TableDescription) -> list[str]:
    """Return the difference in the columns' order, for formats whose columns Hive matches by position and not by name."""
    ours = [column.name.lower() for column in spec.columns]
    theirs = [column.name.lower() for column in table.columns]
    if theirs[: len(ours)] == ours:
        return []
    return [
        f"Hive reads {stored_as(spec.format, spec.storage).name} files by the order of their columns, metadata columns last:"
        f" ({', '.join(ours)}) in the map, ({', '.join(theirs)}) in Hive"
    ]


def _change_of_columns(spec: TableSpec, table: TableDescription) -> str:
    """Return a remedy with the statements that give Hive's table the map's columns; "" if Hive cannot change one of the types."""
    present = {column.name.lower(): column for column in table.columns}
    changes = []
    for column in spec.columns:
        other = present.get(column.name.lower())
        if other is None:
            changes.append(f"ADD COLUMNS ({column_list([column])})")
        elif not same_type(column.type, other.type):
            if not can_widen(spec, column.type, other.type):
                return ""
            changes.append(f"CHANGE COLUMN {hiveql.identifier(column.name)} {column_list([column])}")
    if not changes:
        return ""
    cascade = " CASCADE" if spec.partition_columns else ""
    statements = "; ".join(
        f"ALTER TABLE {hiveql.table_name(spec.table)} {change}{cascade}" for change in changes
    )
    return f"{statements} in Hive, or correct the map's columns; with schema_evolution: add a run does this itself"


def can_widen(spec: TableSpec, new: str, old: str) -> bool:
    """Return whether Hive reads existing files correctly after the type of a column changes from `old` to `new`."""
    return spec.format not in _NOT_WIDENED and is_wider(new, old)


def same_type(a: str, b: str) -> bool:
    """Return whether two Hive types are the same, whatever their blanks, case and aliases."""
    return _normalise(a) == _normalise(b)


def _normalise(hive_type: str) -> str:
    words = re.split(r"([<>(),:])", hive_type.replace("`", "").lower())
    type_text = "".join(ALIASES.get(word.strip(), word.strip()) for word in words)
    type_text = re.sub(r"decimal\((\d+)\)", r"decimal(\1,0)", type_text)
    return re.sub(r"decimal(?!\()", "decimal(10,0)", type_text)


def can_hold(hive_type: str, template: str, columns: Mapping[str, str]) -> bool:
    """Return whether a partition column of type `hive_type` can hold every value that `template` makes.

    `template` is the value of one level of a bucket path, `columns` the types of the map's columns by lower-case name.
    Text holds everything, a date only `%Y-%m-%d`, an integer only digits within its range; both also hold a column of
    the same type. Hive refuses any other value, or reads it as a different one.
    """
    if _TEXT.fullmatch(hive_type):
        return True
    if hive_type not in _LARGEST and hive_type != "date":
        return False
    if "{" in template:
        return template[0] == "{" and columns.get(template[1:-1].lower()) == hive_type
    value = _LATE.strftime(template)
    if hive_type == "date":
        return value == f"{_LATE:%Y-%m-%d}"
    return re.fullmatch("[0-9]+", value) is not None and int(value) <= _LARGEST[hive_type]


@dataclass(frozen=True, slots=True)
class Alterations:
    """Changes to Hive's columns: `added` become the last ones, `widened` get these types. If both are empty, nothing changes."""

    added: tuple[Column, ...]
    widened: tuple[Column, ...]


def alterations(spec: TableSpec, table: TableDescription) -> Alterations:
    """Return the columns to add to Hive's table, and those to widen in it.

    Raises TableError if Hive's table would not match the map even with these changes.
    """
    present = {column.name.lower(): column for column in table.columns}
    added = tuple(column for column in spec.columns if column.name.lower() not in present)
    widened = tuple(
        column
        for column in spec.columns
        if (other := present.get(column.name.lower())) is not None
        and not same_type(column.type, other.type)
        and can_widen(spec, column.type, other.type)
    )
    new = {column.name.lower(): column for column in widened}
    kept = tuple(new.get(column.name.lower(), column) for column in table.columns)
    check_table(spec, replace(table, columns=kept + added))
    return Alterations(added, widened)


def alter_statements(spec: TableSpec, changes: Alterations) -> tuple[str, ...]:
    """Return the statements in the order in which they must run.

    After each of them the table still holds all its rows, so a crash in between leaves a valid table. Hive refuses a
    statement that has run before, and nothing changes. CASCADE changes the Hive partitions too; otherwise Hive would read
    them with the columns that they were created with.
    """
    alter = f"ALTER TABLE {hiveql.table_name(spec.table)}"
    # Hive refuses CASCADE if the table is not partitioned
    cascade = " CASCADE" if spec.partition_columns else ""
    statements = [
        f"{alter} CHANGE COLUMN {hiveql.identifier(column.name)} {column_list([column])}{cascade}"
        for column in changes.widened
    ]
    if changes.added:
        statements.append(f"{alter} ADD COLUMNS ({column_list(changes.added)}){cascade}")
    return tuple(statements)
