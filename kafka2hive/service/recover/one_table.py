"""Common steps of commands that work on one table whose service is stopped: find its ledger, and take it over."""

from collections.abc import Callable
from typing import TypeVar

from kafka2hive.ledger.look import View
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.start import StartRequest, start
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.service.ownership import OwnershipCheck
from kafka2hive.service.recover.heartbeat import RepairHeartbeat
from kafka2hive.service.tables.ledgers import UnreadableLedger, each_ledger, ledger_tables, unknown_tables
from kafka2hive.service.wiring import Wiring

Announce = Callable[[], None]
"""Begins this process's heartbeat; called before a take-over, once its checks have passed."""
T = TypeVar("T")


def known_ledger(wiring: Wiring, table: str) -> LedgerPaths | None:
    """Return the paths of a table's ledger, None if a table of the map has none yet. Raises ConfigError for an unknown table."""
    ledgers = {paths.table: paths for paths in ledger_tables(wiring)}
    for _, error in unknown_tables(wiring, (table,), ledgers.keys()):
        raise error
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
        owners=wiring.owners,
        keep=wiring.map.limits.keep_snapshots,
    )
    return start(wiring.ports, request).owned
