"""The rules of a table's columns: names, types, sources, units, metadata, keys and headers."""

import json
import re

from kafka2hive.config.keys.columns import ColumnKeys, RecordPart
from kafka2hive.config.keys.json_path import path_text
from kafka2hive.config.keys.source import array_path, change_log_of
from kafka2hive.config.rules.leeway import check_leeway
from kafka2hive.config.rules.table_options import (
    DeclaredColumn,
    TableCheck,
    columns_of,
    declared_columns,
    metadata_names,
)
from kafka2hive.config.rules.times import check_times
from kafka2hive.config.yaml.problems import Path
from kafka2hive.model.hive_types import has_parts
from kafka2hive.model.literals import is_ordered, is_text, literal

_NAMED_BY_ID = ("avro", "protobuf")
"""Key formats whose records name their schema in the registry."""
_OF_VALUE = (RecordPart.VALUE, RecordPart.MESSAGE)
"""The parts of a record that the decoder of its value reads."""
_COLUMN = re.compile(r"[A-Za-z0-9_]{1,128}")
_PLAIN_TYPES = re.compile(
    r"string|bigint|int|smallint|tinyint|double|float|boolean|binary|date|timestamp|decimal\(10,\s?2\)"
)


def check_columns(check: TableCheck, has_hive: bool) -> None:
    """Check names, types and sources of the declared columns; a table without columns takes them from Hive."""
    table = check.table
    seen: set[str] = set()
    for column in declared_columns(table) if table.columns else ():
        name, path = column.name, check.path("columns", column.place)
        if not _COLUMN.fullmatch(name):
            check.add(
                path, f"a column's name has at most 128 letters, digits and _{_rename_hint(check, column)}"
            )
        elif name.lower() in seen:
            check.add(path, "the column is repeated (Hive ignores case)")
        else:
            _check_type(check, path, column.type)
            _check_source(check, path, column)
            if column.part is RecordPart.MESSAGE:
                _check_around_array(check, (*path, "message"), column)
        seen.add(name.lower())
    of_value = [column for column in declared_columns(table) if column.part is RecordPart.VALUE]
    if table.format == "raw" and [c.type.lower() in ("binary", "string") for c in of_value] != [True]:
        message = (
            "a raw table has exactly one column for the value, binary or string (default: value: binary)"
        )
        check.add(check.path("columns"), message)
    if not columns_of(table) and (table.create or not has_hive):
        why = "to create it" if table.create else "because there is no hive section to read them from"
        check.add(("tables", check.index), f"columns are required {why}")


def _rename_hint(check: TableCheck, column: DeclaredColumn) -> str:
    """Return how to declare a column whose JSON key is not a valid column name in Hive; otherwise an empty string."""
    legal = re.sub(r"[^a-z0-9]+", "_", column.name.lower()).strip("_")
    if check.table.format != "json" or column.path is not None or not _COLUMN.fullmatch(legal):
        return ""
    kind = json.dumps(column.type) if "," in column.type else column.type
    value = f"type: {kind}, from: {json.dumps(path_text((column.name,)), ensure_ascii=False)}"
    is_list = isinstance(column.place, int)
    return f"; write {f'{{name: {legal}, {value}}}' if is_list else f'{legal}: {{{value}}}'}"


