"""A table's SELECT, as far as it can be checked without Spark: what it reads and what it fills are checked apart."""

import re
from dataclasses import replace

from kafka2hive.config.checks.columns import check_metadata
from kafka2hive.config.checks.table_options import (
    CheckedTable,
    behind_sql,
    declared_columns,
)
from kafka2hive.config.values.columns import COORDINATES, RecordPart
from kafka2hive.config.values.table import Tombstones

_SELECT = re.compile(r"\s*(select|from)\b", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FULL_PATH = re.compile(r"[a-z][a-z0-9+.-]*://")
_RECORDS = re.compile(r"\brecords\b", re.IGNORECASE)


def sides_of_sql(checked: CheckedTable) -> tuple[CheckedTable, CheckedTable]:
    """The table as its records are decoded, and as its SELECT fills it; without sql both are the table itself."""
    table = checked.table
    if table.sql is None:
        for key in ("records", "lookups", "udfs"):
            if getattr(table, key):
                checked.add(checked.path(key), "is used with sql only")
        if table.shuffle != "none":
            checked.add(checked.path("shuffle"), "is used with sql only: write sql: SELECT * FROM records")
        return checked, checked
    _check_statement(checked, table.sql)
    _check_lookups(checked)
    if table.tombstones is Tombstones.WRITE:
        checked.add(
            checked.path("tombstones"), "a record without a value is no row for sql: use tombstones skip"
        )
    if not table.records:
        return checked, checked
    if not table.columns:
        checked.add(checked.path("columns"), "are required with records: sql makes them")
    decoded = checked.decoded()
    filled = replace(checked, table=behind_sql(table))
    for column in declared_columns(filled.table):
        if column.path is not None or column.unit is not None or column.part is not RecordPart.VALUE:
            checked.add(
                checked.path("columns", column.place),
                "sql fills it: only records have from, header, key and unit",
            )
    check_metadata(decoded)
    return decoded, filled


def _check_lookups(checked: CheckedTable) -> None:
    for name, location in checked.table.lookups:
        path = checked.path("lookups", name)
        if not _NAME.fullmatch(name) or name.lower() == "records":
            checked.add(path, "a lookup's name has letters, digits and _, and is not records")
        elif not _FULL_PATH.match(location):
            checked.add(path, "expected a full path, such as hdfs://namenode:8020/dimensions/airlines")


def _check_statement(checked: CheckedTable, text: str) -> None:
    path = checked.path("sql")
    if not _SELECT.match(text):
        checked.add(path, "expected one SELECT .. FROM records")
    elif not _RECORDS.search(text):
        checked.add(path, "the SELECT reads nothing: the decoded records are called records")
    if COORDINATES in text.lower():
        checked.add(path, f"{COORDINATES} is the name of a column of ours")
