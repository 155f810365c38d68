"""A process whose table takes orders: production's inbox and chores; letters are decoded by simulated tasks.

Operators act between its epochs: they order replays, and withdraw some of them. Like chore_caller.py, a mutant gets a copy.
"""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from kafka2hive.config.keys import TableRule
from kafka2hive.ledger.inbox import Inbox, LongInstruction, Order, ReplayLetters, new_order
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import Replay
from kafka2hive.model.errors import AmbiguousOutcome, Kafka2HiveError, ServiceUnavailable, TableError
from kafka2hive.model.paths.ledger import inbox_directory, parse_snapshot_name
from kafka2hive.model.paths.path import base_name
from kafka2hive.model.snapshot import ORDER_DONE
from kafka2hive.plan.contract import LETTERS_MISSING, TableManifest, TableTask, TaskPlan
from kafka2hive.service.chores.chores import ChoreTasks
from kafka2hive.service.orders.answers import change_for
from kafka2hive.service.replay.letter_files import rules_digest
from kafka2hive.service.run.inbox_watch import InboxWatch
from kafka2hive.service.tables.table_state import Table
from kafka2hive.storage.port import StorageError
from tests.simulation.chore_caller import ChoreCaller
from tests.simulation.filesystem import SimulatedFileSystem
from tests.simulation.operators import Given, Look
from tests.simulation.places import LEDGER, SERVICE, TABLE
from tests.simulation.tasks import TaskFailed
from tests.simulation.watch import Violation
from tests.simulation.world import World

SLOTS = 2
"""How many tasks an epoch may have, and so how many files of letters a batch."""
ROUNDS, ROUND_SECONDS = 200, 6.0
"""After the last fault, every order must be done within so many epochs that are so long."""
WITHDRAWALS = 12
"""One of so many orders is withdrawn."""


def waiting_orders(world: World) -> list[str]:
    """Return the names of the orders in the inbox."""
    names = world.namenode.directory(inbox_directory(LEDGER.root, SERVICE)) or ()
    return [name for name in names if name.endswith(".json")]


def finish_orders(world: World, driver: "OrderCaller") -> None:
    """Let a process work without faults until all orders are done; no operator acts any more. Raises Violation."""
    world.orders.rest = True
    for _ in range(ROUNDS):
        world.later += int(ROUND_SECONDS / world.step_seconds)
        driver.epoch()
        if not waiting_orders(world):
            return
    raise Violation(f"after {ROUNDS} epochs without faults these orders wait: {waiting_orders(world)}")


