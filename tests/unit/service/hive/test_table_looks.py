"""A run notices that Hive's tables were dropped, renamed or created again, at a bounded cost however many tables it has (R12)."""

import re
from types import SimpleNamespace
from typing import Any, cast

from kafka2hive.config.load import load_text
from kafka2hive.hive.description import is_same_creation
from kafka2hive.hive.port import Hive
from kafka2hive.hive.session_tables import SessionTables
from kafka2hive.model.errors import TableError
from kafka2hive.model.metastore import MetastoreRefused, MetastoreUnavailable, NoSuchTable
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.service.hive.schemas import Catalogue
from kafka2hive.service.hive.table_looks import (
    CANDIDATES,
    DESCRIBED,
    LOOK_SECONDS,
    TableGone,
    TableLook,
    TableLooks,
)
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.validate.check import Warned
from kafka2hive.service.validate.online import check_hive
from tests.harness.clock import SkippedTime
from tests.harness.values import snapshot

MONDAY, TUESDAY = "Mon Nov 23 08:00:00 UTC 2026", "Tue Nov 24 09:17:31 UTC 2026"
MAP = """
service: s
kafka: {bootstrap.servers: "127.0.0.1:9092"}
storage: {uri: "file:///base"}
hive: {url: "hive://127.0.0.1:10000"}
defaults: {create: CREATE}
tables: [TABLES]
"""


class Tables:
    """Hive's tables: the location and the time of creation of each. CREATE makes them on Tuesday."""

    def __init__(self) -> None:
        self.tables: dict[str, tuple[str, str]] = {}
        self.statements: list[str] = []
        self.down = self.mute = False

    def close(self) -> None:
        """Nothing is open."""

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        (statement,) = statements
        self.statements.append(statement)
        if self.down:
            raise MetastoreUnavailable("down")
        name = "".join(re.findall(r"`([^`]*)`(\.?)", statement)[0]) if "`" in statement else ""
        if statement.startswith("SHOW TABLES IN"):
            if self.mute:
                raise MetastoreRefused("Permission denied")
            return [(each.partition(".")[2],) for each in sorted(self.tables) if each.startswith(f"{name}.")]
        name = ".".join(re.findall(r"`([^`]*)`", statement)[:2])
        if statement.startswith("CREATE EXTERNAL TABLE"):
            location = re.findall(r"LOCATION '([^']*)'", statement)[0]
            self.tables.setdefault(name, (location, TUESDAY))
        if not statement.startswith("DESCRIBE"):
            return []
        if name not in self.tables:
            raise NoSuchTable(name)
        location, created = self.tables[name]
        return [
            ("a", "int", ""),
            ("# Partition Information", None, None),
            ("dt", "string", ""),
            ("# Detailed Table Information", None, None),
            ("CreateTime:", created, None),
            ("Location:", location, None),
            ("Table Type:", "EXTERNAL_TABLE", None),
            ("# Storage Information", None, None),
            ("InputFormat:", "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat", None),
        ]


def _as_hive(tables: Tables) -> Hive:
    return cast("Hive", SimpleNamespace(tables=SessionTables(tables)))


class Run:
    """A run whose `count` tables have all matched Hive's."""

    def __init__(self, count: int = 1, *, create: bool = True) -> None:
        self.hive, self.clock = Tables(), SkippedTime()
        names = [f"air.t{number}" for number in range(count)]
        tables = ", ".join(f"{{table: {name}, topics: [{name[4:]}], columns: {{a: int}}}}" for name in names)
        text = MAP.replace("CREATE", str(create).lower()).replace("TABLES", tables)
        self.service_map = service_map = load_text(text, "m", {})
        self.catalogue = Catalogue(service_map, _as_hive(self.hive))
        for name, rule in zip(names, service_map.tables, strict=True):
            self.table = MapTable(rule, LedgerPaths("file:///ledger", name), (name[4:],))
            self.catalogue.resolve(self.table)
            self.hive.tables[name] = (self.catalogue.expected(name).location, MONDAY)
            self.catalogue.compare(SessionTables(self.hive), name)
        self.looks = TableLooks(self.catalogue, SessionTables(self.hive), self.clock)
        self.hive.statements.clear()

    def look(self) -> TableLook:
        """Wait for the next look, and do it in all its slices."""
        self.clock.sleep(LOOK_SECONDS)
        gone: list[TableGone] = []
        differs: dict[str, TableError] = {}
        while self.looks.next_look <= self.clock.monotonic():
            look = self.looks.look()
            gone += look.gone
            differs |= look.differs
        return TableLook(tuple(gone), differs)

    def created(self, name: str = "air.t0") -> str:
        return self.catalogue.spec(name).created


