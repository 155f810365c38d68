"""What the epoch loop does with its tables, each by itself and several side by side; and how it reacts to what became of each."""

import logging
from collections.abc import Callable, Iterable
from typing import TypeVar, assert_never

from kafka2hive.config.keys import TableSettings
from kafka2hive.ledger.owned_ledger import list_own_directory
from kafka2hive.ledger.snapshot.change import Change, RegistrationUpdate
from kafka2hive.model.errors import (
    AmbiguousOutcome,
    Fenced,
    ManualActionRequired,
    OwnedByLiveRun,
    ServiceUnavailable,
    TableError,
    TakeOverLost,
)
from kafka2hive.service.progress_lock import BusyLock
from kafka2hive.service.run.owned_tables import OwnedTables
from kafka2hive.service.run.stopped_tables import StoppedTables
from kafka2hive.service.tables.registrar import NoRegistrar, RefusedByHive, RegisteredInHive, Registrar
from kafka2hive.service.tables.report import Reporter, TablePublished
from kafka2hive.service.tables.table_state import Table, Unowned
from kafka2hive.service.wiring import Wiring

log = logging.getLogger(__name__)

Result = TypeVar("Result")

FENCE_SECONDS = 10.0
RECORD_SECONDS = 10.0
"""How often tables without work have their registrations recorded while others have an epoch at each look."""


class TableSteps:
    """Every method is called by the holder of `lock`. What fails on its own sets its table aside.

    Fenced, TakeOverLost, OwnedByLiveRun and bugs pass through: they end the run.
    `settings` are what the tasks must know of each table that was taken over.
    """

    def __init__(
        self,
        wiring: Wiring,
        owned_tables: OwnedTables,
        registrar: Registrar | NoRegistrar,
        reporter: Reporter,
        lock: BusyLock,
    ) -> None:
        self.settings: dict[str, TableSettings] = {}
        self._wiring = wiring
        self._owned_tables = owned_tables
        self._registrar = registrar
        self._reporter = reporter
        self._lock = lock
        self._looked_at = self._recorded_at = wiring.ports.clock.monotonic()
        self._stopped = StoppedTables(wiring, owned_tables.noticed)

    def each(self, tables: Iterable[Table], work: Callable[[Table], Result]) -> list[Result]:
        """The work of several tables side by side; the results of those that were not set aside."""

        def attempt(table: Table) -> list[Result]:
            try:
                return [work(table)]
            except (TableError, ManualActionRequired, AmbiguousOutcome, ServiceUnavailable) as error:
                if not self._owned_tables.evolution.takes(table, error):
                    self._owned_tables.set_aside(table, error)
                return []
            finally:
                self._lock.progress()

        return [result for results in self._wiring.side_by_side.map(attempt, tables) for result in results]

    def start_due(self, *, with_sql: bool = True) -> None:
        """Take over every table that is neither held nor waiting, and admit it when Hive's table is the map's.

        Not `with_sql`: those that Spark has to plan a SELECT for are left for later.
        Before that, and now and then, the table gets columns for what its records' schemas have.
        """
        evolution = self._owned_tables.evolution
        evolving = [table for table in self._owned_tables.serving() if evolution.is_due(table)]
        due = [t for t in self._owned_tables.due() if with_sql or t.rule.sql is None]
        self.each([*due, *evolving], self._start)

    def take_up_repaired(self) -> None:
        """Start the stopped tables that a command has repaired since: the run goes on with them, and need not be restarted.

        Who has taken such a table meanwhile keeps it: that ends neither this run nor the other one.
        """

        def start(table: Table) -> None:
            table.forget()
            try:
                self._start(table)
            except (Fenced, TakeOverLost, OwnedByLiveRun) as taken:
                log.info("%s stays stopped: %s", table.name, taken)
                self._stopped.forget(table)
            else:
                log.info("%s was repaired, and is taken up again", table.name)

        repaired = self._stopped.repaired(self._owned_tables.tables.values())
        if repaired:
            self._owned_tables.new_round()
            self.each(repaired, start)

    def _start(self, table: Table) -> None:
        if isinstance(table.ownership, Unowned):
            started = self._owned_tables.take_over(table)
            self.settings[table.name] = started.settings
            self._reporter.started(started)
            self._registrar.enqueue(started.unregistered)
        self._evolve(table)
        self._owned_tables.admit(table)

    def _evolve(self, table: Table) -> None:
        """The ledger has a column before Hive's table has it, and that before any file: admit and publish see to it."""
        evolution = self._owned_tables.evolution
        if not evolution.is_due(table):
            return
        if table.aside is not None:  # its columns may be Hive's, and altered since
            self.settings[table.name] = self._owned_tables.resolve(table)
        change = evolution.changes(table, table.owned.settings)
        if change is not None:
            self.publish(table, change)
            self.settings[table.name] = self._owned_tables.resolve(table)

    def publish(self, table: Table, change: Change) -> TablePublished:
        """Commit a change and make it visible. Hive is told at once, whatever becomes of the other tables.

        Raises what ends the work of this table.
        """
        published = self._owned_tables.publish(table, change)
        self._registrar.enqueue(published.unregistered)
        self._owned_tables.clean_up(table)
        return published

    def hear_registrar(self) -> None:
        for event in self._registrar.take_events():
            match event:
                case RegisteredInHive(partitions):
                    self._owned_tables.registered(partitions)
                case RefusedByHive():
                    self._owned_tables.refused_by_hive(event)
                case _:
                    assert_never(event)
        why = self._registrar.no_answer
        for table in self._owned_tables.tables.values():
            pending = why is not None and table.open_registrations
            table.warnings["hive"] = (f"partitions are not registered in Hive: {why}",) if pending else ()

    def record_beside(self, idle: Iterable[Table], waiting: Iterable[Table], *, is_busy: bool) -> None:
        """`record_registrations` of `idle` tables. Those with records that wait for their flush interval have their
        registrations in their next data epoch: of them only complete partitions are recorded.

        While others are busy this happens every RECORD_SECONDS: it delays their epoch.
        """
        now = self._wiring.ports.clock.monotonic()
        if is_busy and now - self._recorded_at < RECORD_SECONDS:
            return
        self._recorded_at = now
        self.record_registrations(idle)
        self.each(waiting, lambda table: self._record(table, is_new=False))

    def record_registrations(self, tables: Iterable[Table], ending: bool = False) -> None:
        """A snapshot without files for each of them whose registrations, comparisons or complete partitions its newest one
        does not have. Certificates that could not be written are tried again as often as the policy is asked.
        """

        def record(table: Table) -> None:
            is_new = bool(table.owned.registered) or self._owned_tables.newly_compared(table)
            self._record(table, is_new=is_new, ending=ending)

        self.each(tables, record)

    def _record(self, table: Table, *, is_new: bool, ending: bool = False) -> None:
        """`is_new`: the table needs a snapshot also without a complete partition."""
        asked = table.owned.completion_asked
        completeness = self._owned_tables.completion.due(table, ending)
        if is_new or completeness is not None:
            update = RegistrationUpdate(registered=table.owned.registered, completeness=completeness)
            self.publish(table, update)
        elif table.owned.completion_asked > asked:
            self._owned_tables.certify_again(table)

    def look_for_fence(self) -> None:
        """An idle run has nothing to commit, and so would not learn that it was fenced. Raises Fenced."""
        now = self._wiring.ports.clock.monotonic()
        if now - self._looked_at < FENCE_SECONDS:
            return
        self._looked_at = now
        files = self._wiring.ports.files
        self.each(self._owned_tables.serving(), lambda table: list_own_directory(files, table.owned.ledger))
