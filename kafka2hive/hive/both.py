"""The port of Hive over both interfaces: HiveServer2 has tables and views, the metastore has partitions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kafka2hive.hive.description import TableDescription
from kafka2hive.hive.port import Hive, TableChange, Tables
from kafka2hive.hive.stored_as import Reader
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import ChangeAnswer, LocationAnswer


class HiveByBoth:
    """Each request goes to one interface. `server` and `metastore` must lead to the same Hive."""

    def __init__(self, server: Hive, metastore: Hive) -> None:
        self._server = server
        self._metastore = metastore
        self.tables = TablesByBoth(server.tables, metastore.tables)

    def ask(self) -> None:
        """Log in to both. Raises MetastoreUnavailable."""
        self._server.ask()
        self._metastore.ask()

    def close(self) -> None:
        """Close both connections. Never raises."""
        self._server.close()
        self._metastore.close()

    @property
    def look_size(self) -> int:
        """See Metastore."""
        return self._metastore.look_size

    def add_partitions(self, partitions: Sequence[HivePartition]) -> Mapping[HivePartition, str]:
        """See Metastore."""
        return self._metastore.add_partitions(partitions)

    def location(self, partition: HivePartition) -> str | None:
        """See Metastore."""
        return self._metastore.location(partition)

    def locations(self, partitions: Iterable[HivePartition]) -> Iterator[LocationAnswer]:
        """See Metastore."""
        return self._metastore.locations(partitions)

    def set_locations(self, partitions: Iterable[HivePartition]) -> Iterator[ChangeAnswer]:
        """See Metastore."""
        return self._metastore.set_locations(partitions)

    def drop_partitions(self, partitions: Iterable[HivePartition]) -> Iterator[ChangeAnswer]:
        """See PartitionDropper."""
        return self._metastore.drop_partitions(partitions)


class TablesByBoth:
    """Tables by HiveServer2, the descriptions of their partitions by the metastore. See Tables."""

    def __init__(self, server: Tables, metastore: Tables) -> None:
        self._server = server
        self._metastore = metastore

    def describe(self, table: str) -> TableDescription | None:
        """See Tables."""
        return self._server.describe(table)

    def describe_partition(self, table: str, path: str) -> TableDescription | None:
        """See Tables."""
        return self._metastore.describe_partition(table, path)

    def partition_paths(self, table: str) -> frozenset[str]:
        """See Tables."""
        return self._metastore.partition_paths(table)

    def tables_in(self, database: str) -> frozenset[str]:
        """See Tables."""
        return self._server.tables_in(database)

    def statements(self, change: TableChange) -> tuple[str, ...]:
        """See Tables."""
        return self._server.statements(change)

    def change(self, change: TableChange) -> Sequence[str]:
        """See Tables."""
        return self._server.change(change)

    def reader(self) -> Reader | None:
        """See Tables."""
        return self._server.reader()

    def version(self) -> str | None:
        """See Tables."""
        return self._server.version()

    def close(self) -> None:
        """See Tables."""
        self._server.close()
        self._metastore.close()
