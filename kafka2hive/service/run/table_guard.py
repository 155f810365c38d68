"""The guard around all work of a run that belongs to one table: whatever fails there sets that table aside, and no other."""

from collections.abc import Callable
from typing import TypeVar

from kafka2hive.ledger.look import NoLedger, the_generation
from kafka2hive.ledger.ports import Ports
from kafka2hive.ledger.promote import MISSING
from kafka2hive.model.errors import (
    AmbiguousOutcome,
    Fenced,
    Kafka2HiveError,
    ManualActionRequired,
    OwnedByLiveRun,
    ServiceUnavailable,
    TableError,
    TakeOverLost,
)
from kafka2hive.service.containment import Containment, bug_in
from kafka2hive.service.process import is_of_command, shown_process
from kafka2hive.service.run.owned_tables import OwnedTables
from kafka2hive.service.tables.report import Reporter
from kafka2hive.service.tables.table_state import Table
from kafka2hive.storage.port import StorageError

Result = TypeVar("Result")


class TableGuard:
    """Runs work on tables. An error sets the table aside; only an error that concerns the whole run passes through.

    | error | what happens |
    |---|---|
    | TableError, ManualActionRequired, AmbiguousOutcome, ServiceUnavailable | the table is set aside |
    | Fenced, TakeOverLost by a command | the table waits until the command has ended |
    | Fenced, TakeOverLost by a run; OwnedByLiveRun | it passes through and ends the run |
    | any other | a bug: the table is set aside, and all memory of it is dropped |

    After a bug nobody knows whether the work had committed, so the next try takes the table over again and reads the ledger.
    """

    def __init__(self, ports: Ports, owned_tables: OwnedTables, reporter: Reporter) -> None:
        self.forgetters: list[Callable[[Table], None]] = []
        """Each drops what one part of the run remembers of a table."""
        self._ports = ports
        self._owned_tables = owned_tables
        self._reporter = reporter
        self._containment = Containment()

    def attempt(self, table: Table, work: Callable[[Table], Result]) -> list[Result]:
        """Return the result of `work` in a list; an empty list if the table was set aside."""
        try:
            outcome = self._containment.attempt(table.name, lambda: work(table))
        except (TableError, ManualActionRequired, AmbiguousOutcome, ServiceUnavailable) as error:
            if not self._owned_tables.evolution.takes(table, error):
                self._owned_tables.set_aside(table, error)
            if error.code == MISSING:
                self._reporter.file_missing(table.name)
            return []
        except (Fenced, TakeOverLost) as error:
            self.forget(table)
            self._owned_tables.set_aside(table, self._lost_to_command(table, error))
            return []
        except OwnedByLiveRun:
            raise
        except Kafka2HiveError as error:  # such as `ledger.spent`: a bug that another part has noticed
            self._set_aside_for_bug(table, error)
            return []
        except StorageError as error:
            self._set_aside_for_bug(table, bug_in(table.name, error))
            return []
        if isinstance(outcome, Exception):
            self._set_aside_for_bug(table, bug_in(table.name, outcome))
            return []
        return outcome

    def forget(self, table: Table) -> None:
        """Drop all memory of the table, so that the next try reads the ledger (R0)."""
        self._owned_tables.forget(table)
        for forget in self.forgetters:
            forget(table)

    def _set_aside_for_bug(self, table: Table, error: Kafka2HiveError) -> None:
        self.forget(table)
        table.bugs += 1
        self._owned_tables.set_aside(table, error)

    def _lost_to_command(self, table: Table, lost: Fenced | TakeOverLost) -> Kafka2HiveError:
        """Return the error with which the table waits if a command has taken it over. Raises `lost` if a run has."""
        try:
            looks = self._containment.attempt(table.name, lambda: self._owner_of(table))
        except ManualActionRequired as stop:
            return stop
        except StorageError as error:
            return AmbiguousOutcome("ledger.no_answer", f"{lost.message}; looking for its owner: {error}")
        if isinstance(looks, Exception):
            return bug_in(table.name, looks)
        (owner,) = looks
        if owner is not None and not is_of_command(owner):
            raise lost
        return TableError(
            "ledger.repair_under_way",
            f"{table.name} was taken over by a command" + (f": {shown_process(owner)}" if owner else ""),
            "nothing: the run takes the table over again once the command has ended",
        )

    def _owner_of(self, table: Table) -> str | None:
        """Return the owner of the present generation; None without an owner, or while a command replaces the ledger."""
        try:
            return the_generation(self._ports.files, table.paths).owner
        except NoLedger:
            return None
