"""The oracle of replays by order and by command: P1 to P5 and O3 of docs/protocol.md, from the snapshots' text and the inbox."""

import json
from collections.abc import Mapping
from itertools import pairwise

from kafka2hive.model.paths.ledger import inbox_directory
from kafka2hive.model.paths.path import join, parent
from tests.simulation.operators import Look, Replayed
from tests.simulation.order_caller import SLOTS, waiting_orders
from tests.simulation.places import LEDGER, SERVICE
from tests.simulation.snapshot_text import SnapshotText, ToldOrder, ToldProgress, ToldReplay
from tests.simulation.watch import Violation, epoch_of
from tests.simulation.world import World

COUNTS = ("files", "letters", "written", "filtered", "again")


def check_orders(world: World, snapshots: list[SnapshotText]) -> None:
    """Check that the inbox is empty, and that every order that arrived is recorded and in `done/` (O3)."""
    directory = inbox_directory(LEDGER.root, SERVICE)
    if left := waiting_orders(world):
        raise Violation(f"{directory} still has {sorted(left)}")
    recorded = {each.id for each in snapshots[-1].orders}
    orders = world.orders
    if missing := orders.arrived - recorded:
        raise Violation(f"orders {sorted(missing)} were given and never done")
    moved = {name.split(".")[0] for name in world.namenode.directory(join(directory, "done")) or ()}
    if moved - recorded or recorded - moved - orders.withdrawn:
        raise Violation(f"done/ has {sorted(moved)}, the ledger has done {sorted(recorded)}")
    world.count["orders answered"] += len(recorded)


def check_replays(world: World, snapshots: list[SnapshotText]) -> None:
    """Check what each epoch says of replays and of the orders that it has ended. Raises Violation."""
    ids: set[str] = set()
    for before, after in pairwise(snapshots):
        new = new_orders(before, after)
        for each in new:
            if each.epoch != after.epoch or each.id in ids or each.id not in world.orders.given:
                raise Violation(f"epoch {after.epoch} has the order {each}")
            if world.orders.given[each.id].kind != each.kind:
                raise Violation(f"epoch {after.epoch} has {each}, given was {world.orders.given[each.id]}")
            ids.add(each.id)
        check_progress(before, after, {each.id for each in new})
        if after.replayed:
            _check_replayed(world, before, after, ids)
        for each in new:
            if each.kind == "replay":
                _check_end(world, snapshots, before, each, after)
    _check_expired(world, snapshots)
    for generation, told in world.orders.results.items():
        _check_command(world, generation, told, snapshots)


def _check_expired(world: World, snapshots: list[SnapshotText]) -> None:
    """Check that no owner looks at letters of a partition that its ledger had dropped before (E2)."""
    dropped = {line.partition.location: line.epoch for snapshot in snapshots for line in snapshot.dropped}
    for look in world.orders.looks:
        through = dropped.get(parent(look.path), -1)
        if epoch_of(look.path) <= through < look.epoch:
            raise Violation(f"for epoch {look.epoch} {look.path} is decoded, dropped in epoch {through}")


def new_orders(before: SnapshotText, after: SnapshotText) -> list[ToldOrder]:
    """Return the orders that an epoch records. Orders stay in all later snapshots. Raises Violation."""
    known = {each.id for each in before.orders}
    new = [each for each in after.orders if each.id not in known]
    if after.orders != before.orders + tuple(new):
        raise Violation(
            f"{after.table}: epoch {after.epoch} has the orders {after.orders}, before {before.orders}"
        )
    return new


def check_progress(before: SnapshotText, after: SnapshotText, ended: set[str]) -> None:
    """Check that a `replaying` line changes only with a batch, and that it ends with its order (P4, P5)."""
    now, then = after.replaying, before.replaying
    if then is not None and then.order in ended:
        if now is not None:
            raise Violation(f"{after.table}: {now} is under way after its end")
    elif now != then and not after.replayed:
        raise Violation(f"{after.table}: epoch {after.epoch} has {now}, the one before {then}")


def check_sums(before: SnapshotText, after: SnapshotText) -> ToldProgress:
    """Check that a batch adds its lines to the progress of its order, and takes only letters up to `through` (P2, P4)."""
    now, then = after.replaying, before.replaying
    if now is None:
        raise Violation(f"{after.table}: epoch {after.epoch} replays letters without an order")
    if then is None or then.order != now.order:
        then = ToldProgress(now.order, min(now.through, before.epoch), 0, 0, 0, 0, 0)
    wanted = ToldProgress(
        now.order,
        then.through,
        *(told + more for told, more in zip(then[2:], _sums(after.replayed), strict=True)),
    )
    if now != wanted:
        raise Violation(f"{after.table}: epoch {after.epoch} has {now}, its lines make {wanted}")
    if newer := [one.path for one in after.replayed if epoch_of(one.path) > now.through]:
        raise Violation(f"{after.table}: the order of letters up to {now.through} has replayed {newer}")
    return now


def _sums(lines: tuple[ToldReplay, ...]) -> tuple[int, ...]:
    return (len(lines), *(sum(getattr(line, name) for line in lines) for name in COUNTS[1:]))