def test_a_table_that_was_dropped_is_created_again_and_told() -> None:
    run = Run()
    assert run.look() == TableLook() and run.created() == MONDAY
    del run.hive.tables["air.t0"]
    assert run.look().gone == (TableGone("air.t0", "", is_created=True),)
    assert "air.t0" in run.hive.tables and run.created() == TUESDAY
    assert run.look() == TableLook()


def test_the_new_name_of_a_table_that_was_renamed_is_found() -> None:
    run = Run(2)
    run.hive.tables |= {f"air.other{number}": ("file:///elsewhere", MONDAY) for number in range(CANDIDATES)}
    run.look()
    run.hive.tables["air.zzz"] = run.hive.tables.pop("air.t1")
    run.hive.tables["air.aaa"] = ("file:///new", MONDAY)
    assert run.look().gone == (TableGone("air.t1", "air.zzz", is_created=True),)


def test_a_table_that_was_dropped_and_created_between_two_looks_is_noticed_in_its_turn() -> None:
    run = Run(DESCRIBED * 2)
    for name in run.hive.tables:
        run.hive.tables[name] = (run.hive.tables[name][0], TUESDAY)
    run.look()
    run.look()
    assert {run.created(name) for name in run.hive.tables} == {TUESDAY}


def test_a_table_that_the_map_may_not_create_is_told_and_set_aside_once() -> None:
    run = Run(create=False)
    run.hive.tables["air.old"] = run.hive.tables.pop("air.t0")
    look = run.look()
    assert look.gone == (TableGone("air.t0", "air.old", is_created=False),)
    assert {name: error.code for name, error in look.differs.items()} == {"air.t0": "hive.no_table"}
    run.catalogue.doubt("air.t0")  # as the loop does with each refusal
    assert run.look() == TableLook(), "the gate asks until Hive has it again"


def test_a_table_that_was_created_again_otherwise_than_the_map_says_is_a_difference() -> None:
    run = Run()
    run.hive.tables["air.t0"] = ("file:///elsewhere", TUESDAY)
    assert {name: error.code for name, error in run.look().differs.items()} == {"air.t0": "hive.location"}


def test_a_look_costs_one_list_for_each_database_and_a_few_descriptions_however_many_tables_there_are() -> (
    None
):
    run = Run(500)
    run.look()
    assert len(run.hive.statements) == 1 + DESCRIBED


def test_tables_that_hive_does_not_list_for_this_user_are_not_taken_for_dropped() -> None:
    run = Run(3)
    run.hive.mute = True
    assert run.look() == TableLook() and len(run.hive.tables) == 3


def test_an_outage_ends_a_look_and_the_next_one_begins_anew() -> None:
    run = Run()
    del run.hive.tables["air.t0"]
    run.hive.down = True
    assert run.look() == TableLook() and len(run.hive.statements) == 1
    run.hive.down = False
    assert [gone.table for gone in run.look().gone] == ["air.t0"]


def test_validate_and_doctor_warn_of_a_table_that_is_gone_or_was_created_again_since_a_ledger_recorded_it() -> (
    None
):
    run = Run()
    recorded = snapshot(table="air.t0", compared=(run.catalogue.spec("air.t0"),))

    def told() -> list[tuple[str, str]]:
        letters = run.service_map.dead_letters
        checks = check_hive(
            _as_hive(run.hive), run.catalogue, [run.table], letters=letters, states=[recorded]
        )
        errors = [check.result.error for check in checks if isinstance(check.result, Warned)]
        return [(error.code, error.message) for error in errors]

    assert recorded.compared[0].created == MONDAY and told() == []
    location, _ = run.hive.tables["air.t0"]
    run.hive.tables["air.t0"] = (location, TUESDAY)
    ((code, message),) = told()
    assert code == "hive.created_again" and "dropped and created again" in message
    del run.hive.tables["air.t0"]
    ((code, message),) = told()
    assert code == "hive.created_again" and "dropped or renamed" in message


def test_the_wall_clock_of_another_zone_is_the_same_time_but_no_other_difference_is() -> None:
    assert is_same_creation(MONDAY, "Mon Nov 23 13:45:00 NPT 2026")
    assert is_same_creation("", MONDAY) and is_same_creation(MONDAY, MONDAY)
    assert not is_same_creation(MONDAY, TUESDAY)
    assert not is_same_creation(MONDAY, "Mon Nov 23 09:00:00 UTC 2026"), "the zone is the same"
    assert not is_same_creation(MONDAY, "Mon Nov 23 09:00:01 CET 2026")
    assert not is_same_creation(MONDAY, "Thu Nov 26 08:00:00 CET 2026")
    assert not is_same_creation(MONDAY, "1795249926")
