"""The chores of one process, in their order, as the epoch loop sees them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from kafka2hive.ledger.inbox import Order
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.plan import TableBacklog
from kafka2hive.plan.contract import TaskPlan
from kafka2hive.service.chores.port import Chore, JobChore, LookingChore, OrderedChore, TaskChore, UnitRunner
from kafka2hive.service.hive.registrar import RegistrarEvent
from kafka2hive.service.tables.table_state import Table


@dataclass(frozen=True, slots=True)
class ChoreTasks:
    """The tasks that chores add to an epoch, and whose they are, by table."""

    plans: tuple[TaskPlan, ...] = ()
    chores: Mapping[str, TaskChore] = field(default_factory=dict)

    def of(self, table: str) -> TaskChore | None:
        """Return the chore whose tasks the table has; None if its tasks read records."""
        return self.chores.get(table)


@dataclass(frozen=True, slots=True)
class Chores:
    """All chores `in_order`, and those of them that implement the other parts of the port."""

    in_order: tuple[Chore, ...]
    ordered: tuple[OrderedChore, ...]
    looking: tuple[LookingChore, ...]
    with_tasks: tuple[TaskChore, ...]
    with_jobs: tuple[JobChore, ...]

    def step(self, *, is_idle: bool) -> list[Order]:
        """Let each chore do its step. Return the orders whose end a snapshot records now."""
        for chore in self.in_order:
            chore.step(is_idle=is_idle)
        return [order for chore in self.ordered for order in chore.ended()]

    def end(self) -> None:
        """Let the chores that wait for Hive take the last step of a run."""
        for chore in self.in_order:
            if chore in self.looking:
                chore.step(is_idle=True)

    def forget(self, table: Table) -> None:
        for chore in self.in_order:
            chore.forget(table)

    def keep(self, waiting: Collection[str]) -> None:
        """Forget the orders that are not in `waiting`, which has the ids in the inbox."""
        for chore in self.ordered:
            chore.keep(waiting)

    def begin(self, table: Table, orders: Sequence[Order], unread: Collection[str]) -> None:
        """Hand the orders of a table to the chores that take them (OrderedChore.begin)."""
        for chore in self.ordered:
            own = [order for order in orders if isinstance(order.instruction, chore.instruction)]
            chore.begin(table, own, unread)

    def watch(self, table: Table) -> None:
        for chore in self.looking:
            chore.watch(table)

    def release(self) -> None:
        for chore in self.looking:
            chore.release()

    def note(self, event: RegistrarEvent) -> None:
        for chore in self.looking:
            chore.note(event)

    @property
    def is_waiting(self) -> bool:
        """Whether tasks of chores wait for an epoch."""
        return any(chore.is_waiting for chore in self.with_tasks)

    def tables_with_turn(self) -> frozenset[str]:
        """Return the tables whose next epoch has tasks of chores instead of records."""
        return frozenset[str]().union(*(chore.tables_with_turn() for chore in self.with_tasks))

    def lone_tasks(self, slots: int) -> ChoreTasks:
        """Return the tasks that must be the only ones of the next epoch, if there are such tasks."""
        for chore in self.with_tasks:
            if plans := chore.lone_tasks(slots):
                return _tasks_of(chore, plans)
        return ChoreTasks()

    def tasks_with(self, others: Sequence[TaskPlan], slots: int) -> ChoreTasks:
        """Return the tasks that the chores add to an epoch whose tasks `others` read records."""
        plans, chores = list[TaskPlan](), dict[str, TaskChore]()
        for chore in self.with_tasks:
            added = _tasks_of(chore, chore.tasks_with([*others, *plans], slots))
            plans += added.plans
            chores |= added.chores
        return ChoreTasks(tuple(plans), chores)

    def failed(self, tables: Collection[str], reason: str) -> bool:
        """Note that an epoch failed as a whole. Return whether it had tasks of chores, which may be why."""
        had_tasks = [chore.failed(tables, reason) for chore in self.with_tasks]
        return any(had_tasks)

    @property
    def taken_slots(self) -> int:
        """How many tasks an epoch must leave to jobs under way."""
        return sum(chore.taken_slots for chore in self.with_jobs)

    def begin_jobs(
        self, backlogs: Sequence[TableBacklog], planned: Mapping[str, Sequence[OffsetRange]]
    ) -> None:
        """Begin the jobs that are due, beside the epoch that was just planned (JobChore.begin_job)."""
        for chore in self.with_jobs:
            chore.begin_job(backlogs, planned)

    def run_jobs_with(self, runner: UnitRunner) -> None:
        for chore in self.with_jobs:
            chore.runner = runner


def _tasks_of(chore: TaskChore, plans: Sequence[TaskPlan]) -> ChoreTasks:
    return ChoreTasks(tuple(plans), {task.table: chore for plan in plans for task in plan.tables})
