"""When a run looks for its tables in Hive, and what it does if one was dropped, renamed or created again (R12)."""

import difflib
import logging
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kafka2hive.hive.description import TableDescription
from kafka2hive.hive.port import Tables
from kafka2hive.hive.tables import TableSpec
from kafka2hive.model.errors import TableError
from kafka2hive.model.metastore import MetastoreRefused, MetastoreUnavailable
from kafka2hive.model.paths.path import same_location
from kafka2hive.observe.log import RECURRING
from kafka2hive.service.hive.schemas import TableChanges
from kafka2hive.storage.port import Clock

log = logging.getLogger(__name__)

LOOK_SECONDS = 60.0
"""How often the names of all tables are listed, with one statement for each database."""
DESCRIBED = 4
"""How many tables are described in each look, in turn, because a table may be dropped and created between two looks."""
SLICE = 4
"""Maximum number of tables that are described before new partitions get their turn; each costs Hive 0.1 to 0.3 s."""
CANDIDATES = 20
"""How many other tables of a database are described to find the new name of a table that was renamed."""


class TablesOfMap(Protocol):
    """The part of Catalogue that looks use."""

    @property
    def compared(self) -> Collection[str]: ...

    def expected(self, name: str) -> TableSpec: ...

    def compare(self, tables: Tables, name: str) -> TableDescription | TableChanges: ...

    def conform(self, tables: Tables, name: str) -> TableDescription: ...


@dataclass(frozen=True, slots=True)
class TableGone:
    """Hive did not have a table that it had before in this run. `other` is the table that has its location now, "" for none.

    `is_created`: it was created again.
    """

    table: str
    other: str
    is_created: bool


@dataclass(frozen=True, slots=True)
class TableLook:
    """The result of a slice of a look: tables that were `gone`, and why others do not match the map."""

    gone: tuple[TableGone, ...] = ()
    differs: Mapping[str, TableError] = field(default_factory=dict)


class TableLooks:
    """Looks for the tables of a run that Hive had earlier. Only one thread may use it."""

    def __init__(self, tables: TablesOfMap, in_hive: Tables, clock: Clock) -> None:
        self._tables = tables
        self._in_hive = in_hive
        self._clock = clock
        self._listed_at = clock.monotonic()
        self._listed: dict[str, frozenset[str]] = {}
        self._before: dict[str, frozenset[str]] = {}
        self._next = 0
        self._due: list[str] = []

    @property
    def next_look(self) -> float:
        """When the next look is due (monotonic seconds), infinity before any table was compared."""
        if self._due:
            return -math.inf
        return self._listed_at + LOOK_SECONDS if self._tables.compared else math.inf

    def look(self) -> TableLook:
        """If a look is due, do at most a slice of it. After an outage the next look begins anew."""
        if self.next_look > self._clock.monotonic():
            return TableLook()
        gone: list[TableGone] = []
        differs: dict[str, TableError] = {}
        try:
            if not self._due:
                self._begin()
            due, self._due = self._due[:SLICE], self._due[SLICE:]
            for name in due:
                try:
                    gone += self._look_at(name)
                except TableError as error:
                    differs[name] = error
                    if error.code == "hive.no_table":
                        gone.append(TableGone(name, self._other(name), is_created=False))
        except MetastoreUnavailable as error:
            log.warning("Hive's tables are looked at again later: %s", error, extra=RECURRING)
            self._due = []
        return TableLook(tuple(gone), differs)

    def _begin(self) -> None:
        """List the names of Hive's tables, and choose those to describe: missing ones, and a few in turn."""
        self._listed_at = self._clock.monotonic()
        names = sorted(self._tables.compared)
        self._before, self._listed = self._listed, {}
        for database in sorted({name.partition(".")[0] for name in names}):
            try:
                self._listed[database] = self._in_hive.tables_in(database)
            except MetastoreRefused as error:
                log.debug("Hive does not list the tables of %s: %s", database, error)
        missing = [name for name in names if self._is_missing(name)]
        begin = self._next if self._next < len(names) else 0
        self._next = begin + DESCRIBED
        self._due = list(dict.fromkeys((*missing, *names[begin : self._next])))

    def _is_missing(self, name: str) -> bool:
        database, _, table = name.partition(".")
        return database in self._listed and table.lower() not in self._listed[database]

    def _look_at(self, name: str) -> list[TableGone]:
        """Compare a table with the map, and make it match as the registration of a partition would.

        Raises MetastoreUnavailable, TableError.
        """
        compared = self._tables.compare(self._in_hive, name)
        if isinstance(compared, TableDescription):
            return []
        other = self._other(name) if compared.new_directory is not None else ""
        self._tables.conform(self._in_hive, name)
        return [] if compared.new_directory is None else [TableGone(name, other, is_created=True)]

    def _other(self, name: str) -> str:
        """Return another table of the database that has the table's location, as after a rename; "" if none was found."""
        database, _, table = name.partition(".")
        location, listed = self._tables.expected(name).location, self._listed.get(database, frozenset())
        others = listed - {each.partition(".")[2].lower() for each in self._tables.compared}
        new = others - self._before.get(database, others)
        similar = difflib.get_close_matches(table.lower(), sorted(others - new), CANDIDATES, 0.0)
        for candidate in (*sorted(new), *similar)[:CANDIDATES]:
            try:
                description = self._in_hive.describe(f"{database}.{candidate}")
            except MetastoreRefused:
                continue
            where = description.location if description is not None else None
            if where is not None and same_location(where, location):
                return f"{database}.{candidate}"
        return ""
