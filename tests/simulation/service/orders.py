"""Schedules of whole services whose runs take orders: operators pause and resume tables, and put wrong files into the inbox.

Before the end every table is resumed by one more order. Then each order that arrived must be done exactly once, by one table,
and no table may have read a record while it was paused.
"""

import json
from collections.abc import Callable
from itertools import pairwise

from kafka2hive.model.paths.ledger import LedgerPaths, inbox_directory, order_name, parse_snapshot_name
from kafka2hive.model.paths.path import base_name, join
from tests.simulation.actor import Actor
from tests.simulation.code import REAL, Production
from tests.simulation.namenode import FileNode
from tests.simulation.oracle import history
from tests.simulation.places import LEDGER
from tests.simulation.replay_oracle import check_progress, check_sums, new_orders
from tests.simulation.schedule import Outcome, outcome_of
from tests.simulation.service.maps import SERVICES, TABLES, TOPICS
from tests.simulation.service.oracle import judge
from tests.simulation.service.schedule import ServiceSchedule
from tests.simulation.snapshot_text import SnapshotText, ToldOrder
from tests.simulation.watch import Violation

NOBODYS = "db.nobodys"
KINDS = ("pause", "resume", "replay", "replay", "replay")
COMPACTING = (*KINDS[:2], "compact")
"""The kinds in a tenth of the schedules. No table of these services is compacted, so a run refuses the third."""
MISFITS = {
    "note.txt": b"do not touch",
    order_name("0" * 32): b"{",
    order_name("1" * 32): b'{"format":1,"id":"'
    + b"2" * 32
    + b'","service":"sim","table":"db.a","by":"x","given":"0","kind":"pause"}',
    order_name("3" * 32): b'{"format":1,"id":"'
    + b"3" * 32
    + b'","service":"other","table":"db.a","by":"x","given":"0","kind":"pause"}',
    order_name("4" * 32): b'{"format":1,"id":"'
    + b"4" * 32
    + b'","service":"sim","table":"db.a","by":"x","given":"0","kind":"drop"}',
}
"""Files that are no orders to the service `sim`: a name, a text, an id, a service and a kind are wrong."""


def run_schedule(seed: int, code: Production = REAL, trace: Callable[[str], None] | None = None) -> Outcome:
    """Play and judge one schedule. Failures are in the outcome."""
    return outcome_of(seed, OrderSchedule(seed, code, trace))


