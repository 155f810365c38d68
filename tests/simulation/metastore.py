"""Hive's partitions in the simulation: outages, temporary refusals, statements whose answer is lost."""

from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from kafka2hive.hive.session_tables import SessionTables
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import MetastoreRefused, MetastoreUnavailable
from tests.harness.one_by_one import OneByOne
from tests.simulation.hive_tables import HiveTables, SimulatedSession
from tests.simulation.places import TABLE
from tests.simulation.watch import Violation, visible_records
from tests.simulation.world import World


class Hive:
    """The registered locations by (table, partition path), which all actors share. Events begin and end `down`."""

    def __init__(self) -> None:
        self.registered: dict[tuple[str, str], str] = {}
        self.down = False
        self.ddl = HiveTables()
        self.put_back: dict[tuple[str, str], float] = {}
        """When an owner's look last met a partition at its early place (the world's clock)."""
        self.met: dict[tuple[str, str], float] = {}
        """When an owner's look last met a partition (the world's clock)."""
        self.stale: list[tuple[tuple[str, str], str]] = []
        """Objects that ANALYZE of somebody else has read, and will write whole."""

    def drop_table(self, world: World, name: str) -> None:
        """Somebody drops or renames a table, whose files stay."""
        self.ddl.drop(name)
        self.registered = {key: where for key, where in self.registered.items() if key[0] != name}
        world.count["Hive tables dropped by others"] += 1
        world.tell("(event)", f"somebody drops table {name} in Hive")

    def others_statement(self, world: World, location: str, table: str = TABLE) -> None:
        """Let a statement of somebody else begin or end: ANALYZE, MSCK REPAIR SYNC PARTITIONS, DROP PARTITION."""
        dice = world.below(4)
        keys = sorted(key for key in self.registered if self.registered[key].startswith(location + "/"))
        if dice == 0 and keys:
            key = keys[world.below(len(keys))]
            self.stale.append((key, self.registered[key]))
        elif dice == 1 and self.stale:
            self.end_analyze(world)
        else:
            if dice == 3 and keys:
                del self.registered[keys[world.below(len(keys))]]
                world.count["partitions dropped by others"] += 1
            self.repair(world, location, table)

    def end_analyze(self, world: World) -> None:
        """End an ANALYZE: the partition gets the location that it had at its beginning."""
        key, where = self.stale.pop(world.below(len(self.stale)))
        if key in self.registered:
            world.count["locations put back by others"] += self.registered[key] != where
            self.registered[key] = where

    def repair(self, world: World, location: str, table: str = TABLE) -> None:
        """MSCK REPAIR SYNC PARTITIONS: drop partitions without a directory in the table's, add those of its directories."""
        homes = {}
        for first in world.namenode.directory(location) or ():
            if first.startswith(("_", ".")):
                continue
            for second in world.namenode.directory(f"{location}/{first}") or ():
                homes[f"{first}/{second}"] = f"{location}/{first}/{second}"
        for key, where in list(self.registered.items()):
            if where.startswith(location + "/") and key[1] not in homes:
                world.count["partitions dropped by MSCK"] += 1
                del self.registered[key]
        for path, home in homes.items():
            if (table, path) not in self.registered:
                world.count["partitions added by MSCK"] += 1
                self.registered[table, path] = home


class SimulatedMetastore(OneByOne):
    """The Metastore port of one actor; `failures` counts the calls without an answer."""

    def __init__(
        self, world: World, hive: Hive, who: str = "-", hand_over: Callable[[], None] = lambda: None
    ) -> None:
        self._world = world
        self._hive = hive
        self._who = who
        self._hand_over = hand_over
        self.failures = 0
        self.is_fenced: Callable[[], bool] = lambda: False
        self.missed: dict[tuple[str, str], float] = {}
        """When this actor last did not find a partition (the world's clock)."""
        self.session = SimulatedSession(
            world, hive.ddl, who, hand_over, lambda: hive.down, self.fail, lambda: hive.registered
        )
        self.tables = SessionTables(self.session)

    def ask(self) -> None:
        """Do nothing: no probe asks."""

    def close(self) -> None:
        """Do nothing."""

    def add_partitions(self, partitions: Sequence[HivePartition]) -> Mapping[HivePartition, str]:
        self._hand_over()
        unclear = self._world.random() < self._world.rates.lost_reply
        if self._hive.down:
            self.fail("add_partitions")
        self._refuse_missing(partitions[0].table)
        for partition in partitions:
            self._world.shows(partition)
            self._hive.registered.setdefault((partition.table, partition.path), partition.location)
            if unclear and self._world.below(2):
                self.fail("add_partitions (some done)")
        self._world.tell(self._who, f"hive: add {', '.join(p.path for p in partitions)}")
        return {}

    def location(self, partition: HivePartition) -> str | None:
        self._hand_over()
        if self._hive.down:
            self.fail("location")
        self._refuse_missing(partition.table)
        where = self._hive.registered.get((partition.table, partition.path))
        if where is None:
            self.missed[partition.table, partition.path] = self._world.now
        elif not self.is_fenced():
            self._hive.met[partition.table, partition.path] = self._world.now
        if where is not None and "/_open/" in where and not self.is_fenced():
            self._hive.put_back[partition.table, partition.path] = self._world.now
        return where

    def put_back(self, partition: HivePartition) -> float:
        """Return when an owner's look last met the partition at its early place, 0 if none did."""
        return self._hive.put_back.get((partition.table, partition.path), 0.0)

    def set_location(self, partition: HivePartition) -> None:
        self._hand_over()
        if self._hive.down:
            self.fail("set_location")
        self._refuse_missing(partition.table)
        key = (partition.table, partition.path)
        if key not in self._hive.registered:
            raise MetastoreRefused(f"no partition {partition.path}")
        if self.is_fenced():  # nothing fences a statement (K9): the owner's next look corrects it
            self._world.count["locations set by a fenced owner"] += 1
        else:
            _check_move(self._world, self._hive.registered[key], partition.location)
        self._world.shows(partition)
        if self._world.below(3) == 0:  # somebody's ANALYZE has begun before, and ends after this
            self._hive.stale.append((key, self._hive.registered[key]))
        self._hive.registered[key] = partition.location
        self._world.tell(self._who, f"hive: {partition.path} is at {partition.location}")
        if self._world.random() < self._world.rates.lost_reply:
            self.fail("set_location (done)")

    def drop_partition(self, partition: HivePartition) -> None:
        self._hand_over()
        if self._hive.down:
            self.fail("drop_partition")
        key = (partition.table, partition.path)
        self._hive.registered.pop(key, None)
        self._world.tell(self._who, f"hive: drop {partition.path}")
        if self._world.random() < self._world.rates.lost_reply:
            self.fail("drop_partition (done)")

    def _refuse_missing(self, table: str) -> None:
        if self._hive.ddl.is_missing(table):
            raise MetastoreRefused(f"Table not found {table}")

    def fail(self, what: str) -> NoReturn:
        """Fail as if Hive gave no answer."""
        self.failures += 1
        self._world.count["Hive failed"] += 1
        self._world.tell(self._who, f"hive: {what} = MetastoreUnavailable")
        raise MetastoreUnavailable(what)


def _check_move(world: World, before: str, after: str) -> None:
    """Check that readers lose no row by a change of the location; they see none where a query fails."""
    if any(name.startswith("moved-") for name in world.namenode.directory(before) or ()):
        return
    if lost := visible_records(world.namenode, before) - visible_records(world.namenode, after):
        raise Violation(f"{before} -> {after} hides {sorted(lost)[:3]}")
