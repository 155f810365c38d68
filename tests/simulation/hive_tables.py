"""Hive's tables in the simulation, which production's statements create, alter and describe.

Hive fences nobody: a statement that was sent may be executed at any later time, whoever owns the table by then. Hive refuses
to add a column that exists, and to narrow a type (its default).
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, NoReturn

from kafka2hive.model.metastore import MetastoreRefused, NoSuchPartition, NoSuchTable
from tests.simulation.watch import Violation
from tests.simulation.world import World

_NAME = r"(?P<table>`[^`]+`\.`[^`]+`)"
_CREATE = re.compile(
    rf"CREATE EXTERNAL TABLE IF NOT EXISTS {_NAME} \((?P<columns>.*?)\) COMMENT '[^']*'"
    r"(?: PARTITIONED BY \((?P<partitioned>.*?)\))? STORED AS PARQUET LOCATION '(?P<location>[^']*)' TBLPROPERTIES .*"
)
_ADD = re.compile(rf"ALTER TABLE {_NAME} ADD COLUMNS \((?P<columns>.*)\)(?P<cascade> CASCADE)?")
_CHANGE = re.compile(
    rf"ALTER TABLE {_NAME} CHANGE COLUMN `(?P<old>[^`]+)` (?P<columns>`.*?) *(?P<cascade>CASCADE)?"
)
_DESCRIBE = re.compile(rf"DESCRIBE FORMATTED {_NAME}(?: PARTITION \((?P<spec>.*)\))?")
_COLUMN = re.compile(r"`(?P<name>[^`]+)` (?P<type>[^,<(]+(?:<.*>)?)(?:, |$)")
_WIDER = ("int", "bigint", "string")
"""Each holds the ones before it."""


@dataclass(slots=True)
class HiveTable:
    """`columns` and `partitioned` are types by name, in order. `number` counts the tables that were ever created."""

    columns: dict[str, str]
    partitioned: dict[str, str]
    location: str
    number: int = 0

    def fits(self, columns: dict[str, str], location: str) -> bool:
        """Return whether files of a map with these columns fit the table, which may have more columns."""
        return self.location == location and columns.items() <= self.columns.items()

    def copy(self) -> "HiveTable":
        return HiveTable(dict(self.columns), dict(self.partitioned), self.location, self.number)

    @property
    def created(self) -> str:
        """When it was created, as Hive writes it: another second for each table."""
        return f"Mon Nov 23 08:{self.number // 60:02}:{self.number % 60:02} UTC 2026"


@dataclass(slots=True)
class HiveTables:
    """All tables. `late` are statements that may still arrive; `changes` counts the statements that had an effect.

    `vanished` are the tables that somebody has ever dropped, `created` counts all that were created.
    """

    tables: dict[str, HiveTable] = field(default_factory=dict)
    late: list[str] = field(default_factory=list)
    changes: int = 0
    vanished: set[str] = field(default_factory=set)
    created: int = 0

    def drop(self, name: str) -> None:
        """Somebody drops or renames the table; its files stay."""
        del self.tables[name]
        self.vanished.add(name)
        self.changes += 1

    def is_missing(self, name: str) -> bool:
        """Return whether somebody has dropped the table, and nobody has created it again."""
        return name in self.vanished and name not in self.tables

    def execute_late(self, below: Callable[[int], int]) -> bool:
        """Execute a random late statement, whose answer is lost. Return whether it changed anything."""
        before = {name: table.copy() for name, table in self.tables.items()}
        try:
            self.execute(self.late.pop(below(len(self.late))))
        except MetastoreRefused:
            return False
        return before != self.tables

    def execute(self, statement: str) -> None:
        """Execute a statement. Raises MetastoreRefused, Violation (an unknown statement)."""
        if statement.startswith("CREATE DATABASE IF NOT EXISTS "):
            return
        if found := _CREATE.fullmatch(statement):
            is_new = _plain(found["table"]) not in self.tables
            self.created += is_new
            self.changes += is_new
            columns, partitioned = _columns(found["columns"]), _columns(found["partitioned"] or "")
            made = HiveTable(columns, partitioned, found["location"], self.created)
            self.tables.setdefault(_plain(found["table"]), made)
        elif found := _ADD.fullmatch(statement):
            self._add(self._table(found), _columns(found["columns"]), statement)
        elif found := _CHANGE.fullmatch(statement):
            self._change(self._table(found), found["old"], _columns(found["columns"]), statement)
        else:
            raise Violation(f"Hive does not know {statement}")

    def _table(self, found: re.Match[str]) -> HiveTable:
        name = _plain(found["table"])
        if name not in self.tables:
            raise NoSuchTable(name)
        table = self.tables[name]
        if bool(found["cascade"]) != bool(table.partitioned):
            raise Violation(f"partitions do not learn of it, or there are none: {found[0]}")
        return table

    def _add(self, table: HiveTable, columns: dict[str, str], statement: str) -> None:
        if columns.keys() & table.columns.keys():
            raise MetastoreRefused(f"duplicate column: {statement}")
        table.columns.update(columns)
        self.changes += 1

    def _change(self, table: HiveTable, old: str, columns: dict[str, str], statement: str) -> None:
        ((name, kind),) = columns.items()
        before = table.columns.get(old)
        if name != old or before is None or _WIDER.index(kind) < _WIDER.index(before):
            raise MetastoreRefused(f"incompatible: {statement}")
        table.columns[name] = kind
        self.changes += 1


def _plain(quoted: str) -> str:
    return quoted.replace("`", "")


def _path(spec: str) -> str:
    """Return the path of a partition whose values need no escapes."""
    return spec.replace("`", "").replace("'", "").replace(",", "/")


def _columns(text: str) -> dict[str, str]:
    return {found["name"]: found["type"].strip() for found in _COLUMN.finditer(text)}


class SimulatedSession:
    """The Session port of one process. `seen` has the last description of each table that this process got.

    `fail` raises MetastoreUnavailable; `is_down` returns whether Hive is down, `registered` the partitions by table and path.
    """

    def __init__(
        self,
        world: World,
        hive: HiveTables,
        who: str,
        hand_over: Callable[[], None],
        is_down: Callable[[], bool],
        fail: Callable[[str], NoReturn],
        registered: Callable[[], Collection[tuple[str, str]]] = tuple,
    ) -> None:
        self._world = world
        self._hive = hive
        self._who = who
        self._hand_over = hand_over
        self._is_down = is_down
        self._fail = fail
        self._registered = registered
        self.seen: dict[str, HiveTable | None] = {}

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run the statements and return the rows of the last."""
        rows: list[tuple[Any, ...]] = []
        for statement in statements:
            self._hand_over()
            if self._is_down():
                self._fail(statement)
            if statement.startswith("SHOW TABLES IN "):
                database = _plain(statement.removeprefix("SHOW TABLES IN "))
                known = (name.partition(".") for name in sorted(self._hive.tables))
                rows = [(table,) for base, _, table in known if base == database]
            elif found := _DESCRIBE.fullmatch(statement):
                rows = self._describe(_plain(found["table"]), found["spec"])
            else:
                self._change(statement)
        return rows

    def close(self) -> None:
        """Do nothing."""

    def _change(self, statement: str) -> None:
        world, rates = self._world, self._world.rates
        dice = world.random()
        if (dice := dice - rates.delayed) < 0:
            self._hive.late.append(statement)
            self._fail(f"{statement} (on its way)")
        self._hive.execute(statement)
        world.count["Hive tables altered" if statement.startswith("ALTER") else "Hive tables made"] += 1
        world.tell(self._who, f"hive: {statement}")
        if dice - rates.lost_reply < 0:
            self._fail(f"{statement} (done)")

    def _describe(self, name: str, spec: str | None) -> list[tuple[Any, ...]]:
        """Return the rows of a table, or of a partition, which has all that its table has: ALTER TABLE cascades."""
        table = self._hive.tables.get(name)
        if spec is None:
            self.seen[name] = table and table.copy()
        self._world.tell(self._who, f"hive: describe {name} {spec or ''}: {table}")
        if table is None:
            raise NoSuchTable(name)
        if spec is not None and (name, _path(spec)) not in self._registered():
            raise NoSuchPartition(f"{name} {spec}")
        return [
            ("# col_name", "data_type", "comment"),
            *((column, kind, "") for column, kind in table.columns.items()),
            ("", None, None),
            ("# Partition Information", None, None),
            *((column, kind, "") for column, kind in table.partitioned.items()),
            ("# Detailed Table Information", None, None),
            ("CreateTime:", table.created, None),
            ("Location:", table.location, None),
            ("Table Type:", "EXTERNAL_TABLE", None),
            ("# Storage Information", None, None),
            ("InputFormat:", "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat", None),
        ]
