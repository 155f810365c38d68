"""The steps of the epoch loop on its tables. They run in parallel, and an error of one table does not affect the others."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar, assert_never

from kafka2hive.config.keys import TableSettings
from kafka2hive.ledger.inbox import Order
from kafka2hive.ledger.owned_ledger import list_own_directory
from kafka2hive.ledger.snapshot.change import Change, RegistrationUpdate
from kafka2hive.model.errors import Fenced, Kafka2HiveError, OwnedByLiveRun, TakeOverLost
from kafka2hive.model.snapshot import ORDER_DONE
from kafka2hive.service.hive.dropped import DropLookResult
from kafka2hive.service.hive.places import LocationCorrection, LocationLook
from kafka2hive.service.hive.registrar import (
    NoRegistrar,
    RefusedByHive,
    RegisteredInHive,
    Registrar,
)
from kafka2hive.service.hive.table_looks import TableGone
from kafka2hive.service.progress_lock import BusyLock
from kafka2hive.service.run.chores import chores_of_a_run
from kafka2hive.service.run.owned_tables import OwnedTables
from kafka2hive.service.run.stopped_tables import StoppedTables
from kafka2hive.service.run.table_guard import TableGuard
from kafka2hive.service.tables.report import Reporter, TablePublication
from kafka2hive.service.tables.table_state import Owned, Table, Unowned
from kafka2hive.service.wiring import Wiring

log = logging.getLogger(__name__)

Result = TypeVar("Result")

FENCE_SECONDS = 10.0
FENCE_TABLES = 100
"""How many tables are looked at together, in turn: whoever takes the service over, takes over one of them soon."""
RECORD_SECONDS = 10.0
"""How often the registrations of idle tables are recorded while other tables have epochs without a pause."""


class TableSteps:
    """The steps on tables, and the run as TableOwner for its chores. Callers must hold `lock`.

    Whatever fails in the work on a table sets that table aside (`guard`).

    Fenced, TakeOverLost and OwnedByLiveRun end the run if another run has the table. `settings` has the settings for tasks of
    every table that was taken over.
    """

    def __init__(
        self,
        wiring: Wiring,
        owned_tables: OwnedTables,
        registrar: Registrar | NoRegistrar,
        reporter: Reporter,
        lock: BusyLock,
        *,
        once: bool,
    ) -> None:
        self.settings: dict[str, TableSettings] = {}
        self.guard = TableGuard(wiring.ports, owned_tables, reporter)
        self.chores = chores_of_a_run(wiring, self, registrar, reporter, once=once)
        self.guard.forgetters += [self.chores.forget, owned_tables.completion.forget]
        self._wiring = wiring
        self._owned_tables = owned_tables
        self._registrar = registrar
        self._reporter = reporter
        self._lock = lock
        self._looked_at = self._recorded_at = wiring.ports.clock.monotonic()
        self._next_look = 0
        self._stopped = StoppedTables(wiring, owned_tables.noticed)

    @property
    def tables(self) -> Mapping[str, Table]:
        return self._owned_tables.tables

    def serving(self) -> list[Table]:
        return self._owned_tables.serving()

    def attempt(self, table: Table, work: Callable[[Table], Result]) -> list[Result]:
        """Return the result of `work` in a list; an empty list if the table was set aside (TableGuard)."""
        return self.guard.attempt(table, work)

    def map_tables(self, tables: Iterable[Table], work: Callable[[Table], Result]) -> list[Result]:
        """Do `work` for the tables in parallel. Return the results of the tables for which it succeeded."""

        def attempt(table: Table) -> list[Result]:
            try:
                return self.guard.attempt(table, work)
            finally:
                self._lock.progress()

        return [result for results in self._wiring.side_by_side.map(attempt, tables) for result in results]

    def start_due(self, *, with_sql: bool = True) -> None:
        """Take over every due table, and admit it if Hive's table matches the map.

        Without `with_sql`, tables for which Spark must plan a SELECT are left for later. Before a table is admitted, and again
        from time to time, it gets columns for new fields of its records' schemas.
        """
        evolution = self._owned_tables.evolution
        evolving = [table for table in self._owned_tables.serving() if evolution.is_due(table)]
        due = [t for t in self._owned_tables.due() if with_sql or t.rule.sql is None]
        self.map_tables([*due, *evolving], self._start)

    def take_up_repaired(self) -> None:
        """Start the stopped tables that a command has repaired since, so that the run need not be restarted.

        If another process has taken such a table over meanwhile, the table stays with that process, and this run goes on.
        """

        def start(table: Table) -> None:
            self._owned_tables.forget(table)
            try:
                self._start(table)
            except (Fenced, TakeOverLost, OwnedByLiveRun) as taken:
                log.info("%s stays stopped: %s", table.name, taken)
                self._stopped.forget(table)
            else:
                log.info("%s was repaired: this run serves it again", table.name)

        repaired = self._stopped.repaired(self._owned_tables.tables.values())
        if repaired:
            self._owned_tables.new_round()
            self.map_tables(repaired, start)

    def _start(self, table: Table) -> None:
        if isinstance(table.ownership, Unowned):
            last = table.last_state
            started = self._owned_tables.take_over(table)
            self.settings[table.name] = started.settings
            self._reporter.started(started)
            self._registrar.enqueue(
                started.unregistered, () if last is None else (*last.unregistered, *last.withheld)
            )
            self.chores.watch(table)
        self._evolve(table)
        self._owned_tables.admit(table)

    def _evolve(self, table: Table) -> None:
        """Add columns for new fields to the ledger. `admit` adds them to Hive's table, and only then tasks write them."""
        evolution = self._owned_tables.evolution
        if not evolution.is_due(table):
            return
        if table.aside is not None:  # somebody may have altered Hive's table meanwhile
            self.settings[table.name] = self._owned_tables.resolve(table)
        change = evolution.changes(table, table.owned.settings)
        if change is not None:
            self.publish(table, change)
            self.settings[table.name] = self._owned_tables.resolve(table)

    def publish(self, table: Table, change: Change) -> TablePublication:
        """Commit a change, make it visible, and hand its partitions to the registrar.

        Raises the errors that `map_tables` handles, and those that end the run.
        """
        before = table.owned.ledger.pending_registrations
        published = self._owned_tables.publish(table, change)
        if published.state.lapsed:
            self._reporter.registrations_lapsed(published.state.lapsed)
        self._registrar.enqueue(published.unregistered, before)
        self.chores.watch(table)
        self._owned_tables.clean_up(table)
        return published

    def release(self, table: Table) -> None:
        """Record what Hive has confirmed of an owned table, and forget the table: its ledger stays as a clean end leaves it.

        Its next owner, perhaps this run by another map, takes it over as after a restart. If the snapshot fails, its
        registrations stay pending, and the next owner does them again.
        """
        if isinstance(table.ownership, Owned):
            waiting = table.owned.ledger.pending_registrations
            if table.owned.admitted and table.aside is None:
                self.record_registrations([table], ending=True)
            self._registrar.give_up(waiting | table.open_registrations)
        self._registrar.watch(table.name, frozenset())
        self._registrar.drop(table.name, {})
        self.guard.forget(table)
        self.settings.pop(table.name, None)

    def carry_out(self, table: Table, order: Order, result: str | Kafka2HiveError = ORDER_DONE) -> None:
        """Commit the snapshot that records an operator's order with its `result`. Raises as `publish` does."""
        self._registrar.give_up(self._owned_tables.carry_out(table, order, str(result)))

    def apply_registrar_events(self) -> None:
        """Apply the registrar's events since the last call to the tables."""
        self.chores.release()
        for event in self._registrar.take_events():
            match event:
                case RegisteredInHive(partitions):
                    self._for_each(partial(self._owned_tables.note_registered, partitions))
                    self._owned_tables.note_registered_elsewhere(partitions)
                case RefusedByHive():
                    self._note_refusal(event)
                case LocationCorrection(partitions):
                    self._reporter.locations_corrected(partitions)
                case LocationLook() | DropLookResult():
                    self.chores.note(event)
                case TableGone():
                    self._owned_tables.note_gone(event)
                case _:
                    assert_never(event)

    def _note_refusal(self, event: RefusedByHive) -> None:
        table = self._owned_tables.tables.get(event.table)
        if table is None:
            self._owned_tables.note_refusal(event)
        else:
            self.guard.attempt(table, lambda _: self._owned_tables.note_refusal(event))

    def _for_each(self, work: Callable[[Table], None]) -> None:
        for table in self._owned_tables.tables.values():
            self.guard.attempt(table, work)

    def record_idle(self, idle: Iterable[Table], waiting: Iterable[Table], *, is_busy: bool) -> None:
        """Record the registrations of `idle` tables, and the complete partitions of `waiting` tables.

        Tables in `waiting` have records that wait for their flush interval; their next data epoch records their registrations.
        If `is_busy`, other tables are in an epoch, which this delays; so it is done only every RECORD_SECONDS.
        """
        now = self._wiring.ports.clock.monotonic()
        if is_busy and now - self._recorded_at < RECORD_SECONDS:
            return
        self._recorded_at = now
        self.record_registrations(idle)
        self.map_tables(waiting, lambda table: self._record(table, is_new=False))

    def record_registrations(self, tables: Iterable[Table], ending: bool = False) -> None:
        """Commit a snapshot without files for each table with new registrations, comparisons with Hive, complete partitions
        or told news.

        Certificates that could not be written are tried again whenever the completion policy is asked.
        """

        def record(table: Table) -> None:
            news = self._owned_tables.news
            is_new = bool(table.owned.registered) or self._owned_tables.newly_compared(table)
            is_new = is_new or news.is_unrecorded(table, ending=ending)
            self._record(table, is_new=is_new, ending=ending)

        self.map_tables(tables, record)

    def record_news(self, tables: Iterable[Table]) -> None:
        """Commit a snapshot for each table whose news were told since its newest one; nothing else is decided."""
        news = self._owned_tables.news
        unrecorded = [table for table in tables if news.is_unrecorded(table, ending=True)]
        update = RegistrationUpdate()
        self.map_tables(unrecorded, lambda table: self._owned_tables.publish(table, update))

    def _record(self, table: Table, *, is_new: bool, ending: bool = False) -> None:
        """Commit a snapshot if `is_new`, or if a partition became complete."""
        asked_at = table.completion.asked_at
        completeness = self._owned_tables.completion.ask_for_news(table, ending)
        if is_new or completeness is not None:
            update = RegistrationUpdate(registered=table.owned.registered, completeness=completeness)
            self.publish(table, update)
        elif table.completion.asked_at > asked_at and self._owned_tables.certify_again(table):
            self._registrar.enqueue(table.open_registrations)
            self.chores.watch(table)

    def look_for_fence(self) -> None:
        """Check every FENCE_SECONDS whether this run was fenced, because an idle run commits nothing. Raises Fenced.

        Each check lists the ledgers of the next FENCE_TABLES tables, so that the calls do not grow with the service.
        """
        now = self._wiring.ports.clock.monotonic()
        if now - self._looked_at < FENCE_SECONDS:
            return
        self._looked_at = now
        files = self._wiring.ports.files
        turn, self._next_look = in_turn(self._owned_tables.serving(), self._next_look)
        self.map_tables(turn, lambda table: list_own_directory(files, table.owned.ledger))


def in_turn(tables: Sequence[Result], begin: int) -> tuple[Sequence[Result], int]:
    """Return the next FENCE_TABLES of `tables` from index `begin` on, or from the first one, and where the others begin."""
    begin = begin if begin < len(tables) else 0
    end = begin + FENCE_TABLES
    return tables[begin:end], end
