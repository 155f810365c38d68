"""Schedules of a table whose partitions expire, with statements of others that add dropped partitions to Hive again."""

from collections.abc import Callable
from typing import Any

from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.model.paths.path import base_name, parent
from kafka2hive.model.paths.table_directory import DataFileName
from tests.simulation.actor import Actor
from tests.simulation.chore_caller import ChoreCaller, night_passes
from tests.simulation.code import REAL, Production
from tests.simulation.ledger_caller import LedgerCaller
from tests.simulation.metastore import Hive
from tests.simulation.oracle import (
    check_accounts,
    check_certificates,
    check_chain,
    check_files,
    check_hive,
    check_offsets,
    check_records,
    check_tidiness,
    history,
    without_replayed,
)
from tests.simulation.order_caller import finish_orders
from tests.simulation.places import DEAD_LETTER_LOCATION, DEAD_LETTER_TABLE, LEDGER, LOCATION
from tests.simulation.replay_oracle import check_orders, check_replays
from tests.simulation.schedule import STEPS, Outcome, Schedule, outcome_of
from tests.simulation.snapshot_text import SnapshotText, ToldDropped, ToldFile
from tests.simulation.topic import ends_ms, newest_ms
from tests.simulation.watch import EARLY, HIDDEN, Violation, epoch_of
from tests.simulation.world import World

WATCHES, WATCH, ROUNDS = 24, 8_000, 3
"""After the last fault, what has expired must be deleted within so many watches of so many seconds each, with so many rounds."""
COMMANDS, REPLAYS_FROM = 5, 3
"""One of so many processes is `retain`; if letters are replayed, those from this number on are `dead-letters replay`."""