def _check_source(check: TableCheck, path: Path, column: DeclaredColumn) -> None:
    """Check where the column's value comes from, its unit and its leeway."""
    if column.unit is not None and column.type.strip().lower() not in ("timestamp", "date"):
        message = f"is used only with a timestamp or a date; {column.name} is {column.type}"
        check.add((*path, "unit"), message)
    if column.leeway.fraction != "exact" and column.type.strip().lower() != "timestamp":
        check.add((*path, "fraction"), f"is used only with a timestamp; {column.name} is {column.type}")
    check_times(check, path, column)
    if column.leeway.decimals != "text":
        _check_decimals(check, (*path, "decimals"), column)
    if column.leeway.unknown_enum != "refuse":
        _check_unknown_enum(check, (*path, "unknown_enum"), column)
    check_leeway(check, path, column)
    if column.leeway.default is not None:
        _check_default(check, (*path, "default"), column, column.leeway.default)
    if column.part is not RecordPart.VALUE:
        return
    if column.path is not None and check.table.format == "csv":
        check.add(
            (*path, "from"), "is not used with format csv: columns take the fields in the order of the map"
        )
    if column.other_paths and change_log_of(check.table.source) is not None:
        check.add((*path, "from"), "a column of a change log has only one path")
    if (column.path is not None or column.unit is not None) and check.table.format == "raw":
        check.add(path, "from and unit cannot be used with format raw, whose column holds the whole value")
        return
    if column.is_whole:
        _check_whole(check, path, column)
        return
    try:
        paths = [column.keys, *column.full_leeway.others]
        if len(set(paths)) < len(paths):
            check.add((*path, "from"), "a path is repeated")
    except ValueError as error:
        check.add((*path, "from"), str(error))


def _check_whole(check: TableCheck, path: Path, column: DeclaredColumn) -> None:
    """Check a column that takes the whole value of each record."""
    if column.other_paths:
        check.add((*path, "from"), "$ is the whole value and always there: it needs no further paths")
    elif change_log_of(check.table.source) is not None:
        check.add(
            (*path, "from"), "$ is not used with change logs, whose columns come from the row in the envelope"
        )
    elif column.leeway.json == "refuse" and check.table.format != "avro":
        check.add((*path, "from"), "$ is the whole value, which only a string with json: text takes")


def _check_around_array(check: TableCheck, path: Path, column: DeclaredColumn) -> None:
    """Check the path of a column around the array whose elements are rows."""
    try:
        array, keys = array_path(check.table.rows), column.keys
    except ValueError as error:
        check.add(path, str(error))
        return
    if not array:
        check.add(path, 'is used only with rows: {array: ..}, such as rows: {array: "$.Records"}')
    elif keys[: len(array)] == array:
        check.add(
            path, f"leads to the array {path_text(array)}, whose elements the other columns take: use from"
        )


def _check_decimals(check: TableCheck, path: Path, column: DeclaredColumn) -> None:
    table = check.table
    if change_log_of(table.source) is not None:
        check.add(path, "a change log sets this for the whole row: source: {debezium: {decimals: base64}}")
    elif column.part not in _OF_VALUE or table.format not in ("json", "json_schema"):
        check.add(path, "base64 applies only to fields of values in json and json_schema")
    elif not column.type.strip().lower().startswith("decimal"):
        check.add(path, f"is used only with a decimal; {column.name} is {column.type}")


def _check_unknown_enum(check: TableCheck, path: Path, column: DeclaredColumn) -> None:
    table = check.table
    format = {RecordPart.VALUE: table.format, RecordPart.KEY: table.key_format}.get(column.part)
    if format != "protobuf":
        check.add(path, "applies only to Protobuf; in other formats, enum values are always names")
    elif column.type.strip().lower() != "string":
        check.add(path, f"is used only with a string; {column.name} is {column.type}")


def _check_default(check: TableCheck, path: Path, column: DeclaredColumn, text: str) -> None:
    table = check.table
    if column.part not in _OF_VALUE or table.format in ("raw", "csv", "plugin"):
        check.add(path, "applies only to fields of values in json, json_schema, avro and protobuf")
    elif change_log_of(table.source) is not None:
        check.add(path, "cannot be used with change logs: a missing row image would become a row of defaults")
    elif column.unit is not None:
        check.add(path, "cannot be used on columns with a unit")
    elif fault := _default_fault(column.type, text):
        check.add(path, fault)


def _default_fault(kind: str, text: str) -> str:
    """Return why a default is not a value of Hive's type `kind`, or an empty string if it is one."""
    if (
        not (is_text(kind) or kind.strip().lower() == "boolean" or is_ordered(kind))
        or kind.strip().lower() == "timestamp"
    ):
        return f"a default must be a string, number, boolean or date, not {kind}"
    try:
        literal(kind, text)
    except ValueError as error:
        return str(error)
    return ""