class OrderCaller(ChoreCaller):
    """A ChoreCaller that takes orders, and replays letters by them. `version` tells its map from others (P1)."""

    version: Hashable = None
    epochs_per_order = 1
    """Before one of so many epochs an operator orders a replay, by default before each without a waiting order."""

    def __init__(self, *arguments: Any, rule: TableRule, has_hive: bool = True, once: bool = True) -> None:
        """`once`: the search for letters is not interrupted."""
        world = arguments[0]
        super().__init__(*arguments, rule=rule, has_hive=has_hive, once=once)
        if world.replays or world.compacts_by_order:
            self.orders = InboxWatch(self.wiring)

    def start(self) -> None:
        """Start the table as before, and note by which map this owner decodes letters."""
        super().start()
        self.world.orders.versions[self.owned.generation.number] = self.version

    def epoch(self) -> None:
        """Let an operator act now and then, then commit one epoch as before."""
        world = self.world
        if (
            not world.orders.rest
            and world.replays
            and world.below(self.epochs_per_order) == 0
            and self._may_replay()
        ):
            rules = rules_digest(self.table.rule, self.wiring.map)
            self.give(ReplayLetters("", "", rules), withdraws=world.below(WITHDRAWALS) == 0)
        super().epoch()

    def _may_replay(self) -> bool:
        return not waiting_orders(self.world)

    def give(self, instruction: LongInstruction, *, withdraws: bool = False) -> None:
        """Let an operator with this process's map give an order, and perhaps withdraw it at once."""
        world, orders = self.world, self.world.orders
        name = f"operator{len(orders.given) + 1}"
        files = SimulatedFileSystem(world, name, self.files.hand_over)
        ports = replace(self.ports, files=files)
        order = new_order(ports, SERVICE, TABLE, name, instruction)
        orders.given[order.id] = Given(instruction.kind, self.version, self._newest_epoch())
        world.tell(name, f"gives order {order.id} to {instruction.kind}")
        try:
            path = Inbox(ports, LEDGER.root, SERVICE).give(order)
        except (AmbiguousOutcome, TableError) as error:
            world.tell(name, f"the order may be lost: {error.message}")
            return
        if not withdraws:
            orders.arrived.add(order.id)
            return
        orders.withdrawn.add(order.id)
        world.count["orders withdrawn"] += 1
        try:
            files.delete(path)
        except StorageError as error:
            world.tell(name, f"the order may stay: {error}")

    def _newest_epoch(self) -> int:
        """Return the newest finished epoch in the tree."""
        paths = self.world.namenode.files_below(LEDGER.table_directory)
        parsed = [parse_snapshot_name(base_name(path)) for path in paths]
        return max((each[0] for each in parsed if each and each[1] == "final"), default=-1)

    def carry_out(self, table: Table, order: Order, result: str | Kafka2HiveError = ORDER_DONE) -> None:
        """Commit the snapshot that records the end of an order."""
        self.world.tell(self.name, f"order {order.id} ends: {str(result).splitlines()[0]}")
        owned, now = table.owned, self.clock.now()
        self.publish(table, change_for(order, owned.ledger, now, owned.registered, result=str(result)))

    def publish(self, table: Table, change: Any) -> None:
        """Publish a change as before; a run completes partitions with a replay, too."""
        if isinstance(change, Replay):
            self.note_rows(self.owned)
            change = replace(change, completeness=self._complete())
            self.world.count["files replayed"] += len(change.replayed)
        super().publish(table, change)

    def note_rows(self, ledger: OwnedLedger) -> None:
        """Note that the next epoch of this ledger gets rows."""

    def _commit(self) -> None:
        if not self._replay():
            super()._commit()

    def _replay(self) -> bool:
        """Decode the letters that have the turn, and let the chore publish the results. Return whether there were any."""
        tasks = self._letter_tasks() if self.chores.is_waiting else ChoreTasks()
        chore = tasks.of(TABLE)
        if chore is None:
            return False
        try:
            manifests = [self.decode(plan.index, task) for plan in tasks.plans for task in plan.tables]
        except TaskFailed as failed:
            self.world.tell(self.name, f"the batch fails: {failed}")
            self.world.count["batches that failed as a whole"] += 1
            self.chores.failed((TABLE,), str(failed))
            return True
        if self.world.below(4) == 0:
            self._clean_up()
        try:
            chore.publish(self.table, manifests)
        except ServiceUnavailable as error:
            self.world.tell(self.name, f"the batch waits: {error.message}")
            self.world.count["batches tried again"] += 1
        return True

    def _letter_tasks(self) -> ChoreTasks:
        """Return the tasks that the chores add to the next epoch, for which records are due in half of the cases."""
        alone = self.chores.lone_tasks(SLOTS)
        if alone.plans:
            return alone
        if TABLE in self.chores.tables_with_turn() or self.world.below(2):
            return self.chores.tasks_with((), SLOTS)
        owned = self.owned
        records = TableTask(
            table=TABLE,
            ledger_id=owned.state.ledger_id,
            generation=owned.generation.number,
            epoch=owned.next_epoch,
            planned_at_ms=self.clock.epoch_ms(),
            ranges=(),
        )
        return self.chores.tasks_with((TaskPlan(0, (records,)),), SLOTS)

    def decode(self, index: int, task: TableTask) -> TableManifest:
        """Decode a file of letters as a task does, and note the result for the judge. Raises TaskFailed."""
        assert task.replay is not None
        manifest: TableManifest = self.code.tasks.decode_letters(self.world, self.files, index, task)
        failure, outcome = manifest.failure, "changed" if manifest.files else "again"
        if failure is None and any(each.account.filtered for each in manifest.accounts):
            outcome = "changed"
        if failure is not None:
            outcome = "missing" if failure.code == LETTERS_MISSING else "failed"
        look = Look(task.generation, task.epoch, task.replay.path, outcome, task.replay.rows)
        self.world.orders.looks.append(look)
        self.world.tell(self.name, f"decodes {task.replay.path}: {outcome}")
        return manifest