class OrderSchedule(ServiceSchedule):
    """A schedule of services, with operators."""

    def __init__(self, seed: int, code: Production, trace: Callable[[str], None] | None) -> None:
        self.has_letters = seed % 2 == 1
        self.kinds = KINDS if self.has_letters else COMPACTING if seed % 10 == 2 else KINDS[:2]
        super().__init__(seed, code, trace)
        self.around.takes_orders = True
        self.world.replays = True
        self.given: dict[str, tuple[str, str, str]] = {}
        """By id of each order that was tried: service, table, kind."""
        self.versions: dict[str, set[int]] = {}
        """By id of each order to replay letters: the versions of the maps with which it was given."""
        self.newest: dict[str, int] = {}
        """By id of each order: the newest finished epoch of its table when it was given first."""
        self.replaying: dict[str, str] = {}
        """By id of each order to replay letters, for the judge: the owner that has replayed letters last."""
        self.arrived: set[str] = set()
        self.operators: list[Actor] = []

    def run(self) -> None:
        if self.has_letters:
            self._write_letters()
        super().run()

    def _write_letters(self) -> None:
        """Produce and dump records, so that there are files of letters before the runs begin."""
        cluster = self.around.cluster
        cluster.growing = False
        for number in range(4):
            for tp in cluster.topic_partitions(tuple(filter(cluster.has, TOPICS))):
                cluster.grow(tp, 14)
            for service in SERVICES:
                name = f"{service}0{number}"
                self.code.service.Process(
                    self.around, name, self.code.service.Order(service, once=True)
                ).run()
        cluster.growing = True

    def _start(self, service: str, *, once: bool, take_over: bool | None = None) -> None:
        super()._start(service, once=once, take_over=take_over)
        if self.events:  # not during the calm
            for _ in range(self.world.below(3)):
                self._begin_operator()

    def _begin_operator(self) -> None:
        world = self.world
        service = tuple(TABLES)[int(world.below(4) == 0)]
        tables = [
            *TABLES[service],
            *TABLES[service],
            *TABLES["other" if service == "sim" else "sim"],
            NOBODYS,
        ]
        table = tables[world.below(len(tables))]
        if table != NOBODYS and not self._has_ledger(table):
            return  # the command says so, and gives no order
        if world.below(6) == 0:
            self._put_misfit()
            return
        repeated = [i for i, told in self.given.items() if told[:2] == (service, table)]
        twice = bool(repeated) and world.below(6) == 0
        order_id = repeated[-1] if twice else world.uuid()
        kind = self.kinds[world.below(len(self.kinds))]
        if twice:
            kind = self.given[order_id][2]
            world.count["an order given twice"] += 1
        self._operate(service, table, order_id, kind, carries_out=world.below(4) == 0)

    def _has_ledger(self, table: str) -> bool:
        return bool(self.world.namenode.directory(LedgerPaths(LEDGER.root, table).table_directory))

    def _operate(self, service: str, table: str, order_id: str, kind: str, *, carries_out: bool) -> None:
        world = self.world
        self.given[order_id] = (service, table, kind)
        at = f"{len(self.given):06d}"
        owned_here = table in TABLES[service]
        world.count["an order for another service's table"] += not owned_here

        def run(actor: Actor) -> None:
            self.versions.setdefault(order_id, set()).add(process.version)
            self.newest.setdefault(order_id, newest_epoch(self, table))
            instruction = self.code.repair.instruction_of(process, table, kind)
            if self.code.repair.run_order(
                process, order_id, table, instruction, at, carries_out=carries_out and owned_here
            ):
                self.arrived.add(order_id)

        actor = Actor(f"operator{len(self.given)}", run, self._stays, self.hub)
        order = self.code.service.Order(service, once=True)
        process = self.code.service.Process(self.around, actor.name, order, actor.hand_over)
        self.operators.append(actor)
        self.running.append(actor)

    def _put_misfit(self) -> None:
        world = self.world
        directory = inbox_directory(LEDGER.root, "sim")
        name = tuple(MISFITS)[world.below(len(MISFITS))]
        world.namenode.mkdirs(directory)
        if world.namenode.node(join(directory, name)) is None:
            world.namenode.create(join(directory, name)).content = MISFITS[name]
            world.count["a text that is no order"] += 1

    def _crash(self) -> None:
        before = set(self.running + self.paused)
        super()._crash()
        gone = before - set(self.running + self.paused)
        self.world.count["an operator killed"] += len(gone.intersection(self.operators))

    def calm(self) -> None:
        self._resume_all()
        super().calm()

    def judge(self) -> None:
        self._resume_all()
        judge(self.around, self.code)
        check_orders(self)

    def _resume_all(self) -> None:
        """End the operators, let late RPCs arrive, and give one more order for each table, without faults."""
        from tests.simulation.faults import NO_FAULTS

        world = self.world
        for actor in self.operators:
            for actors in (self.running, self.paused):
                if actor in actors:
                    actors.remove(actor)
                    actor.crash()
        self.operators.clear()
        world.use(NO_FAULTS)
        world.trouble = None
        while world.late:
            world.execute_late()
        for service, tables in TABLES.items():
            for table in filter(self._has_ledger, tables):
                if not self._give(service, table, "resume"):
                    raise Violation(f"without faults no order can be given for {table}")

    def _give(self, service: str, table: str, kind: str) -> bool:
        """Give an order at once, and return whether it has arrived."""
        order_id = self.world.uuid()
        self.given[order_id] = (service, table, kind)
        order = self.code.service.Order(service, once=True)
        process = self.code.service.Process(self.around, f"{kind} {table}", order)
        self.versions[order_id] = {process.version}
        self.newest[order_id] = newest_epoch(self, table)
        wanted = self.code.repair.instruction_of(process, table, kind)
        at = f"{len(self.given):06d}"
        arrived = self.code.repair.run_order(process, order_id, table, wanted, at, carries_out=False)
        if arrived:
            self.arrived.add(order_id)
        return bool(arrived)


