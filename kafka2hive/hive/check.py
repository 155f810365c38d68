"""Comparison of a table in Hive with the map's, and the changes that make Hive's table match. Pure."""

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kafka2hive.config.file_formats import FILE_FORMATS
from kafka2hive.config.keys import Column
from kafka2hive.hive import hiveql
from kafka2hive.hive.description import TableDescription, TableKind
from kafka2hive.hive.properties import SERDE, SuspectProperty, suspect_properties
from kafka2hive.hive.stored_as import (
    ESCAPED_ENDS,
    METASTORE_SCHEMAS,
    declared_properties,
    format_difference,
    other_properties,
    stored_as,
)
from kafka2hive.hive.tables import TableSpec, column_list
from kafka2hive.model.errors import TableError
from kafka2hive.model.hive_type_parser import ALIASES, HiveTypeError
from kafka2hive.model.hive_types import is_wider, parse_hive_type, type_words
from kafka2hive.model.paths.path import same_location

_PARTITION = "hive.partition"
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
    "hive.properties": "recreate the table, or give the map another table name",
    "hive.partition_columns": "make the map's bucket path name the table's partition columns in their order,"
    " or recreate the table with partition columns of type string",
    "hive.columns": "correct the map's columns, or give the map another table name",
}


class Difference(NamedTuple):
    """A difference between Hive's table and the map. `statement` changes Hive's table, if it is not empty."""

    code: str
    message: str
    statement: str = ""


def check_table(spec: TableSpec, table: TableDescription) -> None:
    """Raise TableError if Hive's table does not match the map: with all differences, and the code of the first (`hive.*`).

    Columns that only Hive has are allowed and read as NULL. If `spec.columns` is empty, Hive's columns are not compared.
    """
    differences = _kind(table)
    if table.kind not in _NO_TABLES:
        differences += [*_location(spec, table), *_format(spec, table)]
        differences += [*_partition_columns(spec, table), *_columns(spec, table)]
        differences += _properties(spec, table, hiveql.table_name(spec.table))
    if differences:
        code = differences[0].code
        message = "; ".join(each.message for each in differences)
        remedy = _change_of_columns(spec, table) if code == "hive.columns" else ""
        if statements := [each.statement for each in differences if each.statement]:
            remedy = f"{'; '.join(statements)} in Hive, or give the map another table name"
        raise TableError(code, f"{spec.table}: {message}", remedy or _REMEDIES[code])


def check_types(table: str, columns: Sequence[Column]) -> None:
    """Raise TableError if Hive's columns, which are to be the map's too, have types that no file can be given."""
    faults = []
    for column in columns:
        try:
            parse_hive_type(column.type)
        except HiveTypeError as error:
            faults.append(
                f"column {column.name} is {column.type} in Hive, which kafka2hive does not write: {error.problem}"
            )
    if faults:
        raise TableError(
            "hive.columns",
            f"{table}: {'; '.join(faults)}",
            "declare the other columns in the map's `columns`: Hive reads a column without them as NULL",
        )


def check_partition(spec: TableSpec, path: str, partition: TableDescription) -> None:
    """Raise TableError (`hive.partition`) if Hive would read files of the map's table wrongly in this partition.

    A partition keeps the description of the table at the time when it was registered, whatever becomes of the table.
    """
    name = f"{hiveql.table_name(spec.table)} {hiveql.partition_spec(path)}"
    format = stored_as(spec.format, spec.storage)
    if difference := format_difference(format, partition):
        differences = [Difference(_PARTITION, difference, _set_format(spec, name))]
    else:
        declared = declared_properties(spec.format, spec.text, spec.storage, spec.columns)
        others = other_properties(declared, partition)
        differences = [
            Difference(_PARTITION, f"its SerDe property {key} {value}") for key, value in others.items()
        ]
        if others:
            pairs = ", ".join(_pair(key, declared[key]) for key in others)
            differences[-1] = differences[-1]._replace(statement=f"ALTER TABLE {name} SET {SERDE} ({pairs})")
    differences += [each._replace(code=_PARTITION) for each in _properties(spec, partition, name)]
    if differences:
        remedy = "if none of its files is older, "
        statements = [each.statement for each in differences if each.statement]
        again = f"ALTER TABLE {hiveql.table_name(spec.table)} DROP {hiveql.partition_spec(path)}"
        remedy += f"{'; '.join(statements) or again} in Hive; otherwise set the map and the table back, or use another table"
    else:
        differences = [each._replace(code=_PARTITION) for each in _columns(spec, partition)]
        statements = _column_changes(spec, partition)
        remedy = (
            f"{'; '.join(f'ALTER TABLE {name} {change}' for change in statements)} in Hive"
            if statements
            else ""
        )
    if differences:
        message = "; ".join(each.message for each in differences)
        raise TableError(
            _PARTITION,
            f"{spec.table} partition {path} differs from the table in Hive, and would not be read as the map's files are"
            f" written: {message}",
            remedy or "rewrite the partition with the table's columns, or use another table",
        )