def _check_replayed(world: World, before: SnapshotText, after: SnapshotText, ids: set[str]) -> None:
    """Check the files that an epoch has replayed: by an order that is not done, or by a command."""
    if stayed := [one for one in after.replayed if one.again == one.letters]:
        raise Violation(f"epoch {after.epoch} replaces {stayed}, whose letters all stay letters")
    if after.generation in world.orders.commands:
        if after.replaying != before.replaying:
            raise Violation(f"a command's epoch {after.epoch} has {after.replaying}, not {before.replaying}")
        return
    now, then, orders = check_sums(before, after), before.replaying, world.orders
    if now.order not in orders.given or now.order in ids:
        raise Violation(f"epoch {after.epoch} replays letters by {now}, given were {sorted(orders.given)}")
    if then is not None and then.order != now.order and then.order not in orders.withdrawn:
        raise Violation(f"epoch {after.epoch} has {now}, and {then} was not done")
    if len(after.replayed) > SLOTS:
        raise Violation(f"epoch {after.epoch} replays {len(after.replayed)} files with {SLOTS} tasks")
    if orders.versions[after.generation] != orders.given[now.order].version:
        raise Violation(f"epoch {after.epoch} replays by another map than that of order {now.order}")
    if then is not None and then.order == now.order:
        world.count["a replay of several epochs"] += 1
        world.count["a replay that another owner has gone on with"] += before.generation < after.generation


def _check_end(
    world: World,
    snapshots: list[SnapshotText],
    before: SnapshotText,
    each: ToldOrder,
    after: SnapshotText,
) -> None:
    """Check the end of an order: who may refuse it, its counts, and that its owner has looked at all files that stay."""
    given, mine = world.orders.given[each.id], world.orders.versions[after.generation]
    if "order.other_map" in each.result:
        world.count["a replay of another map refused"] += 1
        if given.version == mine:
            raise Violation(f"epoch {after.epoch} refuses {each} of its own map")
        return
    if given.version != mine:
        raise Violation(f"epoch {after.epoch} ends {each} of another map")
    if each.result.startswith("["):
        world.count["a replay that its tasks have ended"] += 1
        if not each.result.startswith(("[task.killed]", "[storage.")):
            raise Violation(f"epoch {after.epoch} ends {each}")
        return
    running = before.replaying if before.replaying and before.replaying.order == each.id else None
    counts = json.loads(each.result.removeprefix("done "))
    if [counts[name] for name in COUNTS] != (list(running[2:]) if running else [0] * 5):
        raise Violation(f"epoch {after.epoch}: {each} is done, its epochs say {running}")
    through = running.through if running else given.epoch
    looks = _looks_of(world, snapshots, after)
    stay = _check_looked(snapshots, after.epoch, [s for s in snapshots if s.epoch <= through], looks, each)
    if not world.orders.withdrawn:  # what an order that was withdrawn has looked at cannot be told apart
        _check_untouched(each, counts, stay)


def _check_looked(
    snapshots: list[SnapshotText],
    through: int,
    wanted: list[SnapshotText],
    looks: Mapping[str, Look],
    who: object,
) -> list[Look]:
    """Check that the owner has looked at all letters of the `wanted` epochs, and that what it could replay is replayed.

    Return its last looks at the files that stay as they are up to epoch `through`.
    """
    gone = {one.path for snapshot in snapshots for one in snapshot.replayed if snapshot.epoch <= through}
    dropped = {line.partition.location: line.epoch for snapshot in snapshots for line in snapshot.dropped}
    letters = {
        file.final
        for snapshot in wanted
        for file in snapshot.files
        if file.kind == "dead_letter" and snapshot.epoch > dropped.get(file.hive_partition.location, -1)
    }
    stay = {path: look for path, look in looks.items() if path not in gone}
    if missed := letters - gone - {path for path, look in stay.items() if look.outcome != "failed"}:
        raise Violation(f"{who} is done, not looked at are {sorted(missed)}")
    if left := [path for path in sorted(letters & stay.keys()) if stay[path].outcome == "changed"]:
        raise Violation(f"{who} is done, and has left {left}, whose letters have changed")
    return list(stay.values())


def _looks_of(world: World, snapshots: list[SnapshotText], after: SnapshotText) -> dict[str, Look]:
    """Return an owner's last look at each file since it has ended an order before."""
    ends = [
        each.epoch
        for snapshot in snapshots
        if snapshot.generation == after.generation and snapshot.epoch < after.epoch
        for each in snapshot.orders
        if each.epoch == snapshot.epoch
    ]
    since = max(ends, default=-1)
    mine = (look for look in world.orders.looks if look.generation == after.generation)
    return {look.path: look for look in mine if since < look.epoch <= after.epoch}


def _check_untouched(each: ToldOrder, counts: dict[str, int], stay: list[Look]) -> None:
    """Check the counts of the files that stay as they are."""
    again = [look for look in stay if look.outcome == "again"]
    told = [counts[name] for name in ("unchanged", "unchanged_letters", "not_read_files")]
    missing = sum(look.outcome == "missing" for look in stay)
    if told != [len(again), sum(look.letters for look in again), missing]:
        raise Violation(f"{each} says {told}, its owner has seen {stay}")


def _check_command(world: World, generation: int, told: Replayed, snapshots: list[SnapshotText]) -> None:
    """Check what a command says that it has done, and that it has looked at all letters that were there before it."""
    mine = [each for each in snapshots if each.generation == generation and each.replayed]
    sums = [sum(column) for column in zip(*(_sums(each.replayed) for each in mine), strict=True)]
    if list(told[:5]) != (sums or [0] * 5) or told.epochs != tuple(each.epoch for each in mine):
        raise Violation(f"a command says {told}, its epochs {[each.epoch for each in mine]} make {sums}")
    before = [each for each in snapshots if each.generation < generation]
    last = max(each.epoch for each in snapshots if each.generation <= generation)
    looks = {look.path: look for look in world.orders.looks if look.generation == generation}
    _check_looked(snapshots, last, before, looks, f"the command of generation {generation}")
