"""The oracle of compactions by order: M1 and M3 of docs/protocol.md, from the snapshots' text."""

import json
from datetime import datetime, timedelta
from itertools import pairwise

from tests.simulation.chore_caller import DELAY_SECONDS
from tests.simulation.replay_oracle import new_orders
from tests.simulation.snapshot_text import SnapshotText, ToldOrder
from tests.simulation.watch import Violation
from tests.simulation.world import World


def is_over(closes: str, snapshot: SnapshotText, *, is_certified: bool) -> bool:
    """Return whether the table is read through the end of a period, and the map's delay if nothing was certified (K3)."""
    if snapshot.through == "-":
        return False
    delay = timedelta(seconds=0 if is_certified else DELAY_SECONDS)
    return datetime.fromisoformat(closes) + delay <= datetime.fromisoformat(snapshot.through)


def check_compactions(world: World, snapshots: list[SnapshotText]) -> None:
    """Check the end of each order to compact. Raises Violation."""
    for before, after in pairwise(snapshots):
        for each in new_orders(before, after):
            if each.kind == "compact":
                _check_end(world, snapshots, before, after, each)


def _check_end(
    world: World, snapshots: list[SnapshotText], before: SnapshotText, after: SnapshotText, each: ToldOrder
) -> None:
    """Check that whatever could be compacted in all snapshots since the order was given has moved, or has failed."""
    given = world.orders.given[each.id]
    if each.result.startswith("["):
        world.count["a compact refused"] += 1
        if not each.result.startswith("[compact.not_in_map]") or before.early:
            raise Violation(f"epoch {after.epoch} refuses {each}, early are {before.early}")
        return
    counts = json.loads(each.result.removeprefix("done "))
    since = [snapshot for snapshot in snapshots if given.epoch <= snapshot.epoch <= after.epoch]
    moved = {
        (unit.partition, snapshot.epoch)
        for snapshot in since[1:]
        if snapshot.generation == after.generation
        for unit in snapshot.units
    }
    if counts["moved"] > len(moved):
        raise Violation(f"epoch {after.epoch} has {each}, its owner has moved {moved}")
    world.count["partitions moved by order"] += counts["moved"]
    world.count["orders whose partitions failed"] += counts["failed_partitions"] > 0
    if counts["failed_partitions"] != len(counts["failed"]):
        return  # it names only the first ones
    waiting = set.intersection(*map(_complete, since)) - set(counts["failed"])
    if left := waiting & {early.partition.path for early in after.early}:
        raise Violation(f"epoch {after.epoch} has {each}, and {sorted(left)} are still early")


def _complete(snapshot: SnapshotText) -> set[str]:
    """Return the paths of the early partitions that may be compacted (K3)."""
    if snapshot.tracking is None:
        return set()
    waiting = {line.partition.path for line in snapshot.open}
    waiting |= {line.partition.path for line in snapshot.forgotten}
    return {
        early.partition.path
        for early in snapshot.early
        if early.partition.path not in waiting
        and is_over(early.closes, snapshot, is_certified=early.certified > 0)
    }
