"""Hive's partitions in the simulation: outages, temporary refusals, statements whose answer is lost."""

from collections.abc import Callable, Sequence
from typing import NoReturn

from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import MetastoreUnavailable
from tests.simulation.hive_tables import HiveTables, SimulatedSession
from tests.simulation.world import World


class Hive:
    """The registered locations by (table, partition path), which all actors share. Events begin and end `down`."""

    def __init__(self) -> None:
        self.registered: dict[tuple[str, str], str] = {}
        self.down = False
        self.ddl = HiveTables()


class SimulatedMetastore:
    """The Metastore port of one actor; `failures` counts the calls without an answer."""

    def __init__(
        self, world: World, hive: Hive, who: str = "-", hand_over: Callable[[], None] = lambda: None
    ) -> None:
        self._world = world
        self._hive = hive
        self._who = who
        self._hand_over = hand_over
        self.failures = 0
        self.session = SimulatedSession(world, hive.ddl, who, hand_over, lambda: hive.down, self.fail)

    def close(self) -> None:
        """Do nothing."""

    def add_partitions(self, partitions: Sequence[HivePartition]) -> None:
        self._hand_over()
        unclear = self._world.random() < self._world.rates.lost_reply
        if self._hive.down:
            self.fail("add_partitions")
        for partition in partitions:
            self._hive.registered.setdefault((partition.table, partition.path), partition.location)
            if unclear and self._world.below(2):
                self.fail("add_partitions (some done)")
        self._world.tell(self._who, f"hive: add {', '.join(p.path for p in partitions)}")

    def location(self, partition: HivePartition) -> str | None:
        self._hand_over()
        if self._hive.down:
            self.fail("location")
        return self._hive.registered.get((partition.table, partition.path))

    def fail(self, what: str) -> NoReturn:
        """Fail as if Hive gave no answer."""
        self.failures += 1
        self._world.count["Hive failed"] += 1
        self._world.tell(self._who, f"hive: {what} = MetastoreUnavailable")
        raise MetastoreUnavailable(what)