def _set_format(spec: TableSpec, name: str) -> str:
    """Return the statement that gives a partition the format of the map's files; "" if several are needed."""
    has_own_name = stored_as(spec.format, spec.storage).has_own_name
    return f"ALTER TABLE {name} SET FILEFORMAT {spec.format.upper()}" if has_own_name else ""


def _pair(key: str, value: str) -> str:
    return f"{hiveql.literal(key)}={hiveql.literal(value)}"


def _properties(spec: TableSpec, table: TableDescription, name: str) -> list[Difference]:
    """Return the properties and clauses of a table or partition that change what readers see of the map's files."""
    differences = [
        Difference("hive.properties", f"it is {clause} ({columns}): {why}", f"ALTER TABLE {name} {statement}")
        for clause, columns, why, statement in (
            ("clustered by", table.clustered, "Hive expects one file for each bucket", "NOT CLUSTERED"),
            ("sorted by", table.sorted, "Hive expects rows in an order", "NOT SORTED"),
            ("skewed by", table.skewed, "Hive expects rows in directories by value", "NOT SKEWED"),
        )
        if columns
    ]
    if table.clustered:
        differences = differences[:1]  # NOT CLUSTERED ends the order, too
    declared = declared_properties(spec.format, spec.text, spec.storage, spec.columns)
    for suspect in suspect_properties(spec.format, declared, table):
        if not (table.transactional and suspect.key.lower().startswith("transactional")):
            differences.append(Difference("hive.properties", str(suspect), _unset(suspect, name)))
    return differences


def _unset(suspect: SuspectProperty, name: str) -> str:
    if suspect.key == "storage_handler":
        return ""
    return f"ALTER TABLE {name} UNSET {suspect.clause} ({hiveql.literal(suspect.key)})"


def _kind(table: TableDescription) -> list[Difference]:
    if table.kind in _NO_TABLES:
        return [Difference("hive.not_a_table", f"it is a {table.kind.value}")]
    if table.transactional:
        why = "Hive reads only files that its own transactions wrote, so it would not see kafka2hive's"
        return [Difference("hive.transactional", f"it is transactional (ACID): {why}")]
    if table.kind is TableKind.MANAGED:
        why = "DROP TABLE would delete the files, and the ledger would miss them"
        return [Difference("hive.managed", f"it is a managed table: {why}")]
    return []


def _location(spec: TableSpec, table: TableDescription) -> list[Difference]:
    if table.location is None or same_location(table.location, spec.location):
        return []
    return [Difference("hive.location", f"Hive has it at {table.location}, the map at {spec.location}")]


def _format(spec: TableSpec, table: TableDescription) -> list[Difference]:
    stored = stored_as(spec.format, spec.storage)
    difference = format_difference(stored, table)
    if difference is not None:
        return [Difference("hive.format", difference)]
    if stored.hides_case_of_fields and table.ledger is None:
        return [Difference("hive.format", difference) for difference in _structs_of_others(spec)]
    declared = declared_properties(spec.format, spec.text, spec.storage, spec.columns)
    return [
        Difference("hive.format", f"its SerDe property {key} {difference}", _escape_ends(spec, key))
        for key, difference in other_properties(declared, table).items()
    ]


