"""Databases and tables: created when the map asks for it, and described."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kafka2hive.config.keys import Column, FileFormat, TextOptions
from kafka2hive.config.keys.bucket_path import read_bucket_path
from kafka2hive.hive import hiveql as text
from kafka2hive.hive.description import LEDGER_PROPERTY, TableDescription, parse_description
from kafka2hive.hive.port import Session
from kafka2hive.hive.session import NoSuchTable
from kafka2hive.hive.stored_as import storage_clause
from kafka2hive.model.hive_types import with_quoted_fields
from kafka2hive.model.paths.path import parent
from kafka2hive.model.snapshot import ComparedTable
from kafka2hive.plugins import HiveStorage


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A table as the map wants it. `columns` without partition columns, metadata columns among them.

    `location` is the full path of the table's directory; `comment` is Hive's. `bucket_path` is the template of
    the values of the partition columns; where it is unknown, their columns in Hive must hold any text. `storage`: how
    Hive reads the files of a plug-in.
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


def compared_table(spec: TableSpec) -> ComparedTable:
    """What a ledger keeps when Hive's table matched: of two equal ones, a comparison that holds for one holds for the other."""

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
    return spec.format if spec.format != "text" else f"text {spec.text}"


def partition_columns(path: str, types: Sequence[Column] = ()) -> tuple[Column, ...]:
    """The partition columns of a bucket path template; string unless `types` has another type for the name."""
    given = {column.name: column.type for column in types}
    return tuple(Column(name, given.get(name, "string")) for name in read_bucket_path(path).names)


def create_statements(spec: TableSpec, ledger_id: str) -> tuple[str, str]:
    """The database and an external table exist afterwards; those of these names are left as they are.

    Dropping the table leaves the files. Where the table lies in a directory `<database>.db`, that is the database's
    location: tasks may have created it already, and Hive 4 does not create a database whose default directory exists
    ("Unable to create database managed directory"), but takes one that is named.
    """
    database, directory = spec.table.partition(".")[0], parent(spec.location)
    location = f" LOCATION {text.literal(directory)}" if directory.endswith(f"/{database}.db") else ""
    make_database = f"CREATE DATABASE IF NOT EXISTS {text.identifier(database)}{location}"
    return make_database, create_statement(spec, ledger_id)


def create_statement(spec: TableSpec, ledger_id: str) -> str:
    parts = [f"CREATE EXTERNAL TABLE IF NOT EXISTS {text.table_name(spec.table)} ({declared(spec.columns)})"]
    if spec.comment:
        parts.append(f"COMMENT {text.literal(spec.comment)}")
    if spec.partition_columns:
        parts.append(f"PARTITIONED BY ({declared(spec.partition_columns)})")
    parts.append(
        f"{storage_clause(spec.format, spec.text, spec.storage)} LOCATION {text.literal(spec.location)}"
    )
    properties = {LEDGER_PROPERTY: ledger_id, "external.table.purge": "false"}
    pairs = ", ".join(f"{text.literal(key)}={text.literal(value)}" for key, value in properties.items())
    parts.append(f"TBLPROPERTIES ({pairs})")
    return " ".join(parts)


def describe(session: Session, table: str) -> TableDescription | None:
    """The table as Hive knows it, None when it or its database does not exist.

    Raises MetastoreUnavailable, MetastoreRefused.
    """
    try:
        return parse_description(session.run(f"DESCRIBE FORMATTED {text.table_name(table)}"))
    except NoSuchTable:
        return None


def declared(columns: Sequence[Column]) -> str:
    """Names and types as a statement needs them."""
    return ", ".join(
        f"{text.identifier(column.name)} {with_quoted_fields(column.type)}" for column in columns
    )
