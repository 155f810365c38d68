"""The Tables port over the metastore's own interface."""

import time
from collections.abc import Sequence
from typing import Any, assert_never

from kafka2hive.hive.description import LEDGER_PROPERTY, PURGE_PROPERTY, TableDescription
from kafka2hive.hive.direct.client import MetastoreClient, NoSuchObject, ObjectExists, generated
from kafka2hive.hive.direct.descriptions import (
    fields_of,
    new_table,
    partition_description,
    table_description,
)
from kafka2hive.hive.direct.values import partition_names, partition_values
from kafka2hive.hive.port import AlteredColumns, NewTable, NewView, TableChange
from kafka2hive.hive.session_tables import statements_of
from kafka2hive.hive.stored_as import Reader
from kafka2hive.hive.tables import TableSpec
from kafka2hive.model.metastore import MetastoreRefused, NoSuchTable, StatementFailed
from kafka2hive.model.paths.path import parent

_CHANGED_AT = "transient_lastDdlTime"
"""The table parameter that every change of a table sets, to seconds: what compare-and-set expects."""


class DirectTables:
    """Hive's tables, as the metastore itself has them. See Tables."""

    def __init__(self, client: MetastoreClient) -> None:
        self._client = client

    def describe(self, table: str) -> TableDescription | None:
        """See Tables."""
        try:
            return table_description(self.table(table))
        except NoSuchTable:
            return None

    def describe_partition(self, table: str, path: str) -> TableDescription | None:
        """See Tables."""
        present = self.table(table)
        partitions = self.partitions(present, [path])
        return partition_description(present, partitions[0]) if partitions else None

    def partition_paths(self, table: str) -> frozenset[str]:
        """See Tables."""
        present = self.table(table)
        return frozenset(self._client.call("get_partition_names", present.dbName, present.tableName, -1))

    def tables_in(self, database: str) -> frozenset[str]:
        """See Tables."""
        try:
            return frozenset(name.lower() for name in self._client.call("get_all_tables", database.lower()))
        except NoSuchObject:
            return frozenset()

    def statements(self, change: TableChange) -> tuple[str, ...]:
        """See Tables. They are what HiveServer2 would be sent for the same change."""
        return statements_of(change)

    def change(self, change: TableChange) -> Sequence[str]:
        """See Tables."""
        match change:
            case NewTable(spec, ledger_id):
                return self._create(spec, ledger_id)
            case AlteredColumns():
                return self._alter(change)
            case NewView(spec):
                raise MetastoreRefused(
                    f"the view of {spec.table} is made by HiveServer2: add hive.url to the map"
                )
            case _:
                assert_never(change)

    def reader(self) -> Reader | None:
        """See Tables. Readers have properties, the metastore has none of theirs."""
        return None

    def version(self) -> str | None:
        """See Tables."""
        self._client.call("get_config_value", "hive.metastore.warehouse.dir", "")
        return None

    def close(self) -> None:
        """See Tables."""
        self._client.close()

    def table(self, name: str) -> Any:
        """Return a table as the metastore has it. Raises NoSuchTable, MetastoreUnavailable, MetastoreRefused."""
        database, _, table = name.lower().partition(".")
        request = generated().ttypes.GetTableRequest(dbName=database, tblName=table)
        try:
            # Hive 4 has no get_table any more; get_table_req is in every Hive since 2.3
            return self._client.call("get_table_req", request).table
        except NoSuchObject as error:
            raise NoSuchTable(str(error)) from None

    def partitions(self, table: Any, paths: Sequence[str]) -> list[Any]:
        """Return those partitions of a table that exist, in no order. Raises MetastoreUnavailable, MetastoreRefused."""
        name = f"{table.dbName}.{table.tableName}"
        keys = table.partitionKeys
        names = {
            known for path in paths for known in partition_names(keys, partition_values(name, keys, path))
        }
        found: list[Any] = self._client.call(
            "get_partitions_by_names", table.dbName, table.tableName, sorted(names)
        )
        return found

    def _create(self, spec: TableSpec, ledger_id: str) -> Sequence[str]:
        """Create database and table, unless they exist. A crash between them leaves an empty database."""
        done = []
        if self._create_database(spec):
            done.append(f"created database {spec.table.partition('.')[0]}")
        properties = {LEDGER_PROPERTY: ledger_id, PURGE_PROPERTY: "false"}
        try:
            self._client.call("create_table", new_table(spec, properties, self._client.user))
            done.append(f"created table at {spec.location}")
        except ObjectExists:
            done.append("the table exists already")
        except NoSuchObject as error:
            raise StatementFailed(f"the database was dropped meanwhile: {error}") from None
        return done

    def _create_database(self, spec: TableSpec) -> bool:
        ttypes = generated().ttypes
        database, directory = spec.table.partition(".")[0].lower(), parent(spec.location)
        try:
            self._client.call("get_database", database)
        except NoSuchObject:
            pass
        else:
            return False
        location = directory if directory.endswith(f"/{database}.db") else None
        owner = {"ownerName": self._client.user, "ownerType": ttypes.PrincipalType.USER}
        try:
            self._client.call(
                "create_database",
                ttypes.Database(name=database, locationUri=location, parameters={}, **owner),
            )
        except ObjectExists:
            return False
        return True

    def _alter(self, change: AlteredColumns) -> Sequence[str]:
        """Change the columns by compare-and-set: the metastore refuses if another client has changed the table meanwhile.

        The request is not repeated, because a second one would be from a stale copy; the caller compares the table again.
        """
        table = self.table(change.spec.table)
        before = table.parameters.get(_CHANGED_AT, "")
        widened = {field.name: field.type for field in fields_of(change.alterations.widened)}
        for field in table.sd.cols:
            field.type = widened.get(field.name.lower(), field.type)
        present = {field.name.lower() for field in table.sd.cols}
        added = [field for field in fields_of(change.alterations.added) if field.name not in present]
        table.sd.cols = [*table.sd.cols, *added]
        # later than before, even within one second: whoever read the same parameter is refused
        table.parameters[_CHANGED_AT] = str(max(int(time.time()), int(before or 0) + 1))
        context = {"DO_NOT_UPDATE_STATS": "true"}
        if before:
            context |= {"expected_parameter_key": _CHANGED_AT, "expected_parameter_value": before}
        if table.partitionKeys:
            context["CASCADE"] = "true"
        self._client.call(
            "alter_table_with_environment_context",
            table.dbName,
            table.tableName,
            table,
            generated().ttypes.EnvironmentContext(properties=context),
            is_repeatable=False,
        )
        return [
            *(f"changed column {name} to {kind}" for name, kind in widened.items()),
            *(f"added column {field.name} {field.type}" for field in added),
        ]
