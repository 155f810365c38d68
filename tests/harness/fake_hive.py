"""A Hive in memory for commands that look at locations of partitions, and a wiring that leads to it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kafka2hive.hive.port import Hive, Tables
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import MetastoreRefused, MetastoreUnavailable
from kafka2hive.service.wiring import Wiring
from tests.harness.one_by_one import OneByOne


@dataclass
class FakeHive(OneByOne):
    """The locations of partitions by table and path.

    - `asked`: what was done, as `look dt=1`, `add dt=1`, `set dt=1` or `drop dt=1`.
    - `before`: is called before each of them, with the same words; it may change anything, or raise.
    - `refused`: paths of partitions whose changes Hive refuses. While `is_down`, nothing is answered.
    """

    where: dict[tuple[str, str], str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    before: Callable[[str], None] = lambda words: None
    refused: set[str] = field(default_factory=set)
    is_down: bool = False

    @property
    def tables(self) -> Tables:
        raise AssertionError("the tables of these tests are not compared with Hive")

    def ask(self) -> None:
        if self.is_down:
            raise MetastoreUnavailable("down")

    def close(self) -> None:
        """Nothing is open."""

    def add_partitions(self, partitions: Sequence[HivePartition]) -> Mapping[HivePartition, str]:
        for each in partitions:
            self._ask("add", each)
            self.where.setdefault(each.name, each.location)
        return {}

    def location(self, partition: HivePartition) -> str | None:
        self._ask("look", partition)
        return self.where.get(partition.name)

    def set_location(self, partition: HivePartition) -> None:
        self._ask("set", partition)
        self.where[partition.name] = partition.location

    def drop_partition(self, partition: HivePartition) -> None:
        self._ask("drop", partition)
        self.where.pop(partition.name, None)

    def _ask(self, verb: str, partition: HivePartition) -> None:
        words = f"{verb} {partition.path}"
        self.before(words)
        self.asked.append(words)
        if self.is_down:
            raise MetastoreUnavailable("down")
        if verb != "look" and partition.path in self.refused:
            raise MetastoreRefused("no permission")


@dataclass(eq=False)
class WiringToHive(Wiring):
    """A wiring whose Hive is the test's; None: the map has no `hive` section."""

    fake: FakeHive | None = None

    def hive(self) -> Hive | None:
        return self.fake


def with_hive(wiring: Wiring, hive: FakeHive | None) -> WiringToHive:
    """Return the same wiring, which leads to this Hive."""
    return WiringToHive(wiring.map, wiring.ports, wiring.processes, fake=hive)
