"""The Metastore port over HiveServer2."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka2hive.config.keys import HiveOptions
from kafka2hive.hive import hiveql
from kafka2hive.hive.bulk import in_groups, one_by_one
from kafka2hive.hive.description import PURGE_PROPERTY, TableKind, parse_description
from kafka2hive.hive.session import HiveSession, log_in
from kafka2hive.hive.session_tables import SessionTables
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import ChangeAnswer, LocationAnswer, MetastoreRefused, NoSuchPartition
from kafka2hive.model.paths.path import HIVE_DEFAULT_PARTITION

log = logging.getLogger(__name__)

# Limits of one statement: Hive's parser needs seconds for megabytes, and the metastore runs a statement in one transaction.
_STATEMENT_CHARACTERS = 60_000
_STATEMENT_PARTITIONS = 200

# HiveServer2 refuses the name of the default partition in ADD PARTITION (error 10111) unless the session uses another name
# for its default partition. The metastore then stores the usual name, as after a dynamic insert by Hive. If the partition
# column is a string, queries of Hive 4 return that name (`dt is null` selects no row), and Spark returns null.
_DEFAULT_NAME_KEY = "hive.exec.default.partition.name"
_ANOTHER_NAME = "__KAFKA2HIVE_UNUSED__"


@dataclass(frozen=True, slots=True)
class PartitionBatch:
    """Hive partitions of one table for one statement. `with_default`: each path has the default partition at some level."""

    partitions: tuple[HivePartition, ...]
    with_default: bool

    def statements(self, if_not_exists: bool) -> tuple[str, ...]:
        """Return statements to run in this order in one session. Without `if_not_exists`, success means that all are new."""
        head = f"ALTER TABLE {hiveql.table_name(self.partitions[0].table)} ADD"
        add = " ".join([head + " IF NOT EXISTS" * if_not_exists, *map(_clause, self.partitions)])
        if not self.with_default:
            return (add,)
        return (
            f"SET {_DEFAULT_NAME_KEY}={_ANOTHER_NAME}",
            add,
            f"SET {_DEFAULT_NAME_KEY}={HIVE_DEFAULT_PARTITION}",
        )


def batches(partitions: Iterable[HivePartition]) -> Iterator[PartitionBatch]:
    """Yield batches with every Hive partition once, without those of unpartitioned tables (path '')."""
    batch: list[HivePartition] = []
    key: tuple[str, bool] | None = None
    size = 0
    for partition in sorted({partition for partition in partitions if partition.path}):
        partition_key = (partition.table, hiveql.has_default_value(partition.path))
        clause_size = len(_clause(partition)) + 1
        full = len(batch) == _STATEMENT_PARTITIONS or size + clause_size > _STATEMENT_CHARACTERS
        if batch and key is not None and (full or partition_key != key):
            yield PartitionBatch(tuple(batch), key[1])
            batch, size = [], 0
        key = partition_key
        size += clause_size
        batch.append(partition)
    if batch and key is not None:
        yield PartitionBatch(tuple(batch), key[1])


def _clause(partition: HivePartition) -> str:
    return f"{hiveql.partition_spec(partition.path)} LOCATION {hiveql.literal(partition.location)}"


class HiveMetastore:
    """Registers Hive partitions and looks up their locations. Safe for any thread; statements run one at a time."""

    def __init__(self, options: HiveOptions) -> None:
        self.session = HiveSession(options)
        self.tables = SessionTables(self.session)
        self._options = options
        # known to be registered, perhaps by others at another location
        self._registered: set[HivePartition] = set()

    def ask(self) -> None:
        """See Hive."""
        log_in(self._options)

    def add_partitions(self, partitions: Sequence[HivePartition]) -> Mapping[HivePartition, str]:
        """Register Hive partitions at their locations, in statements of bounded size; a second call changes nothing.

        Partitions that this process has not registered before are first added without IF NOT EXISTS. If that succeeds,
        they are new and at our location, which saves a query for each (45 ms). Unpartitioned tables (path '')
        need nothing. A crash or an error in the middle leaves some partitions registered.
        Raises MetastoreUnavailable, MetastoreRefused.
        """
        new: set[HivePartition] = set()
        for batch in batches(partitions):
            if self._registered.isdisjoint(batch.partitions):
                try:
                    self._run(batch, if_not_exists=False)
                except MetastoreRefused as error:
                    log.debug("not all are new: %s", error)
                else:
                    new.update(batch.partitions)
                    self._registered.update(batch.partitions)
                    continue
            self._run(batch, if_not_exists=True)
            self._registered.update(batch.partitions)
        return {partition: partition.location for partition in new}

    def location(self, partition: HivePartition) -> str | None:
        """Return the partition's location in Hive (the table's if it is unpartitioned); None if it is not registered.

        Raises MetastoreUnavailable, MetastoreRefused.
        """
        spec = f" {hiveql.partition_spec(partition.path)}" if partition.path else ""
        try:
            rows = self.session.run(f"DESCRIBE FORMATTED {hiveql.table_name(partition.table)}{spec}")
        except NoSuchPartition:
            return None
        return parse_description(rows).location

    @property
    def look_size(self) -> int:
        """See Metastore; a look at one partition costs about 45 ms."""
        return 20

    def locations(self, partitions: Iterable[HivePartition]) -> Iterator[LocationAnswer]:
        """See Metastore: HiveQL describes and moves one partition by a statement."""
        return one_by_one(partitions, self.location)

    def set_locations(self, partitions: Iterable[HivePartition]) -> Iterator[ChangeAnswer]:
        """See Metastore."""
        return one_by_one(partitions, self._set_location)

    def _set_location(self, partition: HivePartition) -> None:
        self.session.run(
            f"ALTER TABLE {hiveql.table_name(partition.table)} {hiveql.partition_spec(partition.path)}"
            f" SET LOCATION {hiveql.literal(partition.location)}"
        )

    def drop_partitions(self, partitions: Iterable[HivePartition]) -> Iterator[ChangeAnswer]:
        """Drop partitions, up to 200 by a statement, unless Hive would delete their files. See PartitionDropper."""
        return in_groups(partitions, _STATEMENT_PARTITIONS, self._drop)

    def _drop(self, partitions: Sequence[HivePartition]) -> Mapping[HivePartition, None]:
        """Drop partitions of one table by one statement. Raises MetastoreUnavailable, MetastoreRefused."""
        name = partitions[0].table
        table = hiveql.table_name(name)
        description = parse_description(self.session.run(f"DESCRIBE FORMATTED {table}"))
        if description.deletes_dropped:
            why = f"has {PURGE_PROPERTY}=true: ALTER TABLE {table} SET TBLPROPERTIES ('{PURGE_PROPERTY}'='false')"
            if description.kind is TableKind.MANAGED:
                why = "is a managed table (`hive.managed`)"
            raise MetastoreRefused(f"Hive would delete its files at once, because {name} {why}")
        self._registered.difference_update(partitions)
        specs = ", ".join(hiveql.partition_spec(partition.path) for partition in partitions)
        self.session.run(f"ALTER TABLE {table} DROP IF EXISTS {specs}")
        return dict.fromkeys(partitions)

    def close(self) -> None:
        """End the session. Never fails."""
        self.session.close()

    def _run(self, batch: PartitionBatch, if_not_exists: bool) -> None:
        try:
            self.session.run(*batch.statements(if_not_exists))
        except MetastoreRefused:
            if batch.with_default:
                self.session.close()  # otherwise it would keep the other name of the default partition
            raise
