"""A process of a table whose partitions expire: between epochs it drops and deletes them, as `retain` and `run` do."""

from typing import Any

from kafka2hive.ledger.snapshot.expiry import reasons_to_keep
from kafka2hive.model.files import HivePartition
from tests.simulation.ledger_caller import LedgerCaller
from tests.simulation.topic import BEGAN_MS, PERIOD_MS, PERIODS, ends_ms
from tests.simulation.watch import Violation

KEEP_SECONDS = 30.0
FRESH_SECONDS = 300.0


class RetainingCaller(LedgerCaller):
    """A LedgerCaller that retains now and then: with looks of its own, as `retain`, or with those of the last time, as `run`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.hive = arguments[1]
        self.metastore.is_fenced = self._is_fenced
        self.looks: list[tuple[Any, float]] = []

    def _is_fenced(self) -> bool:
        return self.owned is not None and self.owned.directory not in self.world.namenode.directories

    def epoch(self) -> None:
        """Commit one epoch as before, and often retain."""
        super().epoch()
        if self.looks or self.world.below(3) == 0:
            self.retain()

    def retain(self, expires: bool = True) -> None:
        """Drop partitions, of which more may expire, and delete the files of those that were dropped long ago."""
        world, state, now = self.world, self.owned.state, self.world.now
        before_ms = (
            BEGAN_MS + (world.below(PERIODS) - PERIODS // 2) * PERIOD_MS if expires and world.below(2) else 0
        )
        known = 0 if state.bounds is None else state.bounds.expired_before_ms
        before_ms = max(known, before_ms)
        kept = reasons_to_keep(state, self.owned.certified)
        expired = [
            home for home in self._homes() if home.path not in kept and ends_ms(home.path) <= before_ms
        ]

        def publish(change: Any) -> Any:
            self.owned = self.code.epoch.publish(self.ports, self.owned, change).owned
            return self.owned

        work = self.code.retention.Retention(self.ports, self.owned, publish, "_SUCCESS", KEEP_SECONDS)
        dropped = work.expire(before_ms, expired)
        world.count["partitions dropped because they expired"] += len(dropped)
        as_run = expires and bool(self.looks or world.below(2))
        if as_run:
            absent = self._record_looks(work, now)
        else:
            absent = frozenset().union(*(look.gone for look in work.drop(self.metastore, now)))
        before = set(world.namenode.retired)
        deletion = work.delete(absent, now)
        self._check_deleted(world.namenode.retired.keys() - before, absent, now)
        world.count["expired partitions cleared"] += len(deletion.cleared)
        world.count["files deleted after looks of the last time"] += deletion.files * as_run
        if as_run:
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
        """Return the partitions with files that were ever committed and promoted, without those that are gone."""
        places = {
            path.rpartition("/")[0]
            for path in self.world.namenode.promoted - self.world.namenode.retired.keys()
        }
        homes = []
        for place in sorted(places):
            path = "/".join(place.split("/")[-2:])
            if place.startswith(self.owned.state.location + "/"):
                homes.append(HivePartition(self.owned.state.table, path, place))
        return homes

    def _check_deleted(self, deleted: set[str], absent: frozenset[HivePartition], now: float) -> None:
        """Check that the looks have met the partitions of deleted files absent, as all others did for long enough (E4).

        A fenced process is left out: it does not know the looks of the owner.
        """
        if self.owned.directory not in self.world.namenode.directories:
            return
        for path in deleted:
            place = path.rpartition("/")[0]
            key = (self.owned.state.table, "/".join(place.split("/")[-2:]))
            if place not in {home.location for home in absent}:
                raise Violation(f"{path} is deleted, but no look has met its partition absent")
            if now - self.hive.met.get(key, 0.0) < KEEP_SECONDS:
                raise Violation(
                    f"{path} is deleted {now - self.hive.met[key]:.0f} s after its partition was in Hive"
                )
