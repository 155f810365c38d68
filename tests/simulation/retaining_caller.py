"""A process of a table whose partitions expire: between epochs it drops and deletes them, as `retain` and `run` do."""

from dataclasses import replace
from typing import Any

from kafka2hive.ledger.snapshot.expiry import reasons_to_keep, unknown_to_hive
from kafka2hive.model.files import HivePartition
from kafka2hive.model.snapshot import ComparedTable
from tests.simulation.ledger_caller import LedgerCaller
from tests.simulation.namenode import FileNode
from tests.simulation.places import DEAD_LETTER_LOCATION, DEAD_LETTER_TABLE, TABLE
from tests.simulation.topic import BEGAN_MS, PERIOD_MS, PERIODS, ends_ms, letters_end
from tests.simulation.watch import HIDDEN, VISIBLE, Violation

KEEP_SECONDS = 30.0
FRESH_SECONDS = 300.0


class RetainingCaller(LedgerCaller):
    """A LedgerCaller that retains now and then: with looks of its own, as `retain`, or with those of the last time, as `run`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.hive = arguments[1]
        self.metastore.is_fenced = self._is_fenced
        self.looks: list[tuple[Any, float]] = []
        self.has_hive = self.world.below(100) >= self.world.without_hive if self.world.without_hive else True

    def _is_fenced(self) -> bool:
        return self.owned is not None and self.owned.directory not in self.world.namenode.directories

    def epoch(self) -> None:
        """Commit one epoch as before, and often retain."""
        super().epoch()
        if self.looks or self.world.below(3) == 0:
            self.retain()

    def _replay(self) -> Any:
        dropped = any(line.partition.table == DEAD_LETTER_TABLE for line in self.owned.state.dropped)
        return super()._replay() if dropped or not self.world.replays_late else None

    def _plan(self) -> Any:
        if not self.has_hive:
            return super()._plan()
        described = {"location": "", "format": "", "columns": "", "partition_columns": ""}
        compared = (ComparedTable(table=name, **described) for name in (TABLE, DEAD_LETTER_TABLE))
        return replace(super()._plan(), compared=tuple(compared))

    def _register(self) -> frozenset[HivePartition]:
        return super()._register() if self.has_hive else frozenset(self.owned.state.unregistered)

    def retain(self, expires: bool = True) -> None:
        """Drop partitions, of which more may expire, and delete the files of those that were dropped long ago."""
        world, state, now = self.world, self.owned.state, self.world.now
        before_ms = 0
        if expires and world.below(
            2
        ):  # where letters are replayed, few rows expire: most replays would change nothing
            periods = world.below(PERIODS) // (4 if world.replays else 1)
            before_ms = BEGAN_MS + (periods - PERIODS // 2) * PERIOD_MS
        known = 0 if state.bounds is None else state.bounds.expired_before_ms
        before_ms = max(known, before_ms)
        expired = [home for home in self._droppable() if self._has_ended(home, before_ms)]

        def publish(change: Any) -> Any:
            self.owned = self.code.epoch.publish(self.ports, self.owned, change).owned
            return self.owned

        work = self.code.retention.Retention(
            self.ports, self.owned, publish, {"_SUCCESS"}, KEEP_SECONDS, has_hive=self.has_hive
        )
        if not self.has_hive:
            for home in expired:
                world.drops.setdefault(home.location, now)
        dropped = work.expire(before_ms, expired, now)
        world.count["partitions dropped because they expired"] += len(dropped)
        world.count["partitions dropped without Hive"] += len(dropped) * (not self.has_hive)
        as_run = expires and bool(self.looks or world.below(2))
        if not self.has_hive:
            absent = work.never_in_hive
        elif as_run:
            absent = self._record_looks(work, now)
        else:
            absent = frozenset().union(*(look.gone for look in work.drop(self.metastore, lambda: world.now)))
        before = set(world.namenode.retired)
        deletion = work.delete(absent, now)
        self._check_deleted(world.namenode.retired.keys() - before, absent, now)
        world.count["expired partitions cleared"] += len(deletion.cleared)
        world.count["files deleted after looks of the last time"] += deletion.files * as_run
        if as_run and self.has_hive:
            self._look_for_next_time()
        self.unregistered = frozenset(self.owned.state.unregistered)

    def _record_looks(self, work: Any, now: float) -> frozenset[HivePartition]:
        """Record the looks of the last time. Return the partitions that fresh ones met absent."""
        looks, self.looks = self.looks, []
        absent = frozenset[HivePartition]()
        for look, at in looks:
            work.record(look, at)
            absent -= look.present
            if now - at <= FRESH_SECONDS:
                absent |= look.gone
        return absent

    def _look_for_next_time(self) -> None:
        lines = {line.partition: line.gone_since for line in self.owned.state.dropped}
        look = self.code.retention.look_for_dropped(self.metastore, lines)
        self.looks.append((look, self.world.now))
        if to_drop := [home for home in look.present if not lines[home]]:
            self.looks.append((self.code.retention.drop_from_hive(self.metastore, to_drop), self.world.now))

    def record(self) -> None:
        """Commit what Hive has confirmed, as an idle table does."""
        update = self.code.draft.RegistrationUpdate(registered=self._registered())
        self.owned = self.code.epoch.publish(self.ports, self.owned, update).owned

    def _homes(self) -> list[HivePartition]:
        """Return the partitions of rows and dead letters with files, also hidden ones, that were ever promoted."""
        homes = []
        for place in sorted({path.rpartition("/")[0] for path in self.world.namenode.promoted}):
            nodes = (self.world.namenode.directory(place) or {}).items()
            table = DEAD_LETTER_TABLE if place.startswith(DEAD_LETTER_LOCATION) else self.owned.state.table
            if any(
                isinstance(node, FileNode) and node.content and name.endswith((*VISIBLE, HIDDEN))
                for name, node in nodes
            ):
                homes.append(HivePartition(table, "/".join(place.split("/")[-2:]), place))
        return homes

    def _droppable(self) -> list[HivePartition]:
        """Return the partitions that no reason of E2 keeps."""
        state = self.owned.state
        kept = reasons_to_keep(state, self.owned.certified, has_hive=self.has_hive)
        unknown = unknown_to_hive(state)
        return [
            home for home in self._homes() if home.name not in kept and (self.has_hive or home in unknown)
        ]

    def _has_ended(self, home: HivePartition, before_ms: int) -> bool:
        """Return whether the period of rows ended by then, or the day of dead letters by the positions, which are its clock."""
        if home.table == self.owned.state.table:
            return ends_ms(home.path) <= before_ms
        return before_ms > 0 and letters_end(home.path) <= min(p.end for p in self.owned.state.positions)

    def _check_deleted(self, deleted: set[str], absent: frozenset[HivePartition], now: float) -> None:
        """Check that the looks have met the partitions of deleted files absent, as all others did for long enough (E4).

        A fenced process is left out: it does not know the looks of the owner.
        """
        if self.owned.directory not in self.world.namenode.directories:
            return
        for path in deleted:
            place = path.rpartition("/")[0]
            table = DEAD_LETTER_TABLE if place.startswith(DEAD_LETTER_LOCATION) else self.owned.state.table
            key = (table, "/".join(place.split("/")[-2:]))
            if place not in {home.location for home in absent}:
                raise Violation(f"{path} is deleted, but no look has met its partition absent")
            if not self.has_hive and table in {each.table for each in self.owned.state.compared}:
                raise Violation(f"{path} is deleted, but Hive may have its partition, and nobody has looked")
            if now - self.world.drops.get(place, 0.0) < KEEP_SECONDS:
                raise Violation(
                    f"{path} is deleted {now - self.world.drops[place]:.0f} s after its partition was dropped"
                )
            if now - self.hive.met.get(key, 0.0) < KEEP_SECONDS:
                raise Violation(
                    f"{path} is deleted {now - self.hive.met[key]:.0f} s after its partition was in Hive"
                )
