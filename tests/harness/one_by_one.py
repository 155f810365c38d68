"""Requests about many partitions, for Hives of tests that answer one request about one partition at a time."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from kafka2hive.hive.bulk import one_by_one
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import ChangeAnswer, LocationAnswer

LOOK_SIZE = 20


class OneByOne(ABC):
    """The port of partitions by methods about one. See Metastore."""

    look_size = LOOK_SIZE

    @abstractmethod
    def location(self, partition: HivePartition) -> str | None: ...

    def set_location(self, partition: HivePartition) -> None:
        raise AssertionError("nothing is moved")

    def drop_partition(self, partition: HivePartition) -> None:
        raise AssertionError("nothing is dropped")

    def locations(self, partitions: Iterable[HivePartition]) -> Iterator[LocationAnswer]:
        return one_by_one(partitions, self.location)

    def set_locations(self, partitions: Iterable[HivePartition]) -> Iterator[ChangeAnswer]:
        return one_by_one(partitions, self.set_location)

    def drop_partitions(self, partitions: Iterable[HivePartition]) -> Iterator[ChangeAnswer]:
        return one_by_one(partitions, self.drop_partition)
