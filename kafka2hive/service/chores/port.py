"""The port of chores: what a process that owns tables lets them do, and what it asks of them (docs/architecture.md, Chores).

A chore implements `Chore`, and of the other protocols those that it needs.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from kafka2hive.ledger.inbox import LongInstruction, Order
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import Change, Expiry, PlaceUpdate
from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.model.snapshot import ORDER_DONE
from kafka2hive.plan import TableBacklog
from kafka2hive.plan.contract import TableManifest, TaskPlan, UnitAssignment, UnitResult
from kafka2hive.service.hive.registrar import RegistrarEvent
from kafka2hive.service.tables.table_state import Table

Result = TypeVar("Result")


class TableOwner(Protocol):
    """A process that owns tables, for its chores. It calls them under its lock, one at a time."""

    @property
    def tables(self) -> Mapping[str, Table]:
        """All tables of the process, also those that it does not own now."""
        ...

    def serving(self) -> list[Table]:
        """Return the owned tables that may commit now."""
        ...

    def attempt(self, table: Table, work: Callable[[Table], Result]) -> list[Result]:
        """Return the result of `work` in a list; an empty list if it failed, and only this table suffers from that."""
        ...

    def map_tables(self, tables: Iterable[Table], work: Callable[[Table], Result]) -> list[Result]:
        """Do `work` for the tables as `attempt` does, several at a time. Return the results of those that succeeded."""
        ...

    def publish(self, table: Table, change: Change) -> object:
        """Commit a change of a table, and make it visible. `attempt` handles its errors."""
        ...

    def carry_out(self, table: Table, order: Order, result: str | Kafka2HiveError = ORDER_DONE) -> None:
        """Commit the snapshot that records the end of an order, or why it is refused. Raises as `publish` does."""
        ...


class HiveLooks(Protocol):
    """Asks Hive about partitions of owned tables. The answers arrive later, as events."""

    def watch(
        self, table: str, partitions: frozenset[HivePartition], counted: frozenset[HivePartition]
    ) -> None:
        """Replace the partitions of a table whose locations are compared (see Registrar.watch)."""
        ...

    def drop(self, table: str, dropped: Mapping[HivePartition, bool]) -> None:
        """Replace the dropped partitions of a table (see Registrar.drop)."""
        ...


class Chore(Protocol):
    """Work on tables between epochs. What it remembers of a table can be derived again from the ledger and the inbox."""

    def step(self, *, is_idle: bool) -> None:
        """Do for each table that serves what is due now. No epoch may be under way.

        `is_idle` says that no table was due at the last plan, so that the step may take longer. A crash leaves what the
        ledger's rules allow between two snapshots.
        """
        ...

    def forget(self, table: Table) -> None:
        """Drop all memory of a table, because its ledger is read again."""
        ...


class OrderedChore(Chore, Protocol):
    """A chore that carries out orders with the instruction `instruction`, at most one at a time for each table."""

    @property
    def instruction(self) -> type[LongInstruction]: ...

    def begin(self, table: Table, orders: Sequence[Order], unread: Collection[str]) -> None:
        """Begin the next of these orders to the table, unless one is under way. No epoch may be under way.

        `unread` has the ids of orders in the inbox that could not be read. Raises as `TableOwner.publish` does.
        """
        ...

    def keep(self, waiting: Collection[str]) -> None:
        """Forget orders that somebody withdrew: their ids are not in `waiting`, which has the ids in the inbox."""
        ...

    def ended(self) -> list[Order]:
        """Return the orders whose end a snapshot records since the last call."""
        ...


class LookingChore(Chore, Protocol):
    """A chore that needs answers of Hive."""

    def watch(self, table: Table) -> None:
        """Hand over what to ask Hive about the table: after a take-over and after each commit."""
        ...

    def release(self) -> None:
        """Ask nothing more about tables that the process does not own any more."""
        ...

    def note(self, event: RegistrarEvent) -> None:
        """Keep an answer for the next step, if it is for this chore."""
        ...


class TaskChore(Chore, Protocol):
    """A chore that adds tasks to epochs. A table has in one epoch either tasks of a chore or tasks that read records."""

    @property
    def is_waiting(self) -> bool:
        """Whether tasks wait for an epoch."""
        ...

    def tables_with_turn(self) -> frozenset[str]:
        """Return the tables whose next epoch has tasks of this chore instead of records."""
        ...

    def lone_tasks(self, slots: int) -> Sequence[TaskPlan]:
        """Return the tasks that must be the only ones of the next epoch; none if there are no such tasks."""
        ...

    def tasks_with(self, others: Sequence[TaskPlan], slots: int) -> Sequence[TaskPlan]:
        """Return the tasks to add to an epoch with the tasks `others`; their indexes follow."""
        ...

    def publish(self, table: Table, manifests: Sequence[TableManifest]) -> None:
        """Publish what the table's tasks of this chore returned. Raises as `TableOwner.publish` does."""
        ...

    def failed(self, tables: Collection[str], reason: str) -> bool:
        """Note that an epoch of these tables failed as a whole. Return whether it had tasks of this chore, which may be why."""
        ...


class UnitRunner(Protocol):
    """Runs units of compaction in parallel with the epochs, one job at a time (spark/jobs.py)."""

    def cores(self) -> int:
        """Return how many cores Spark has now. Raises ServiceUnavailable (`spark.gone`)."""

    def begin(self, assignments: Sequence[UnitAssignment]) -> None: ...

    def take(self) -> Sequence[UnitResult] | Exception | None:
        """Return the results of the job that has ended, or the error with which it failed as a whole; otherwise None."""


class JobChore(Chore, Protocol):
    """A chore with jobs that run beside the epochs. It begins none before `runner` is set."""

    runner: UnitRunner | None

    @property
    def taken_slots(self) -> int:
        """How many tasks an epoch must leave to the job under way."""
        ...

    def begin_job(
        self, backlogs: Sequence[TableBacklog], planned: Mapping[str, Sequence[OffsetRange]]
    ) -> None:
        """Begin a job if one is due. `planned` has the ranges of the epoch that was just planned, by table."""
        ...


def publish_alone(owner: TableOwner, table: Table, change: PlaceUpdate | Expiry) -> OwnedLedger:
    """Publish a change that has no records, with Hive's confirmations so far. Return the ledger after it."""
    owner.publish(table, replace(change, registered=table.owned.registered))
    return table.owned.ledger


def work_on_serving(
    owner: TableOwner, has_work: Callable[[Table], bool], work: Callable[[Table], None]
) -> None:
    """Do `work` for the tables that serve and have work."""
    if with_work := [table for table in owner.serving() if any(owner.attempt(table, has_work))]:
        owner.map_tables(with_work, work)
