"""The port of Hive over the metastore's own interface."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import groupby
from typing import Any

from kafka2hive.config.keys import MetastoreOptions
from kafka2hive.hive.direct.client import MetastoreClient, NoSuchObject, generated
from kafka2hive.hive.direct.tables import DirectTables
from kafka2hive.hive.direct.values import partition_values
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import MetastoreRefused, NoSuchPartition

_CALL_PARTITIONS = 500
"""The most partitions of one call: the metastore does it in one transaction, and others wait for its locks."""
_WITHOUT_STATISTICS = {"DO_NOT_UPDATE_STATS": "true"}
"""Without it the metastore lists the folder at each change, and stores sizes that are wrong after the next epoch."""


class DirectHive:
    """Registers, looks up, moves and drops Hive partitions in bulk. Safe for any thread; calls run one at a time."""

    def __init__(self, options: MetastoreOptions) -> None:
        self._client = MetastoreClient(options)
        self.tables = DirectTables(self._client)
        # locations that add_partitions has seen, of which `location` tells the first caller
        self._seen: dict[HivePartition, str] = {}

    def ask(self) -> None:
        """See Hive."""
        self._client.log_in()

    def close(self) -> None:
        """Close the connection. Never raises."""
        self._client.close()

    def add_partitions(self, partitions: Sequence[HivePartition]) -> None:
        """Register those partitions that are not registered yet, by calls of bounded size; a second call changes nothing.

        A call is one transaction: after a crash all its partitions are registered, or none. Locations of partitions that exist
        are looked up by one more call, so that `location` need not ask. Raises MetastoreUnavailable, MetastoreRefused.
        """
        ttypes = generated().ttypes
        for table, batch in self._batches(partitions):
            by_values = _by_values(table, batch)
            request = ttypes.AddPartitionsRequest(
                dbName=table.dbName,
                tblName=table.tableName,
                parts=[_new(table, values, each[0]) for values, each in by_values.items()],
                ifNotExists=True,
                needResult=True,
            )
            added = {
                tuple(each.values)
                for each in self._client.call("add_partitions_req", request).partitions or ()
            }
            present = [each[0].path for values, each in by_values.items() if values not in added]
            locations = {values: by_values[values][0].location for values in added if values in by_values}
            if present:
                locations |= _locations(self.tables.partitions(table, present))
            for values, of_values in by_values.items():
                if values in locations:
                    self._seen |= dict.fromkeys(of_values, locations[values])

    def location(self, partition: HivePartition) -> str | None:
        """See Metastore; the table's own location if it is unpartitioned."""
        if (seen := self._seen.pop(partition, None)) is not None:
            return seen
        table = self.tables.table(partition.table)
        if not partition.path:
            return str(table.sd.location)
        found = self.tables.partitions(table, [partition.path])
        return str(found[0].sd.location) if found else None

    def set_location(self, partition: HivePartition) -> None:
        """Set the location of a registered partition. Raises MetastoreUnavailable, MetastoreRefused (NoSuchPartition)."""
        self._seen.pop(partition, None)
        table = self.tables.table(partition.table)
        found = self.tables.partitions(table, [partition.path])
        if not found:
            raise NoSuchPartition(f"{partition.table} has no partition {partition.path}")
        found[0].sd.location = partition.location
        self._client.call(
            "alter_partitions_with_environment_context",
            table.dbName,
            table.tableName,
            found,
            generated().ttypes.EnvironmentContext(properties=_WITHOUT_STATISTICS),
        )

    def drop_partition(self, partition: HivePartition) -> None:
        """Drop a partition, whose files stay whatever the table's properties. A second call changes nothing.

        Raises MetastoreUnavailable, MetastoreRefused.
        """
        self._seen.pop(partition, None)
        table = self.tables.table(partition.table)
        values = partition_values(partition.table, table.partitionKeys, partition.path)
        try:
            self._client.call("drop_partition", table.dbName, table.tableName, list(values), False)
        except NoSuchObject:
            pass  # it is gone, by an earlier call whose answer was lost or by somebody else

    def _batches(self, partitions: Iterable[HivePartition]) -> Iterator[tuple[Any, list[HivePartition]]]:
        """Yield each table as the metastore has it now, with at most _CALL_PARTITIONS of its partitions."""
        ordered = sorted({partition for partition in partitions if partition.path})
        for name, of_table in groupby(ordered, key=lambda partition: partition.table):
            group = list(of_table)
            for start in range(0, len(group), _CALL_PARTITIONS):
                yield self.tables.table(name), group[start : start + _CALL_PARTITIONS]


def _by_values(
    table: Any, partitions: Sequence[HivePartition]
) -> Mapping[tuple[str, ...], list[HivePartition]]:
    """Return the partitions by their values. Several have the same if they are spelled differently, as hr=08 and hr=8."""
    by_values: dict[tuple[str, ...], list[HivePartition]] = {}
    for each in partitions:
        values = partition_values(each.table, table.partitionKeys, each.path)
        by_values.setdefault(values, []).append(each)
    return by_values


def _locations(partitions: Sequence[Any]) -> dict[tuple[str, ...], str]:
    return {tuple(each.values): each.sd.location for each in partitions}


def _new(table: Any, values: Sequence[str], partition: HivePartition) -> Any:
    """Return a partition with the columns, formats and SerDe that the table has now, as HiveServer2 makes it."""
    if not partition.location:
        raise MetastoreRefused(f"{partition.table} partition {partition.path} has no location")
    storage = deepcopy(table.sd)
    storage.location = partition.location
    return generated().ttypes.Partition(
        values=list(values),
        dbName=table.dbName,
        tableName=table.tableName,
        sd=storage,
        parameters={},
    )
