"""The Metastore port over HiveServer2."""

import logging
from collections.abc import Sequence

from kafka2hive.config.values import HiveOptions
from kafka2hive.hive import text
from kafka2hive.hive.add import Batch, batches
from kafka2hive.hive.description import parse_description
from kafka2hive.hive.server.session import HiveSession, NoSuchPartition
from kafka2hive.model.files import HivePartition
from kafka2hive.model.hive.metastore import MetastoreRefused

log = logging.getLogger(__name__)


class HiveMetastore:
    """Registers partitions and finds their locations. Any thread may use it; one statement at a time."""

    def __init__(self, options: HiveOptions) -> None:
        self.session = HiveSession(options)
        # registered in this process's life, at the location we gave or not
        self._exist: set[HivePartition] = set()
        self._just_added: set[HivePartition] = set()  # at the location we gave, not asked for since

    def add_partitions(self, partitions: Sequence[HivePartition]) -> None:
        """`ADD IF NOT EXISTS PARTITION .. LOCATION` in statements of bounded size; doing it twice changes nothing.

        Partitions not seen before are first added without IF NOT EXISTS: where that succeeds, they are new and lie
        where we said, and `location` need not ask (45 ms each). Unpartitioned tables (path '') need nothing.
        A crash or an error in the middle leaves some registered. Raises MetastoreUnavailable, MetastoreRefused.
        """
        for batch in batches(partitions):
            if self._exist.isdisjoint(batch.partitions):
                try:
                    self._run(batch, if_not_exists=False)
                except MetastoreRefused as refused:
                    log.debug("not all are new: %s", refused)
                else:
                    self._just_added.update(batch.partitions)
                    self._exist.update(batch.partitions)
                    continue
            self._run(batch, if_not_exists=True)
            self._exist.update(batch.partitions)

    def location(self, partition: HivePartition) -> str | None:
        """The partition's location in Hive, None when it is not registered; of an unpartitioned table: the table.

        Raises MetastoreUnavailable, MetastoreRefused.
        """
        if partition in self._just_added:
            self._just_added.discard(partition)
            return partition.location
        spec = f" {text.partition_spec(partition.path)}" if partition.path else ""
        try:
            rows = self.session.run(f"DESCRIBE FORMATTED {text.table_name(partition.table)}{spec}")
        except NoSuchPartition:
            return None
        return parse_description(rows).location

    def close(self) -> None:
        """End the session. Never fails."""
        self.session.close()

    def _run(self, batch: Batch, if_not_exists: bool) -> None:
        try:
            self.session.run(*batch.statements(if_not_exists))
        except MetastoreRefused:
            if batch.with_default:
                self.session.close()  # it would keep the other name of the default partition
            raise
