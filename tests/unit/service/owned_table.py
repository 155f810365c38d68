"""A table of a run that owns its ledger, without a start."""

from dataclasses import replace
from typing import Any

from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.service.tables.table_state import Owned, Table
from tests.harness.task_files import table_settings


def own(table: Table, ledger: OwnedLedger) -> Table:
    """As if it had taken `ledger` over, and Hive's table were the one of the map."""
    table.ownership = Owned(ledger, table_settings(table.name), admitted=True)
    return table


def restate(table: Table, **changes: Any) -> None:
    """As if the newest snapshot said so."""
    ledger = table.owned.ledger
    table.ownership = replace(table.owned, ledger=replace(ledger, state=replace(ledger.state, **changes)))