def _check_type(check: TableCheck, path: Path, text: str) -> None:
    if _PLAIN_TYPES.fullmatch(text):
        return  # most maps have only such types, and the parser below imports Arrow, which is slow
    from kafka2hive.model.hive_type_parser import HiveTypeError
    from kafka2hive.model.hive_types import parse_hive_type

    try:
        parse_hive_type(text)
    except HiveTypeError as error:
        advice = f"; {error.suggestion}" if error.suggestion and not error.nearest else ""
        check.add(path, f"{error.message}{advice}", error.nearest)


def check_metadata(check: TableCheck) -> None:
    """Check the names of the metadata columns."""
    columns = {name.lower() for name in columns_of(check.table)}
    seen: set[str] = set()
    for position, (kind, name) in enumerate(metadata_names(check.table.metadata)):
        path = check.path("metadata", kind.value if isinstance(check.table.metadata, dict) else position)
        if not _COLUMN.fullmatch(name):
            check.add(path, "a column's name has at most 128 letters, digits and _")
        elif name.lower() in columns:
            check.add(
                path, f"the table already has a column {name}: choose another name, {{{kind.value}: ..}}"
            )
        elif name.lower() in seen:
            check.add(path, f"the name {name} is repeated")
        seen.add(name.lower())


def check_record_parts(check: TableCheck, has_registry: bool) -> None:
    """Check which part of the record fills each column: its value, its key or a header."""
    table = check.table
    columns = declared_columns(table) if table.columns else []
    for column in columns:
        path = check.path("columns", column.place)
        sources = _source_keys(check, column)
        if len(sources) > 1:
            check.add(path, f"has {' and '.join(sources)}: keep one")
        elif column.part is RecordPart.KEY:
            _check_key(check, path, column)
        elif column.part is RecordPart.HEADER and has_parts(column.type):
            check.add((*path, "header"), f"a header holds a single value, but {column.name} is {column.type}")
    if columns and all(column.part is not RecordPart.VALUE for column in columns):
        check.add(check.path("columns"), "at least one column must come from the record's value")
    has_keys = any(column.part is RecordPart.KEY for column in columns)
    if has_keys and table.key_format in _NAMED_BY_ID and not has_registry:
        message = f"{table.key_format} needs a registry section: a key names its schema by id"
        check.add(check.path("key_format"), message)
    if not has_keys and "key_format" in check.map_keys.given:
        check.add(
            check.path("key_format"), "is used only if a column has key, as in {type: bigint, key: $.id}"
        )


def uses_registry_for_keys(check: TableCheck) -> bool:
    """Return whether the records' keys name their schemas in the registry."""
    keys = any(column.part is RecordPart.KEY for column in declared_columns(check.before_sql().table))
    return keys and check.table.key_format in _NAMED_BY_ID


def _source_keys(check: TableCheck, column: DeclaredColumn) -> list[str]:
    """Return the keys of the map that say where the column's value comes from."""
    keys: object
    if isinstance(check.table.columns, dict):
        keys = check.table.columns.get(str(column.place))
    else:
        keys = check.table.columns[column.place] if isinstance(column.place, int) else None
    if not isinstance(keys, ColumnKeys):
        return []
    sources = {"from": keys.path, "header": keys.header, "key": keys.key, "message": keys.message}
    return [name for name, value in sources.items() if value is not None]


def _check_key(check: TableCheck, path: Path, column: DeclaredColumn) -> None:
    try:
        column.keys  # noqa: B018  may raise
    except ValueError as error:
        check.add((*path, "key"), str(error))
        return
    is_raw = check.table.key_format == "raw"
    if is_raw and not column.is_whole:
        check.add(
            (*path, "key"), "without key_format, the column holds the whole key: write $, or set key_format"
        )
    elif (
        not is_raw and column.is_whole and column.leeway.json == "refuse" and check.table.key_format != "avro"
    ):
        check.add(
            (*path, "key"),
            "$ names the whole key, which needs key_format raw, or a string with json: text:"
            " write the path of a member, such as $.id",
        )
    elif is_raw and has_parts(column.type):
        check.add((*path, "key"), f"a raw key holds a single value, but {column.name} is {column.type}")
