"""Steps of the commands that take a table over: find its ledger, own it, and tell Hive about its partitions."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.look import View
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.ports import Ports
from kafka2hive.ledger.snapshot.change import RegistrationUpdate
from kafka2hive.ledger.start import StartRequest, start
from kafka2hive.model.errors import Fenced, ServiceUnavailable, TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import MetastoreUnavailable
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.model.snapshot import ComparedTable
from kafka2hive.service.hive.partitions import compare_partitions, slices_to_compare
from kafka2hive.service.hive.registrar import RefusedByHive, register_now
from kafka2hive.service.hive.schemas import MapTables
from kafka2hive.service.ownership import OwnershipCheck
from kafka2hive.service.repair_heartbeat import RepairHeartbeat
from kafka2hive.service.tables.ledgers import UnreadableLedger, each_ledger, ledger_tables, require_table
from kafka2hive.service.wiring import Wiring

log = logging.getLogger(__name__)

Announce = Callable[[], None]
"""Begins this process's heartbeat; called before a take-over, once its checks have passed."""
T = TypeVar("T")


def known_ledger(wiring: Wiring, table: str) -> LedgerPaths | None:
    """Return the paths of a table's ledger, None if a table of the map has none yet. Raises what require_table does."""
    ledgers = {paths.table: paths for paths in ledger_tables(wiring)}
    require_table(wiring, table, ledgers)
    return ledgers.get(table)


def on_ledger(
    wiring: Wiring, paths: LedgerPaths | None, work: Callable[[View, Announce], T]
) -> T | UnreadableLedger | None:
    """Return the result of `work` on a look at the ledger. An error of `work` becomes an UnreadableLedger.

    None if there is no ledger.
    """
    with RepairHeartbeat(wiring) as heartbeat:
        ledgers = [] if paths is None else [paths]
        return next(each_ledger(wiring, ledgers, lambda view: [work(view, heartbeat.begin)]), None)


def take_over(
    wiring: Wiring, paths: LedgerPaths, location: str, ownership: OwnershipCheck, announce: Announce
) -> OwnedLedger:
    """Take the ledger over and roll it forward. `location` is the table's in the map. Raises what `start` raises."""
    request = StartRequest(
        paths,
        check=ownership.taking_over(paths, location, announce),
        owners=wiring.command_owners,
        keep=wiring.map.limits.keep_snapshots,
    )
    return start(wiring.ports, request).owned


@dataclass(frozen=True, slots=True)
class RegistrationOutcome:
    """The outcome of registering. `pending` are still not registered; `refusals` are Hive's errors for single partitions.

    `refused` is one of Hive's refusals, that of a whole table if Hive refused one; None if it refused nothing or did not
    answer.
    """

    pending: frozenset[HivePartition] = frozenset()
    refused: TableError | None = None
    refusals: Mapping[HivePartition, TableError] = field(default_factory=dict)


Register = Callable[[frozenset[HivePartition]], RegistrationOutcome]
"""Registers Hive partitions now."""


def register_released(ports: Ports, owned: OwnedLedger, register: Register) -> RegistrationOutcome:
    """Register the pending partitions of a table that this process does not hold any more, and record the answers.

    This may take minutes, in which a run may take the table over. Then nothing is recorded here: that run has the same pending
    registrations, and finds what was registered. Raises what `publish` raises, except Fenced.
    """
    pending = owned.pending_registrations
    outcome = register(pending) if pending else RegistrationOutcome()
    if outcome.pending != pending:
        try:
            publish(ports, owned, RegistrationUpdate(registered=pending - outcome.pending))
        except Fenced as taken:
            log.info("%s: its new owner records the registrations: %s", owned.paths.table, taken.message)
    return outcome


class TablesInHive:
    """The map's tables, and Hive, for a command that takes tables over. It connects to Hive only when needed."""

    def __init__(self, wiring: Wiring, command: str) -> None:
        """`command` is what remedies tell the operator to type again, without `kafka2hive`."""
        self._wiring = wiring
        self._command = command
        self.metastore = wiring.hive()
        self.tables = MapTables(wiring, self.metastore)
        self._catalogue = self.tables.catalogue

    def register(self, unregistered: frozenset[HivePartition]) -> RegistrationOutcome:
        """Register partitions now; registrations of tables with an unknown schema stay pending."""
        if self.metastore is None:
            return RegistrationOutcome(unregistered)
        tables = self._resolvable({partition.table for partition in unregistered})
        resolvable = frozenset(partition for partition in unregistered if partition.table in tables)
        registration = register_now(self.metastore, self._catalogue.ensure, resolvable)
        if registered := resolvable - registration.pending:
            log.info("registered %d partitions in Hive", len(registered))
        refusals = [event for event in registration.events if isinstance(event, RefusedByHive)]
        refusals.sort(key=lambda refused: bool(refused.partitions))  # whole tables first
        return RegistrationOutcome(
            registration.pending | (unregistered - resolvable),
            refusals[0].error if refusals else None,
            {partition: refused.error for refused in refusals for partition in refused.partitions},
        )

    def compare(self, names: Sequence[str]) -> tuple[ComparedTable, ...]:
        """Make Hive's tables match the map as a run does, and return the compared tables; empty if the map has no Hive.

        Raises TableError (a table does not match), ServiceUnavailable.
        """
        if self.metastore is None:
            return ()
        try:
            for name in names:
                self._catalogue.conform(self.metastore.tables, name)
        except MetastoreUnavailable as error:
            raise self._not_compared(name, error) from error
        # only a run records when a table was created, because it then also registers what a dropped table has lost
        return tuple(replace(self._catalogue.spec(name), created="") for name in names)

    def compare_partitions(self, partitions: Collection[HivePartition]) -> None:
        """Compare partitions of compared tables with the map before they get files, as a run does; nothing without Hive.

        Raises TableError (a partition would read them wrongly), ServiceUnavailable.
        """
        if self.metastore is None:
            return
        for name in sorted({partition.table for partition in partitions}):
            paths = [partition.path for partition in partitions if partition.table == name and partition.path]
            spec = self._catalogue.expected(name)
            try:
                for part in slices_to_compare(self.metastore.tables, spec, paths):
                    compare_partitions(self.metastore.tables, spec, part)
            except MetastoreUnavailable as error:
                raise self._not_compared(name, error) from error

    def _not_compared(self, name: str, error: MetastoreUnavailable) -> ServiceUnavailable:
        return ServiceUnavailable(
            "hive.not_compared",
            f"Hive's table {name} could not be compared with the map, so nothing is committed: {error}",
            f"bring HiveServer2 or the metastore back, then repeat `kafka2hive {self._command} -c MAP`",
        )

    def _resolvable(self, names: Collection[str]) -> set[str]:
        """Return the tables that can be registered, including tables no longer in the map, which must exist in Hive."""
        ready = set(names)
        for name in sorted(ready & set(self.tables.by_name)):
            try:
                self._catalogue.resolve(self.tables.by_name[name])
            except (ServiceUnavailable, TableError) as error:
                log.warning("%s keeps its pending registrations: %s", name, error)
                ready.discard(name)
        return ready