def check_orders(schedule: OrderSchedule) -> None:
    """Check from the bare tree that each order was done once, and what a pause promises. Raises Violation."""
    world, done = schedule.world, dict[str, str]()
    for service, tables in TABLES.items():
        for table in tables:
            for order_id in _check_table(schedule, service, table):
                if order_id in done:
                    raise Violation(f"order {order_id} was done by {done[order_id]} and {table}")
                done[order_id] = table
    moved: set[str] = set()
    for service in TABLES:
        moved |= _check_inbox(schedule, service, frozenset(done))
    if moved != done.keys():
        raise Violation(f"done/ has {sorted(moved)}, the ledgers have done {sorted(done)}")
    for order_id in schedule.arrived - done.keys():
        service, table, _ = schedule.given[order_id]
        if table in TABLES[service]:
            raise Violation(f"order {order_id} was given to {table} and never done")
    world.count["orders answered"] += len(done)


def _check_table(schedule: OrderSchedule, service: str, table: str) -> set[str]:
    """Check the history of one table, and return the ids of the orders that it has done."""
    world, ids, paused = schedule.world, set[str](), None
    snapshots = history(world, LedgerPaths(LEDGER.root, table))
    check_replays(schedule, snapshots)
    for before, after in pairwise(snapshots):
        new = new_orders(before, after)
        for each in new:
            refused = each.kind in ("replay", "compact") and each.result.startswith("[")
            world.count[f"a {each.kind} refused"] += refused
            if each.kind == "compact" and not each.result.startswith("[compact.not_in_map]"):
                raise Violation(f"{table} is not compacted, and has done {each}")
            if (
                each.epoch != after.epoch
                or each.id in ids
                or not (refused or each.result.split(" ")[0] == "done")
            ):
                raise Violation(f"{table}: epoch {after.epoch} has the order {each}")
            if schedule.given.get(each.id) != (service, table, each.kind):
                raise Violation(f"{table} has done {each}, given was {schedule.given.get(each.id)}")
            ids.add(each.id)
            by_run = after.owner.startswith(("sim", "other"))
            world.count["an order done by a run" if by_run else "an order done by a command"] += 1
            world.count["an order done of a table that was paused"] += paused is not None
            if each.kind in ("replay", "compact"):
                continue
            paused = None if each.kind == "resume" else paused or each.id
            world.count["tables paused"] += each.kind == "pause"
        if after.paused != paused:
            raise Violation(
                f"{table}: epoch {after.epoch} is paused by {after.paused}, its orders say {paused}"
            )
        if before.paused and after.accounts:
            raise Violation(f"{table}: epoch {after.epoch} has read {after.accounts}, and was paused")
    world.count["epochs of other tables while one is paused"] += _epochs_beside(schedule)
    return ids


def newest_epoch(schedule: OrderSchedule, table: str) -> int:
    """Return the newest finished epoch of the table."""
    paths = schedule.world.namenode.files_below(LedgerPaths(LEDGER.root, table).table_directory)
    parsed = [parse_snapshot_name(base_name(path)) for path in paths]
    return max((each[0] for each in parsed if each and each[1] == "final"), default=-1)


def check_replays(schedule: OrderSchedule, snapshots: list[SnapshotText]) -> None:
    """Check what orders to replay letters have done: by the right map, only letters from before it, and counted truly."""
    for before, after in pairwise(snapshots):
        new = new_orders(before, after)
        check_progress(before, after, {each.id for each in new})
        if after.replayed:
            _check_batch(schedule, before, after)
        for each in new:
            if each.kind == "replay":
                _check_end(schedule, snapshots, before, after, each)