def _escape_ends(spec: TableSpec, key: str) -> str:
    """Return the statement for the one property that the map cannot follow, and that changes no row without line ends."""
    if key != ESCAPED_ENDS or spec.storage is not None:
        return ""
    return f"ALTER TABLE {hiveql.table_name(spec.table)} SET {SERDE} ({_pair(key, 'true')})"


def _structs_of_others(spec: TableSpec) -> list[str]:
    """Return a difference for each column with a struct, whose fields' case another tool has chosen and Hive does not show."""
    files = stored_as(spec.format, spec.storage).name
    return [
        f"column {column.name} holds a struct: if the table was created with capital letters in the fields' names, which Hive"
        f" does not show, Hive would read NULL, because the map's {files} files have these names in lower case"
        for column in spec.columns
        if "struct" in type_words(column.type)
    ]


def _partition_columns(spec: TableSpec, table: TableDescription) -> list[Difference]:
    ours = [column.name.lower() for column in spec.partition_columns]
    theirs = [column.name.lower() for column in table.partition_columns]
    if ours == theirs:
        return _partition_types(spec, table)
    message = f"Hive partitions it by ({', '.join(theirs)}), the map's bucket path by ({', '.join(ours)})"
    return [Difference("hive.partition_columns", message)]


def _partition_types(spec: TableSpec, table: TableDescription) -> list[Difference]:
    """Return the partition columns whose types cannot hold the values of the bucket path.

    Hive itself would refuse such a value only at the registration, after the commit.
    """
    templates = dict(level.partition("=")[::2] for level in spec.bucket_path.split("/"))
    columns = {column.name.lower(): normal_type(column.type) for column in spec.columns}
    return [
        Difference(
            "hive.partition_columns",
            f"Hive's partition column {other.name} is {other.type},"
            f" which cannot hold {template or 'any text'} of the map's bucket path",
        )
        for ours, other in zip(spec.partition_columns, table.partition_columns, strict=True)
        for template in [templates.get(ours.name, "")]
        if not can_hold(normal_type(other.type), template, columns)
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
    return [Difference("hive.columns", difference) for difference in differences]


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
    changes = _column_changes(spec, table)
    if not changes:
        return ""
    cascade = " CASCADE" if spec.partition_columns else ""
    statements = "; ".join(
        f"ALTER TABLE {hiveql.table_name(spec.table)} {change}{cascade}" for change in changes
    )
    if stored_as(spec.format, spec.storage).serde_has_columns:
        statements = f"SET {METASTORE_SCHEMAS}=<its value>,{table.serde}; {statements}"
    return f"{statements} in Hive, or correct the map's columns; with schema_evolution: add a run does this itself"


def _column_changes(spec: TableSpec, table: TableDescription) -> list[str]:
    """Return the changes that give a table or partition the map's columns; none if Hive cannot change one of the types."""
    present = {column.name.lower(): column for column in table.columns}
    changes = []
    for column in spec.columns:
        other = present.get(column.name.lower())
        if other is None:
            changes.append(f"ADD COLUMNS ({column_list([column])})")
        elif not same_type(column.type, other.type):
            if not can_widen(spec, column.type, other.type):
                return []
            changes.append(f"CHANGE COLUMN {hiveql.identifier(column.name)} {column_list([column])}")
    return changes


def can_widen(spec: TableSpec, new: str, old: str) -> bool:
    """Return whether Hive reads existing files correctly after the type of a column changes from `old` to `new`."""
    return FILE_FORMATS[spec.format].is_widened and is_wider(new, old)


def same_type(a: str, b: str) -> bool:
    """Return whether two Hive types are the same, whatever their blanks, case and aliases."""
    return normal_type(a) == normal_type(b)


def normal_type(hive_type: str) -> str:
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

    def __bool__(self) -> bool:
        return bool(self.added or self.widened)


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
