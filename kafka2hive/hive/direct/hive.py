"""The port of Hive over the metastore's own interface."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import groupby
from typing import Any

from kafka2hive.config.keys import MetastoreOptions
from kafka2hive.hive.bulk import in_groups
from kafka2hive.hive.direct.client import MetastoreClient, generated
from kafka2hive.hive.direct.tables import DirectTables
from kafka2hive.hive.direct.values import partition_names, partition_values
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import ChangeAnswer, LocationAnswer, MetastoreRefused, NoSuchPartition

_CALL_PARTITIONS = 500
"""The most partitions of one call: the metastore does it in one transaction, and others wait for its locks."""
_WITHOUT_STATISTICS = {"DO_NOT_UPDATE_STATS": "true"}
"""Without it the metastore lists the folder at each change, and stores sizes that are wrong after the next epoch."""


class DirectHive:
    """Registers, looks up, moves and drops Hive partitions in bulk. Safe for any thread; calls run one at a time."""

    def __init__(self, client: MetastoreClient) -> None:
        self._client = client
        self.tables = DirectTables(self._client)

    def ask(self) -> None:
        """See Hive."""
        self._client.log_in()

    def close(self) -> None:
        """Close the connection. Never raises."""
        self._client.close()

    def add_partitions(self, partitions: Sequence[HivePartition]) -> Mapping[HivePartition, str]:
        """Register those partitions that are not registered yet, by calls of bounded size; a second call changes nothing.

        A call is one transaction: after a crash all its partitions are registered, or none. Locations of partitions that exist
        are looked up by one more call. Raises MetastoreUnavailable, MetastoreRefused.
        """
        ttypes = generated().ttypes
        where: dict[HivePartition, str] = {}
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
                    where |= dict.fromkeys(of_values, locations[values])
        return where

    def location(self, partition: HivePartition) -> str | None:
        """See Metastore; the table's own location if it is unpartitioned."""
        if not partition.path:
            return str(self.tables.table(partition.table).sd.location)
        return self._look_up([partition])[partition]

    @property
    def look_size(self) -> int:
        """See Metastore."""
        return _CALL_PARTITIONS

    def locations(self, partitions: Iterable[HivePartition]) -> Iterator[LocationAnswer]:
        """See Metastore."""
        return in_groups(partitions, _CALL_PARTITIONS, self._look_up)

    def set_locations(self, partitions: Iterable[HivePartition]) -> Iterator[ChangeAnswer]:
        """See Metastore. A call is one transaction."""
        return in_groups(partitions, _CALL_PARTITIONS, self._move)

    def drop_partitions(self, partitions: Iterable[HivePartition]) -> Iterator[ChangeAnswer]:
        """See PartitionDropper; the files stay whatever the table's properties. A call is one transaction."""
        return in_groups(partitions, _CALL_PARTITIONS, self._drop)

    def _look_up(self, partitions: Sequence[HivePartition]) -> Mapping[HivePartition, str | None]:
        table = self.tables.table(partitions[0].table)
        where = _locations(self.tables.partitions(table, [each.path for each in partitions]))
        by_values = _by_values(table, partitions)
        return {each: where.get(values) for values, of_values in by_values.items() for each in of_values}

    def _move(self, partitions: Sequence[HivePartition]) -> Mapping[HivePartition, MetastoreRefused | None]:
        """Set the locations of those partitions of a table that are registered, by one call."""
        table = self.tables.table(partitions[0].table)
        by_values = _by_values(table, partitions)
        present = {
            tuple(found.values): found
            for found in self.tables.partitions(table, [each.path for each in partitions])
        }
        for values, found in present.items():
            found.sd.location = by_values[values][-1].location
        if present:
            self._client.call(
                "alter_partitions_with_environment_context",
                table.dbName,
                table.tableName,
                list(present.values()),
                generated().ttypes.EnvironmentContext(properties=_WITHOUT_STATISTICS),
                retries_races=len(partitions) == 1,  # otherwise each half is another try
            )
        return {
            each: None if values in present else NoSuchPartition(f"{each.table} has no partition {each.path}")
            for values, of_values in by_values.items()
            for each in of_values
        }

    def _drop(self, partitions: Sequence[HivePartition]) -> Mapping[HivePartition, None]:
        """Drop those partitions of a table that are registered, by one call."""
        ttypes = generated().ttypes
        table = self.tables.table(partitions[0].table)
        names = {
            name
            for values in _by_values(table, partitions)
            for name in partition_names(table.partitionKeys, values)
        }
        request = ttypes.DropPartitionsRequest(
            dbName=table.dbName,
            tblName=table.tableName,
            parts=ttypes.RequestPartsSpec(names=sorted(names)),
            deleteData=False,
            ifExists=True,
            needResult=False,
        )
        self._client.call("drop_partitions_req", request, retries_races=len(partitions) == 1)
        return dict.fromkeys(partitions)

    def _batches(self, partitions: Iterable[HivePartition]) -> Iterator[tuple[Any, list[HivePartition]]]:
        """Yield each table as the metastore has it now, with at most _CALL_PARTITIONS of its partitions."""
        ordered = sorted({partition for partition in partitions if partition.path})
        for name, of_table in groupby(ordered, key=lambda partition: partition.table):
            group = list(of_table)
            for start in range(0, len(group), _CALL_PARTITIONS):
                yield self.tables.table(name), group[start : start + _CALL_PARTITIONS]


def direct_hive(options: MetastoreOptions) -> DirectHive:
    """Return Hive by its metastore; a connection opens at the first call."""
    return DirectHive(MetastoreClient(options))


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
