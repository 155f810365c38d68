"""Tables and views in Hive: what the map wants, the statements that create it, and how Hive describes it."""

import ast
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kafka2hive.config.keys import Column, FileFormat, TextOptions
from kafka2hive.config.keys.bucket_path import read_bucket_path
from kafka2hive.hive import hiveql
from kafka2hive.hive.description import (
    LATEST_PROPERTY,
    LEDGER_PROPERTY,
    PURGE_PROPERTY,
)
from kafka2hive.hive.latest_view import LatestView, latest_select
from kafka2hive.hive.stored_as import STORED_AS, storage_clause
from kafka2hive.model.hive_types import with_quoted_fields
from kafka2hive.model.paths.path import parent
from kafka2hive.model.snapshot import ComparedTable
from kafka2hive.plugins import HiveStorage

VIEW_SUFFIX = "_latest"


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A table as the map wants it. `columns` include metadata columns, but not partition columns.

    `location` is the full path of the table's directory, `comment` is shown by Hive. `bucket_path` is the template of the
    partition columns' values; if it is empty, those columns need a type that holds any text. `storage` says how Hive
    reads a plug-in's files. `latest` is the view of a change log's newest states.
    """

    table: str
    columns: tuple[Column, ...]
    partition_columns: tuple[Column, ...]
    location: str
    comment: str = ""
    bucket_path: str = ""
    format: FileFormat = "parquet"
    text: TextOptions = field(default_factory=TextOptions)
    storage: HiveStorage | None = None
    latest: LatestView | None = None


def compared_table(spec: TableSpec) -> ComparedTable:
    """Return the value that the ledger records once Hive's table matches `spec`.

    If the ledger already has the same value, the table is not compared again.
    """

    def text_of(columns: Sequence[Column]) -> str:
        return ", ".join(f"{column.name} {column.type}" for column in columns)

    return ComparedTable(
        table=spec.table,
        location=spec.location,
        format=_format_text(spec),
        columns=text_of(spec.columns),
        partition_columns=text_of(spec.partition_columns),
    )


def _format_text(spec: TableSpec) -> str:
    if spec.storage is not None:
        return f"{spec.format} {spec.storage}"
    return f"{spec.format} {spec.text}" if STORED_AS[spec.format].has_row_format else spec.format


def written_text(compared: ComparedTable) -> TextOptions | None:
    """Return how lines of delimited text were written into a table that was compared so; None if it had another format."""
    options = compared.format.partition(" ")[2]
    if not options.startswith(TextOptions.__name__):
        return None
    call = ast.parse(options, mode="eval").body
    assert isinstance(call, ast.Call)
    return TextOptions(**{str(word.arg): ast.literal_eval(word.value) for word in call.keywords})


def spec_as_compared(spec: TableSpec, compared: ComparedTable) -> TableSpec | None:
    """Return the table that the map required when it was compared so; None if that cannot be told.

    If the map has changed since, the result has no columns, so that Hive's are not compared.
    """
    if compared == compared_table(spec):
        return spec
    if compared.format == _format_text(spec):
        return replace(spec, columns=())
    text = written_text(compared)
    for name in STORED_AS:
        if compared.format.partition(" ")[0] == name:
            return replace(spec, columns=(), format=name, text=text or TextOptions(), storage=None)
    return None


def partition_columns(path: str) -> tuple[Column, ...]:
    """Return the partition columns of a bucket path template, all of type string."""
    return tuple(Column(name, "string") for name in read_bucket_path(path).names)


def create_statements(spec: TableSpec, ledger_id: str) -> tuple[str, str]:
    """Return the statements that create the database and an external table; they leave existing ones unchanged.

    Dropping the table keeps the files. If the table's parent directory is `<database>.db`, the statement gives that directory
    as the database's location: tasks may have created it already, and Hive 4 refuses a database whose default directory
    exists ("Unable to create database managed directory") unless the statement names the directory.
    """
    database, directory = spec.table.partition(".")[0], parent(spec.location)
    location = f" LOCATION {hiveql.literal(directory)}" if directory.endswith(f"/{database}.db") else ""
    make_database = f"CREATE DATABASE IF NOT EXISTS {hiveql.identifier(database)}{location}"
    return make_database, create_statement(spec, ledger_id)


def create_statement(spec: TableSpec, ledger_id: str) -> str:
    """Return CREATE TABLE for the table of the map."""
    parts = [
        f"CREATE EXTERNAL TABLE IF NOT EXISTS {hiveql.table_name(spec.table)} ({column_list(spec.columns)})"
    ]
    if spec.comment:
        parts.append(f"COMMENT {hiveql.literal(spec.comment)}")
    if spec.partition_columns:
        parts.append(f"PARTITIONED BY ({column_list(spec.partition_columns)})")
    parts.append(
        f"{storage_clause(spec.format, spec.text, spec.storage)} LOCATION {hiveql.literal(spec.location)}"
    )
    properties = {LEDGER_PROPERTY: ledger_id, PURGE_PROPERTY: "false"}
    pairs = ", ".join(f"{hiveql.literal(key)}={hiveql.literal(value)}" for key, value in properties.items())
    parts.append(f"TBLPROPERTIES ({pairs})")
    return " ".join(parts)


def column_list(columns: Sequence[Column]) -> str:
    """Return the columns' names and types, quoted for a statement."""
    return ", ".join(
        f"{hiveql.identifier(column.name)} {with_quoted_fields(column.type)}" for column in columns
    )


def view_statements(spec: TableSpec) -> tuple[str, ...]:
    """Return the statement that makes or replaces the table's view; empty if the map wants none."""
    return () if spec.latest is None else (create_view(spec.table, select_of(spec)),)


def select_of(spec: TableSpec) -> str:
    """Return the SELECT of the view that the table must have."""
    assert spec.latest is not None
    return latest_select(spec.table, spec.columns + spec.partition_columns, spec.latest)


def view_name(table: str) -> str:
    return table + VIEW_SUFFIX


def view_fingerprint(select: str) -> str:
    """Return the fingerprint that the view's properties hold, so that a run replaces the view after a change of the map."""
    return hashlib.sha256(select.encode()).hexdigest()[:32]


def create_view(table: str, select: str) -> str:
    """Return the statement that makes or replaces the view."""
    comment = hiveql.literal(
        f"newest state of each row of {table}, for Hive and Spark (Trino cannot read it)"
    )
    pair = f"{hiveql.literal(LATEST_PROPERTY)}={hiveql.literal(view_fingerprint(select))}"
    name = hiveql.table_name(view_name(table))
    return f"CREATE OR REPLACE VIEW {name} COMMENT {comment} TBLPROPERTIES ({pair}) AS {select}"
