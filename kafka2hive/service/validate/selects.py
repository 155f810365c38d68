"""Spark for commands that check SELECTs: imported and started only if a table has SQL."""

from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

from kafka2hive.config.keys import ServiceMap, TableRule, TableSettings

if TYPE_CHECKING:
    from kafka2hive.sql.selects import Selects


class SelectCheck(Protocol):
    """Plans SELECTs without running them (implemented in sql/selects.py). Raises TableError, ServiceUnavailable."""

    def check(self, table: TableSettings) -> None:
        """Check the whole SELECT; a table without SQL passes."""

    def check_text(self, table: TableSettings) -> None:
        """Check what can be checked without the lookups and the columns."""


def selects_of(
    rules: Collection[TableRule], service_map: ServiceMap
) -> "AbstractContextManager[Selects | None]":
    """Start Spark if one of the rules has SQL; otherwise give None. Raises ServiceUnavailable."""
    if all(rule.sql is None for rule in rules):
        return nullcontext()
    from kafka2hive.sql.local import local_selects

    return local_selects(service_map)
