"""The Tables port over a session of HiveServer2: statements, and what they answer."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, assert_never

from kafka2hive.config.file_formats import FILE_FORMATS
from kafka2hive.hive import hiveql
from kafka2hive.hive.check import alter_statements
from kafka2hive.hive.description import TableDescription, parse_description
from kafka2hive.hive.port import AlteredColumns, NewTable, NewView, TableChange
from kafka2hive.hive.stored_as import METASTORE_SCHEMAS, SKIPS_CONVERSION, STORED_AS, Reader
from kafka2hive.hive.tables import create_statements, view_statements
from kafka2hive.model.metastore import MetastoreRefused, NoSuchPartition, NoSuchTable

# Hive 4 has this key, and has read Parquet timestamps from INT64 since the same release. Distributions of Hive 3 may have both.
_WRITES_INT64 = "hive.parquet.write.int64.timestamp"


class Session(Protocol):
    """One session of HiveServer2, which connects at the first statement; see HiveSession."""

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements one after another and return the rows of the last. Raises MetastoreUnavailable, MetastoreRefused."""
        ...

    def close(self) -> None: ...


class SessionTables:
    """Hive's tables, as a session sees and changes them. See Tables."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def describe(self, table: str) -> TableDescription | None:
        """See Tables."""
        try:
            return parse_description(self._session.run(f"DESCRIBE FORMATTED {hiveql.table_name(table)}"))
        except NoSuchTable:
            return None

    def describe_partition(self, table: str, path: str) -> TableDescription | None:
        """See Tables."""
        statement = f"DESCRIBE FORMATTED {hiveql.table_name(table)} {hiveql.partition_spec(path)}"
        try:
            return parse_description(self._session.run(statement))
        except NoSuchPartition:
            return None

    def partition_paths(self, table: str) -> frozenset[str]:
        """See Tables."""
        rows = self._session.run(f"SHOW PARTITIONS {hiveql.table_name(table)}")
        return frozenset(str(row[0]) for row in rows)

    def tables_in(self, database: str) -> frozenset[str]:
        """See Tables."""
        try:
            rows = self._session.run(f"SHOW TABLES IN {hiveql.identifier(database)}")
        except NoSuchTable:
            return frozenset()
        # the Spark Thrift Server returns (database, table, is temporary)
        return frozenset(str(row[1] if len(row) > 1 else row[0]).lower() for row in rows)

    def statements(self, change: TableChange) -> tuple[str, ...]:
        """See Tables. A statement that sets a property of the session comes first, and holds for each other one."""
        setting = self._setting_to_alter(change.before) if isinstance(change, AlteredColumns) else None
        return (*([setting] if setting else ()), *statements_of(change))

    def change(self, change: TableChange) -> Sequence[str]:
        """See Tables. Each statement is run in one session with the settings before it."""
        statements = self.statements(change)
        for request in _requests(statements):
            self._session.run(*request)
        return statements

    def reader(self) -> Reader:
        """See Tables. A server that does not tell its properties is taken for a new one."""
        return Reader(
            is_old=self._property(_WRITES_INT64) == f"{_WRITES_INT64} is undefined",
            shifts_int96=self._property(SKIPS_CONVERSION) == f"{SKIPS_CONVERSION}=false",
            ignores_case=frozenset(
                name
                for name, format in FILE_FORMATS.items()
                if (key := format.older_hive.case_property) and self._property(key) == f"{key}=false"
            ),
        )

    def version(self) -> str:
        """See Tables."""
        ((version, *_),) = self._session.run("SELECT version()")
        return str(version)

    def close(self) -> None:
        """See Tables."""
        self._session.close()

    def _setting_to_alter(self, table: TableDescription) -> str | None:
        """Return the statement that must precede ALTER TABLE in its session; None if Hive alters the table without.

        Hive takes the columns of a table of JSON from its SerDe unless the SerDe is in a list, and Hive 4 then refuses to add
        one: it sees each column's type change. Raises MetastoreUnavailable.
        """
        if not any(
            stored.serde_has_columns and table.serde in stored.serdes for stored in STORED_AS.values()
        ):
            return None
        answer = self._property(METASTORE_SCHEMAS)
        key, _, present = answer.partition("=")
        if key != METASTORE_SCHEMAS or table.serde in present.split(","):
            return None
        return f"SET {key}={present},{table.serde}"

    def _property(self, key: str) -> str:
        """Return Hive's answer `key=value` or `key is undefined`; "" if it is another one."""
        try:
            rows = self._session.run(f"SET {key}")
        except MetastoreRefused:
            return ""
        return str(rows[0][0]) if len(rows) == 1 and len(rows[0]) == 1 else ""


def statements_of(change: TableChange) -> tuple[str, ...]:
    """Return the statements of a change, without settings of the session."""
    match change:
        case NewTable(spec, ledger_id):
            return create_statements(spec, ledger_id)
        case AlteredColumns(spec, _, alterations):
            return alter_statements(spec, alterations)
        case NewView(spec):
            return view_statements(spec)
        case _:
            assert_never(change)


def _requests(statements: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the statements that must run in one session, in order."""
    settings = tuple(statement for statement in statements if statement.startswith("SET "))
    for statement in statements[len(settings) :]:
        yield (*settings, statement)
