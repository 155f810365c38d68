"""Spark for the commands that look at SELECTs: started where there is one, and imported for nothing else."""

from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

from kafka2hive.config.keys import ServiceMap, TableRule, TableSettings

if TYPE_CHECKING:
    from kafka2hive.sql.selects import Selects


class SelectCheck(Protocol):
    """Plans SELECTs without running them (sql/selects.py). Raises TableError, ServiceUnavailable."""

    def check(self, table: TableSettings) -> None:
        """All of it; a table without SQL is as it should be."""

    def check_text(self, table: TableSettings) -> None:
        """As far as it goes without the lookups and the columns."""


def selects_of(
    rules: Collection[TableRule], service_map: ServiceMap
) -> "AbstractContextManager[Selects | None]":
    """Spark is started where one of the rules has SQL, and for nothing else; else None. Raises ServiceUnavailable."""
    if all(rule.sql is None for rule in rules):
        return nullcontext()
    from kafka2hive.sql.local import local_selects

    return local_selects(service_map)
