"""Schedules of whole services whose runs take orders: operators pause and resume tables, and put wrong files into the inbox.

Before the end every table is resumed by one more order. Then each order that arrived must be done exactly once, by one table,
and no table may have read a record while it was paused.
"""

from collections.abc import Callable
from itertools import pairwise

from kafka2hive.model.paths.ledger import LedgerPaths, inbox_directory, order_name
from kafka2hive.model.paths.path import base_name, join
from tests.simulation.actor import Actor
from tests.simulation.code import REAL, Production
from tests.simulation.namenode import FileNode
from tests.simulation.oracle import history
from tests.simulation.places import LEDGER
from tests.simulation.schedule import Outcome, outcome_of
from tests.simulation.service.maps import TABLES
from tests.simulation.service.oracle import judge
from tests.simulation.service.schedule import ServiceSchedule
from tests.simulation.watch import Violation

NOBODYS = "db.nobodys"
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
        super().__init__(seed, code, trace)
        self.around.takes_orders = True
        self.given: dict[str, tuple[str, str, str]] = {}
        """By id of each order that was tried: service, table, kind."""
        self.arrived: set[str] = set()
        self.operators: list[Actor] = []

    def _start(self, service: str, *, once: bool) -> None:
        super()._start(service, once=once)
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
        instruction = self.code.repair.INSTRUCTIONS[world.below(2)]
        if twice:
            instruction = next(i for i in self.code.repair.INSTRUCTIONS if i.kind == self.given[order_id][2])
            world.count["an order given twice"] += 1
        self._operate(service, table, order_id, instruction, carries_out=world.below(4) == 0)

    def _has_ledger(self, table: str) -> bool:
        return bool(self.world.namenode.directory(LedgerPaths(LEDGER.root, table).table_directory))

    def _operate(
        self, service: str, table: str, order_id: str, instruction: object, *, carries_out: bool
    ) -> None:
        world = self.world
        self.given[order_id] = (service, table, getattr(instruction, "kind", ""))
        at = f"{len(self.given):06d}"
        owned_here = table in TABLES[service]
        world.count["an order for another service's table"] += not owned_here

        def run(actor: Actor) -> None:
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
                order_id = world.uuid()
                self.given[order_id] = (service, table, "resume")
                process = self.code.service.Process(
                    self.around, f"last{table}", self.code.service.Order(service, once=True)
                )
                resume = self.code.repair.INSTRUCTIONS[1]
                at = f"{len(self.given):06d}"
                if not self.code.repair.run_order(process, order_id, table, resume, at, carries_out=False):
                    raise Violation(f"without faults no order can be given for {table}")
                self.arrived.add(order_id)


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
    for before, after in pairwise(snapshots):
        new = [each for each in after.orders if each.id not in {known.id for known in before.orders}]
        if after.orders != before.orders + tuple(new):
            raise Violation(
                f"{table}: epoch {after.epoch} has the orders {after.orders}, before {before.orders}"
            )
        for each in new:
            if each.epoch != after.epoch or each.id in ids or each.result != "done":
                raise Violation(f"{table}: epoch {after.epoch} has the order {each}")
            if schedule.given.get(each.id) != (service, table, each.kind):
                raise Violation(f"{table} has done {each}, given was {schedule.given.get(each.id)}")
            ids.add(each.id)
            by_run = after.owner.startswith(("sim", "other"))
            world.count["an order done by a run" if by_run else "an order done by a command"] += 1
            world.count["an order done of a table that was paused"] += paused is not None
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
