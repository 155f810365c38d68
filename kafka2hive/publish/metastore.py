"""The Metastore port: what publishing needs from Hive."""

from collections.abc import Sequence
from typing import Protocol

from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import MetastoreRefused, MetastoreUnavailable

__all__ = ["Metastore", "MetastoreRefused", "MetastoreUnavailable"]


class Metastore(Protocol):
    """Registers partitions. Implemented by kafka2hive.hive over PyHive, and by a fake in the simulation."""

    def add_partitions(self, partitions: Sequence[HivePartition]) -> None:
        """`ADD IF NOT EXISTS PARTITION .. LOCATION`, one table at a time; doing it twice changes nothing.

        Raises MetastoreUnavailable, MetastoreRefused.
        """
        ...

    def location(self, partition: HivePartition) -> str | None:
        """Where Hive thinks the partition lies, None when it is not registered."""
        ...
