"""The oracle of news: recounts from the snapshots' text who must have been told what, and in which order (N1 to N6)."""

from itertools import pairwise
from typing import TYPE_CHECKING

from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.model.snapshot import REBUILT
from tests.simulation.receivers import LATE, NAMES, SHAKY, STEADY
from tests.simulation.snapshot_text import SnapshotText
from tests.simulation.watch import Violation
from tests.simulation.world import World

if TYPE_CHECKING:
    from tests.simulation.compacting_caller import CompactingCaller

ROUNDS = 12
"""Without faults, every receiver has taken all news within so many rounds, and the ledger says so."""


def finish_news(world: World, driver: "CompactingCaller") -> None:
    """Let a run go on without faults: first without the dead receiver, which must delay nothing, then with all of them."""
    boxes = world.mailboxes
    if boxes is None:
        return
    boxes.in_map.update(NAMES)
    try:
        driver.start()
        boxes.dead.add(SHAKY)
        _tell_all(world, driver)
        epoch, known = driver.owned.state.epoch, set(boxes.arrived[STEADY])
        boxes.dead.clear()
        world.later += 1_000
        _tell_all(world, driver)
    except Kafka2HiveError as error:
        raise Violation(f"the service cannot go on: {error}") from error
    if late := [each for each in boxes.arrived[STEADY] if each not in known and _epoch(each) <= epoch]:
        raise Violation(f"{STEADY} was told {late} only when {SHAKY} answered again")


def _tell_all(world: World, driver: "CompactingCaller") -> None:
    for _ in range(ROUNDS):
        driver.rest()
        driver.tell(most=10_000)
        if driver.news.is_unrecorded(driver.table, ending=True) or driver.owned.state.certificates:
            driver.record()


def check_news(world: World, snapshots: list[SnapshotText]) -> None:
    """Check that each receiver was told what the history says, in order after doubles are dropped, and that the ledger knows."""
    boxes = world.mailboxes
    if boxes is None:
        return
    required, optional = _expected(snapshots)
    for name in NAMES:
        begin = _begin(name, snapshots)
        if world.rebuilt and name in boxes.had:
            begin = world.rebuilt - 1
        arrived = [each for each in dict.fromkeys(boxes.arrived[name]) if _epoch(each) > begin]
        expected = [each for each in required if _epoch(each) > begin]
        arrived = [each for each in arrived if each not in optional]
        if arrived != expected:
            missing = [each for each in expected if each not in arrived]
            strange = [each for each in arrived if each not in expected]
            raise Violation(f"{name} was not told {missing}, was told {strange}, in the order {arrived}")
        told = dict(snapshots[-1].told).get(name, -1)
        if expected and told < _epoch(expected[-1]):
            raise Violation(f"the ledger says that {name} is at epoch {told}, and it was told {expected[-1]}")
        _check_lines(name, snapshots)


def _begin(name: str, snapshots: list[SnapshotText]) -> int:
    """Return after which epoch the receiver is told everything: as the first line says; of a lost ledger since it is rebuilt."""
    without = 0 if name == LATE else snapshots[-1].epoch
    first = next((dict(each.told)[name] for each in snapshots if name in dict(each.told)), without)
    return max(first, snapshots[0].epoch - 1)


def _check_lines(name: str, snapshots: list[SnapshotText]) -> None:
    """Check that a receiver never goes back, and never gets ahead of the epochs that are final."""
    for before, snapshot in pairwise(snapshots):
        old, new = dict(before.told).get(name), dict(snapshot.told).get(name)
        if old is not None and (new is None or not old <= new <= before.epoch):
            raise Violation(f"epoch {snapshot.epoch} says that {name} is at {new}, after {old}")


def _expected(snapshots: list[SnapshotText]) -> tuple[list[str], set[str]]:
    """Return the ids that must arrive, in order, and those that may: of certificates that the next snapshot withdraws."""
    required: dict[str, None] = {}
    optional: set[str] = set()
    for index, snapshot in enumerate(snapshots):
        ids = [("reopened", each.path) for each in snapshot.reopened]
        ids += [("replayed", str(each.task)) for each in snapshot.replayed]
        ids += [("compacted", each.partition.path) for each in snapshot.units]
        ids += [("complete", each.partition.path) for each in snapshot.certificates]
        ids += [("dropped", each.partition.path) for each in snapshot.dropped if each.epoch == snapshot.epoch]
        if snapshot.owner == REBUILT and index == 0:
            ids = [("lost", ""), *ids]
        following = snapshots[index + 1] if index + 1 < len(snapshots) else None
        withdrawn = {each.path for each in following.reopened} if following else set()
        for kind, subject in ids:
            id = f"{snapshot.ledger_id}/{snapshot.epoch}/{kind}/{subject}"
            if kind == "complete" and subject in withdrawn:
                optional.add(id)
            else:
                required[id] = None
    return list(required), optional


def _epoch(id: str) -> int:
    return int(id.split("/")[1])