ALL = 100
WITHOUT_HIVE = (0, ALL, 0, ALL // 2)
"""What percentage of a schedule's processes has a map without a `hive` section. If only some have, operators change the map."""


def run_schedule(seed: int, code: Production = REAL, trace: Callable[[str], None] | None = None) -> Outcome:
    """Play and judge one schedule. Failures are in the outcome."""
    return outcome_of(seed, RetentionSchedule(seed, code, trace))


class RetentionSchedule(Schedule):
    """A schedule of the ledger in which partitions expire; other users of Hive act, too."""

    average = 3 * STEPS

    def __init__(self, seed: int, code: Production, trace: Callable[[str], None] | None) -> None:
        super().__init__(seed, code, trace)
        self.world.step_seconds = 1.0
        self.world.retains = True
        self.world.replays = seed % 2 == 1
        self.world.replays_late = seed % 4 == 1
        self.world.without_hive = WITHOUT_HIVE[seed // 4 % len(WITHOUT_HIVE)]
        if self.world.replays_late:
            self.average = 8 * STEPS  # so that some days of letters end before the last fault

    def judge(self) -> None:
        """Let the oracle judge. Raises Violation."""
        judge(self.world, self.hive, self.code)

    def _pause(self) -> None:
        if self.world.below(2):
            night_passes(self.world)
        super()._pause()

    def _retire(self) -> None:
        if not self.hive.down and self.world.without_hive < ALL:
            if self.world.below(4):
                self.hive.others_statement(self.world, LOCATION)
            else:
                self.hive.others_statement(self.world, DEAD_LETTER_LOCATION, DEAD_LETTER_TABLE)

    def _caller(self, name: str, actor: Actor) -> LedgerCaller:
        callers = self.code.retaining_caller
        kinds = (callers.RetainCommand, callers.RetainingCaller, callers.RetainingReplayCommand)
        number = self.world.below(COMMANDS)
        kind = kinds[min(number, 1 + (self.world.replays and number >= REPLAYS_FROM))]
        caller: LedgerCaller = kind(self.world, self.hive, self.code, name, actor.hand_over, self._spawn_twin)
        return caller


def judge(world: World, hive: Hive, code: Production) -> None:
    """Recover cleanly, retain until nothing is left to delete, then check every promise. Raises Violation."""
    while world.late:
        world.execute_late()
    if 0 < world.without_hive < ALL:
        world.without_hive = 0  # the last map has the section
    driver = code.retaining_caller.RetainingCaller(world, hive, code, "recover")
    try:
        driver.start()
        check_tidiness(world, LEDGER, LOCATION)
        if world.replays:
            finish_orders(world, driver)
        else:
            driver.epoch()
        driver.rest()
        driver.record()
        let_days_pass(world, driver)
    except Kafka2HiveError as error:
        raise Violation(f"the service cannot go on: {error}") from error
    snapshots = history(world, LEDGER)
    check_chain(snapshots)
    check_offsets(snapshots)
    check_accounts(snapshots)
    check_replays(world, snapshots)
    if world.replays:
        check_orders(world, snapshots)
    places = check_dropped(world, snapshots)
    files, filtered = without_replayed(world, snapshots)
    check_all_dropped(files, snapshots[-1], places)
    check_files(world, files)
    check_records(world, files, snapshots, filtered)
    check_certificates(world, snapshots, dropped=frozenset(places))
    if driver.has_hive:
        check_hive(hive, [file for file in files if file.hive_partition.location not in places])
    elif hive.registered:
        raise Violation(f"a map without Hive has told it of {sorted(hive.registered)}")
    for (table, path), where in hive.registered.items():
        if where in places and (left := _left(world, where)):
            raise Violation(f"{table} {path} is in Hive, and its place has {left}")


def let_days_pass(world: World, driver: ChoreCaller) -> None:
    """Let a run do its chores for two days: nothing may be left that waits to be deleted."""
    for _ in range(WATCHES):
        world.later += WATCH
        for _ in range(ROUNDS):
            driver.rest()
    if driver.owned.state.dropped:
        raise Violation(f"these are never deleted: {driver.owned.state.dropped}")


def check_dropped(world: World, snapshots: list[SnapshotText]) -> set[str]:
    """Check each dropped partition, and return their places.

    Its period had expired, and no later epoch fills it or replays its letters. Only a partition that Hive was never told of is
    dropped without a look. What was deleted is of epochs up to its line's. Periods stay expired.
    """
    places: dict[str, int] = {}
    before = None
    for snapshot in snapshots:
        _check_expired(snapshot, before)
        for line in snapshot.dropped:
            if line.epoch == snapshot.epoch:
                world.count["partitions dropped because they expired"] += 1
                world.count["partitions dropped without Hive"] += bool(line.gone_since)
                _check_new(snapshot, line, before)
            if places.setdefault(line.partition.location, line.epoch) != line.epoch:
                raise Violation(f"epoch {snapshot.epoch} drops {line.partition} again")
        still = {line.partition for line in snapshot.dropped}
        ended = [line for line in before.dropped if line.partition not in still] if before else ()
        world.count["expired partitions cleared"] += len(ended)
        before = snapshot
        for file in snapshot.files:
            if snapshot.epoch >= places.get(file.hive_partition.location, snapshot.epoch + 1):
                raise Violation(f"epoch {snapshot.epoch} has {file.final}, whose partition was dropped")
        for one in snapshot.replayed:
            if epoch_of(one.path) <= places.get(parent(one.path), -1):
                raise Violation(f"epoch {snapshot.epoch} replays {one.path}, whose partition was dropped")
    for path in world.namenode.retired:
        place = parent(path)
        is_data = path.endswith(HIDDEN) or DataFileName.parse(base_name(path))
        if is_data and not path.startswith(EARLY) and epoch_of(path) > places.get(place, -1):
            raise Violation(f"{path} is deleted, and was not dropped")
    for place in places:
        if left := _left(world, place):
            raise Violation(f"{place} still has {left}")
    return set(places)


def _check_expired(snapshot: SnapshotText, before: SnapshotText | None) -> None:
    """Check that what has expired stays expired, that records are newer by then, and that nothing else is dropped (E1)."""
    expired, known = snapshot.late_before_ms or 0, (before and before.late_before_ms) or 0
    if expired < known:
        raise Violation(f"epoch {snapshot.epoch}: {expired} has expired, before it {known}")
    if expired > newest_ms(min((p.end for p in snapshot.positions), default=0)):
        raise Violation(f"epoch {snapshot.epoch}: {expired} has expired, which no record has reached")
    for line in snapshot.dropped:
        if ends_ms(line.partition) > expired:
            raise Violation(f"epoch {snapshot.epoch} drops {line.partition}, only {expired} has expired")


def _check_new(snapshot: SnapshotText, line: ToldDropped, before: SnapshotText | None) -> None:
    """Check a partition that is dropped from now on: it was not in use, and needs no look if Hive was never told of it."""
    state = before or snapshot
    waiting: list[Any] = [*state.open, *snapshot.open, *state.early, *state.moved, *state.retired]
    if line.partition.path in {each.partition.path for each in waiting}:
        raise Violation(f"epoch {snapshot.epoch} drops {line.partition}, which is in use")
    if (line.partition in state.unregistered) != bool(line.gone_since):
        raise Violation(f"epoch {snapshot.epoch} drops {line}; to be registered were {state.unregistered}")
    if line.gone_since and line.partition.table in {each.table for each in state.compared}:
        raise Violation(f"epoch {snapshot.epoch} drops {line} without a look, but Hive may have it")


def check_all_dropped(files: list[ToldFile], newest: SnapshotText, places: set[str]) -> None:
    """Check that nothing that has expired is left, except what waits for its completeness or its move (E2)."""
    waiting = {each.partition.path for each in newest.open} | {each.partition.path for each in newest.early}
    for file in files:
        partition = file.hive_partition
        has_expired = ends_ms(partition) <= (newest.late_before_ms or 0)
        home = partition.location.replace("/_open/", "/")
        if has_expired and partition.path not in waiting and home not in places:
            raise Violation(f"{partition} has expired, and is not dropped")


def _left(world: World, place: str) -> list[str]:
    """Return what a place has, without success files and drafts of certificates that a late call has created."""
    names = sorted(world.namenode.directory(place) or ())
    return [n for n in names if not n.startswith("_") or f"{place}/{n}" not in world.namenode.created_late]
