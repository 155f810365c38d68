"""Columns that are taken from a record's key or headers, and the format of its key."""

from kafka2hive.config.checks.table_options import CheckedTable, DeclaredColumn, declared_columns
from kafka2hive.config.problems import Path
from kafka2hive.config.values.columns import ColumnKeys, RecordPart

NAMED_BY_ID = ("avro", "protobuf")
"""Formats of keys whose schemas are the registry's."""


def check_record_parts(checked: CheckedTable, has_registry: bool) -> None:
    table = checked.table
    columns = declared_columns(table) if table.columns else []
    for column in columns:
        path = checked.path("columns", column.place)
        if len(_ways(checked, column)) > 1:
            checked.add(path, f"has {' and '.join(_ways(checked, column))}: keep one")
        elif column.part is RecordPart.KEY:
            _check_key(checked, path, column)
        elif column.part is RecordPart.HEADER and has_parts(column.type):
            checked.add((*path, "header"), f"a header is one text, {column.name} is {column.type}")
    if columns and all(column.part is not RecordPart.VALUE for column in columns):
        checked.add(checked.path("columns"), "at least one column comes from the record's value")
    has_keys = any(column.part is RecordPart.KEY for column in columns)
    if has_keys and table.key_format in NAMED_BY_ID and not has_registry:
        message = f"{table.key_format} needs a registry section: a key names its schema by id"
        checked.add(checked.path("key_format"), message)
    if not has_keys and "key_format" in checked.own.given:
        checked.add(checked.path("key_format"), "is used with columns that have key: {type: .., key: $.id}")


def uses_registry_for_keys(checked: CheckedTable) -> bool:
    keys = any(column.part is RecordPart.KEY for column in declared_columns(checked.decoded().table))
    return keys and checked.table.key_format in NAMED_BY_ID


def _ways(checked: CheckedTable, column: DeclaredColumn) -> list[str]:
    """The keys that say where the column's value stands."""
    written: object
    if isinstance(checked.table.columns, dict):
        written = checked.table.columns.get(str(column.place))
    else:
        written = checked.table.columns[column.place] if isinstance(column.place, int) else None
    if not isinstance(written, ColumnKeys):
        return []
    given = {"from": written.path, "header": written.header, "key": written.key}
    return [name for name, value in given.items() if value is not None]


def _check_key(checked: CheckedTable, path: Path, column: DeclaredColumn) -> None:
    try:
        column.keys  # noqa: B018  for what it raises
    except ValueError as error:
        checked.add((*path, "key"), str(error))
        return
    is_raw = checked.table.key_format == "raw"
    if is_raw and not column.is_whole_key:
        checked.add((*path, "key"), "a key without key_format is taken whole: write $, or set key_format")
    elif not is_raw and column.is_whole_key:
        checked.add(
            (*path, "key"), "$ is for key_format raw: write the path to a member of the key, such as $.id"
        )
    elif is_raw and has_parts(column.type):
        checked.add((*path, "key"), f"a raw key is one text, {column.name} is {column.type}")


def has_parts(kind: str) -> bool:
    return kind.strip().lower().startswith(("array", "map", "struct"))