def _check_batch(schedule: OrderSchedule, before: SnapshotText, after: SnapshotText) -> None:
    now, then = check_sums(before, after), before.replaying
    if now.order not in schedule.given:
        raise Violation(f"{after.table}: epoch {after.epoch} replays letters by {now}, which was not given")
    if then is not None:
        if then.order != now.order:
            raise Violation(f"{after.table}: epoch {after.epoch} has {now}, and {then} was not done")
        schedule.world.count["a replay of several epochs"] += 1
        went_on = schedule.replaying.get(now.order, after.owner) != after.owner
        schedule.world.count["a replay that another run has gone on with"] += went_on
    schedule.replaying[now.order] = after.owner
    _check_map(schedule, now.order, after)


def _check_map(schedule: OrderSchedule, order_id: str, after: SnapshotText) -> None:
    if schedule.around.version_of(after.owner) not in schedule.versions[order_id]:
        raise Violation(
            f"{after.table}: {after.owner} does order {order_id} by another map than {schedule.versions[order_id]}"
        )


def _check_end(
    schedule: OrderSchedule,
    snapshots: list[SnapshotText],
    before: SnapshotText,
    after: SnapshotText,
    each: ToldOrder,
) -> None:
    running = before.replaying if before.replaying and before.replaying.order == each.id else None
    schedule.world.count["a replay of another map refused"] += "order.other_map" in each.result
    if "order.other_map" in each.result:
        if {schedule.around.version_of(after.owner)} == schedule.versions[each.id]:
            raise Violation(f"{after.owner} refuses {each} of its own map")
        return
    if each.result.startswith("["):
        return
    _check_map(schedule, each.id, after)
    if not each.result.startswith("done {"):
        raise Violation(f"{after.table}: {each} has no counts")
    counts = json.loads(each.result.removeprefix("done "))
    told = [counts[name] for name in ("files", "letters", "written", "filtered", "again")]
    if told != (list(running[2:]) if running else [0] * 5):
        raise Violation(f"{after.table}: {each} says {told}, its epochs {running}")
    gone = {one.path for snapshot in snapshots for one in snapshot.replayed if snapshot.epoch < after.epoch}
    through = running.through if running else schedule.newest[each.id]
    letters = {
        file.final
        for snapshot in snapshots
        for file in snapshot.files
        if file.kind == "dead_letter" and snapshot.epoch <= through
    }
    tried = {path for name, path in schedule.around.tried if name == after.owner.split("-")[0]}
    if missed := letters - gone - tried:
        raise Violation(f"{after.table}: {each} is done, not looked at are {sorted(missed)}")


def _epochs_beside(schedule: OrderSchedule) -> bool:
    """Return whether a table of `sim` was paused in its history while the other one read on."""
    histories = [history(schedule.world, LedgerPaths(LEDGER.root, table)) for table in TABLES["sim"]]
    return any(s.paused for s in histories[0]) and any(s.accounts for s in histories[1])


def _check_inbox(schedule: OrderSchedule, service: str, done: frozenset[str]) -> set[str]:
    """Check what is left in the inbox, and return the ids of the files in `done/`."""
    world, directory = schedule.world, inbox_directory(LEDGER.root, service)
    left = [name for name in world.namenode.directory(directory) or () if not name.endswith(".in-progress")]
    if strange := set(left) - {"done", "rejected"}:
        raise Violation(f"{directory} still has {sorted(strange)}")
    for name in world.namenode.directory(join(directory, "rejected")) or ():
        node = world.namenode.node(join(directory, "rejected", name))
        assert isinstance(node, FileNode)
        world.count["orders put aside"] += 1
        order_id = base_name("/" + name).removesuffix(".json").split(".")[0]
        if name.split(".")[0] + ".json" in MISFITS or name.startswith("note.txt") or not node.content:
            continue
        _, table, _ = schedule.given[order_id]
        if table in TABLES[service] or order_id in done:
            raise Violation(f"{directory} has put order {order_id} of {table} aside")
    return {name.split(".")[0] for name in world.namenode.directory(join(directory, "done")) or ()}
