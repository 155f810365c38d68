"""Schedules of a table whose partitions expire, with statements of others that add dropped partitions to Hive again."""

from collections.abc import Callable

from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.paths.path import base_name, parent
from kafka2hive.model.paths.table_directory import DataFileName
from tests.simulation.actor import Actor
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
from tests.simulation.places import DEAD_LETTER_LOCATION, DEAD_LETTER_TABLE, LEDGER, LOCATION
from tests.simulation.schedule import STEPS, Outcome, Schedule, outcome_of
from tests.simulation.snapshot_text import SnapshotText, ToldDropped
from tests.simulation.topic import ends_ms, letters_end
from tests.simulation.watch import HIDDEN, Violation, epoch_of
from tests.simulation.world import World

MOST_CALLS = 4
"""How often `retain` may be called after the last fault until nothing is left to delete."""

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
        self.world.replays = seed % 2 == 1
        self.world.replays_late = seed % 4 == 1
        self.world.without_hive = WITHOUT_HIVE[seed // 4 % len(WITHOUT_HIVE)]
        if self.world.replays_late:
            self.average = 8 * STEPS  # so that some days of letters end before the last fault

    def judge(self) -> None:
        """Let the oracle judge. Raises Violation."""
        judge(self.world, self.hive, self.code)

    def _retire(self) -> None:
        if not self.hive.down and self.world.without_hive < ALL:
            if self.world.below(4):
                self.hive.others_statement(self.world, LOCATION)
            else:
                self.hive.others_statement(self.world, DEAD_LETTER_LOCATION, DEAD_LETTER_TABLE)

    def _caller(self, name: str, actor: Actor) -> LedgerCaller:
        caller: LedgerCaller = self.code.retaining_caller.RetainingCaller(
            self.world, self.hive, self.code, name, actor.hand_over, self._spawn_twin
        )
        return caller


def judge(world: World, hive: Hive, code: Production) -> None:
    """Recover cleanly, retain until nothing is left to delete, then check every promise. Raises Violation."""
    while world.late:
        world.execute_late()
    driver = code.retaining_caller.RetainingCaller(world, hive, code, "recover")
    try:
        driver.has_hive = world.without_hive < ALL
        driver.start()
        check_tidiness(world, LEDGER, LOCATION)
        driver.epoch()
        driver.unregistered = driver._register()
        driver.record()
        for _ in range(MOST_CALLS):
            world.later += 10 * STEPS
            driver.retain(expires=False)
    except Kafka2HiveError as error:
        raise Violation(f"the service cannot go on: {error}") from error
    if driver.owned.state.dropped:
        raise Violation(f"these are never deleted: {driver.owned.state.dropped}")
    snapshots = history(world, LEDGER)
    check_chain(snapshots)
    check_offsets(snapshots)
    check_accounts(snapshots)
    places = check_dropped(world, snapshots)
    files, filtered = without_replayed(world, snapshots)
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


def check_dropped(world: World, snapshots: list[SnapshotText]) -> set[str]:
    """Check each dropped partition, and return their places.

    Its period had expired, and no later epoch fills it or replays its letters. Only a partition that Hive was never told of is
    dropped without a look. What was deleted is of epochs up to its line's. Periods stay expired.
    """
    places: dict[str, int] = {}
    expired: int | None = None
    before = None
    for snapshot in snapshots:
        if (snapshot.late_before_ms or 0) < (expired or 0):
            raise Violation(
                f"epoch {snapshot.epoch}: {snapshot.late_before_ms}, {expired} had expired before"
            )
        expired = snapshot.late_before_ms
        for line in snapshot.dropped:
            if expired is None or not _has_ended(line.partition, expired, snapshot):
                raise Violation(f"epoch {snapshot.epoch} drops {line.partition}, only {expired} has expired")
            if line.epoch == snapshot.epoch:
                _check_new(snapshot, line, before)
            if places.setdefault(line.partition.location, line.epoch) != line.epoch:
                raise Violation(f"epoch {snapshot.epoch} drops {line.partition} again")
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
        if is_data and epoch_of(path) > places.get(place, -1):
            raise Violation(f"{path} is deleted, and was not dropped")
    for place in places:
        if left := _left(world, place):
            raise Violation(f"{place} still has {left}")
    return set(places)


def _check_new(snapshot: SnapshotText, line: ToldDropped, before: SnapshotText | None) -> None:
    """Check a partition that is dropped from now on: it was not in use, and needs no look if Hive was never told of it."""
    state = before or snapshot
    if line.partition.path in {each.partition.path for each in state.open}:
        raise Violation(f"epoch {snapshot.epoch} drops {line.partition}, which is in use")
    if (line.partition in state.unregistered) != bool(line.gone_since):
        raise Violation(f"epoch {snapshot.epoch} drops {line}; to be registered were {state.unregistered}")
    if line.gone_since and line.partition.table in {each.table for each in state.compared}:
        raise Violation(f"epoch {snapshot.epoch} drops {line} without a look, but Hive may have it")


def _has_ended(home: HivePartition, expired: int, snapshot: SnapshotText) -> bool:
    if home.table == snapshot.table:
        return ends_ms(home.path) <= expired
    return letters_end(home.path) <= min(position.end for position in snapshot.positions)


def _left(world: World, place: str) -> list[str]:
    """Return what a place has, without a success file that a late call has created."""
    names = sorted(world.namenode.directory(place) or ())
    return [n for n in names if n != "_SUCCESS" or f"{place}/{n}" not in world.namenode.created_late]
