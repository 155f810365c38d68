"""The oracle of `register: complete`: recounts from the snapshots' text which partitions wait for certificates (G1 to G5)."""

import json
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.paths.ledger import LedgerPaths, parse_snapshot_name
from kafka2hive.model.paths.path import base_name
from kafka2hive.model.paths.table_directory import other_place
from kafka2hive.model.snapshot import REBUILT
from tests.simulation.metastore import Hive
from tests.simulation.namenode import FileNode
from tests.simulation.places import LEDGER
from tests.simulation.snapshot_text import SnapshotText, read_snapshot
from tests.simulation.watch import Violation
from tests.simulation.world import World

if TYPE_CHECKING:
    from tests.simulation.compacting_caller import CompactingCaller

EPOCHS = 12
"""Without faults, each open partition becomes complete within so many epochs."""


def watch(world: World) -> None:
    """Check from now on that no process shows a partition in Hive that has no certificate."""
    world.withholds = True
    world.shows = lambda partition: check_shown(world, partition)


def check_shown(world: World, partition: HivePartition) -> None:
    """Check that a partition that the newest snapshot withholds has a certificate, at the place that Hive gets (G2)."""
    newest = newest_snapshot(world, partition.table)
    if newest is None or partition.name not in {each.name for each in newest.withheld}:
        return
    world.count["withheld partitions that were registered"] += 1
    if not certificates_of(world, newest.ledger_id, partition):
        raise Violation(f"Hive gets {partition}, which has no certificate")


def newest_snapshot(world: World, table: str) -> SnapshotText | None:
    """Return the newest snapshot of a table's ledger, None if the table has no ledger."""
    paths = [
        (parsed[0], path)
        for path in world.namenode.files_below(LedgerPaths(LEDGER.root, table).table_directory)
        if (parsed := parse_snapshot_name(base_name(path))) and world.namenode.read(path)
    ]
    return read_snapshot(world.namenode.read(max(paths)[1])) if paths else None


def certificates_of(world: World, ledger_id: str, partition: HivePartition) -> list[int]:
    """Return the generations of the certificates of the partition at its place."""
    generations = []
    prefix = f"_kafka2hive_complete-{ledger_id[:8]}-"
    for name in world.namenode.directory(partition.location) or ():
        node = world.namenode.node(f"{partition.location}/{name}")
        if name.startswith(prefix) and name.endswith(".json") and isinstance(node, FileNode) and node.content:
            text = json.loads(node.content)
            if text["partition"] == partition.path:
                generations.append(text["generation"])
    return generations


def finish_waiting(world: World, hive: Hive, driver: "CompactingCaller") -> None:
    """Let a run go on without faults: what waits now must be in Hive soon."""
    waiting = {each.name for each in driver.owned.state.withheld}
    is_open = {each.partition.name for each in driver.owned.state.open}
    try:
        for _ in range(EPOCHS):
            if not waiting & is_open & {each.name for each in driver.owned.state.withheld}:
                break
            driver.epoch()
        driver.rest()
        driver.record()
    except Kafka2HiveError as error:
        raise Violation(f"the service cannot go on: {error}") from error
    state = driver.owned.state
    dropped = {each.partition.name for each in state.dropped}
    if stuck := waiting & is_open & {each.name for each in state.withheld}:
        raise Violation(f"these wait for a certificate after {EPOCHS} epochs: {sorted(stuck)}")
    if strange := waiting - {each.name for each in state.withheld} - dropped - hive.registered.keys():
        raise Violation(f"these wait no more, and Hive does not have them: {sorted(strange)}")
    world.count["partitions that waited until the end"] += len(waiting)


def check_withheld(world: World, snapshots: list[SnapshotText]) -> None:
    """Check of each snapshot which partitions it withholds.

    A partition with its first files waits if the map says so. It waits until the snapshot after the one that certifies it,
    unless that opens it again; it stops before only if the map changes, or if it is dropped.
    """
    _check_rebuilt(world, snapshots)
    had: set[str] = {file.hive_partition.path for file in snapshots[0].files if file.kind != "dead_letter"}
    for before, snapshot in pairwise(snapshots):
        registers = world.registers.get((snapshot.generation, snapshot.epoch))
        new = {file.hive_partition.path for file in snapshot.files if file.kind == "data"} - had
        had |= new
        if snapshot.owner == REBUILT:
            continue
        waits = {each.path for each in before.withheld}
        reopened = {each.path for each in snapshot.reopened}
        certified = {each.partition.path for each in before.certificates} - reopened
        dropped = {line.partition.path for line in snapshot.dropped}
        expected = (waits - certified | (new if registers else set())) - dropped
        told = {each.path for each in snapshot.withheld}
        if snapshot.tracking is None or (snapshot.generation, snapshot.epoch) in world.told_first:
            expected = set()
        if told != expected:
            raise Violation(f"epoch {snapshot.epoch} withholds {sorted(told)}, not {sorted(expected)}")
        told_hive = {each.path for each in (*snapshot.unregistered, *snapshot.registered)}
        if lost := waits - expected - dropped - told_hive:
            raise Violation(f"epoch {snapshot.epoch} tells Hive nothing of {sorted(lost)}")
        world.count["partitions withheld"] += len(told - waits)
        world.count["withheld partitions opened again"] += len(waits & reopened)
        world.count["partitions withheld no more because of the map"] += bool(
            waits - certified - dropped - told
        )


def _check_rebuilt(world: World, snapshots: list[SnapshotText]) -> None:
    """Check that a rebuilt ledger withholds what has no certificate, if the map says so (G5)."""
    if not world.rebuilt or not world.withholds:
        return
    for snapshot in snapshots[:2]:
        if snapshot.owner != REBUILT:
            return
        told = {each.path for each in snapshot.withheld}
        world.count["partitions that a rebuilt ledger withholds"] += len(told)
        for file in snapshot.files:
            place = file.hive_partition
            if file.kind != "data" or place.path in told:
                continue
            places = (place, replace(place, location=other_place(place.location, place.path)))
            of = [g for at in places for g in certificates_of(world, snapshot.ledger_id, at)]
            if not any(generation < snapshot.generation for generation in of):
                raise Violation(f"the rebuilt ledger tells Hive of {place}, which has no certificate")
