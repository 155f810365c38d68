"""A table of a run that owns its ledger, made without a start."""

from dataclasses import replace
from typing import Any

from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.service.tables.table_state import Owned, Table
from tests.harness.task_files import table_settings


def own(table: Table, ledger: OwnedLedger) -> Table:
    """Return a table that has taken `ledger` over and matches Hive's table."""
    table.ownership = Owned(ledger, table_settings(table.name), admitted=True)
    return table


def restate(table: Table, **changes: Any) -> None:
    """Set the table's state as if the newest snapshot said so."""
    ledger = table.owned.ledger
    table.ownership = replace(table.owned, ledger=replace(ledger, state=replace(ledger.state, **changes)))
