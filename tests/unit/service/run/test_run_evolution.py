"""When a run looks at its records' schemas, and what it makes of them: columns in the ledger, or a table that is set aside."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

from kafka2hive.hive.port import Hive
from kafka2hive.hive.session_tables import SessionTables
from kafka2hive.ledger.look import look
from kafka2hive.model.errors import SchemaRegistryUnavailable, ServiceUnavailable, TableError
from kafka2hive.model.metastore import NoSuchTable
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.model.snapshot import AddedColumn, Snapshot
from kafka2hive.model.writer_schema import AVRO, WriterId, WriterSchema
from kafka2hive.plan.contract import PlannedEpoch, TableFailure
from kafka2hive.registry.port import NewestSchema, Registry
from kafka2hive.service.hive.registrar import NoRegistrar
from kafka2hive.service.hive.schema_columns import NewestSchemas
from kafka2hive.service.hive.schemas import Catalogue, MapTables
from kafka2hive.service.inspect.plan import TablePlan, plan
from kafka2hive.service.run.completion import CompletionTracker
from kafka2hive.service.run.epochs import EpochLoop
from kafka2hive.service.run.hive_gate import Gate
from kafka2hive.service.run.owned_tables import OwnedTables
from kafka2hive.service.run.schema_evolution import Evolution, RegistryEvolution, registry_evolution
from kafka2hive.service.start.lost_ledger import LostLedgerCheck
from kafka2hive.service.tables.report import Reporter
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.topics.kafka_view import KafkaView
from kafka2hive.service.wiring import Wiring
from tests.harness.cli_ledger import wired
from tests.harness.epoch_loop import EARLY, Clock, Kafka, next_epoch, only_tombstones, planned, run
from tests.harness.task_files import table_settings
from tests.simulation.service.maps import rule_of

REFRESH = 300.0


def schema(**fields: Any) -> WriterSchema:
    written = [{"name": name, "type": kind} for name, kind in fields.items()]
    return WriterSchema(AVRO, json.dumps({"type": "record", "name": "R", "fields": written}))


FIRST = schema(id="long")
SECOND = schema(id="long", note="string")
THIRD = schema(id="long", note="string", odd=["string", "int"])


class FakeRegistry:
    """`versions` of the one subject, their ids from 1."""

    def __init__(self, *versions: WriterSchema) -> None:
        self.versions = list(versions)
        self.error: TableError | None = None
        self.errors: dict[str, TableError] = {}
        self.asked: list[str] = []

    def newest(self, subject: str) -> NewestSchema | None:
        self.asked.append(subject)
        if error := self.errors.get(subject, self.error):
            raise error
        if subject != "early-value" or not self.versions:
            return None
        count = len(self.versions)
        return NewestSchema(count, count, self.versions[-1])

    def schema(self, schema_id: int | str) -> WriterSchema | None:
        assert isinstance(schema_id, int)
        return self.versions[schema_id - 1] if schema_id <= len(self.versions) else None

    def kinds(self) -> tuple[str, ...]:
        return (AVRO,)


class FakeHive:
    """Has the table with these columns, names by types."""

    def __init__(self, **columns: str) -> None:
        self.columns = columns
        self.tables = SessionTables(self)

    def close(self) -> None:
        """Nothing is open."""

    def run(self, *_: str) -> list[tuple[Any, ...]]:
        columns = [(name, kind, "") for name, kind in self.columns.items()]
        return [
            *columns,
            ("# Detailed Table Information", None, None),
            ("Table Type:", "EXTERNAL_TABLE", None),
        ]


class Service:
    """A service of one table on local disk; each `start` is a process of its own."""

    def __init__(
        self,
        folder: Path,
        registry: FakeRegistry,
        evolution: str = "add",
        hive: "FakeHive | None" = None,
        **more: Any,
    ) -> None:
        """`hive` has the columns, then, and the map none."""
        table = {
            "table": "air.early",
            "topics": ["early"],
            "format": "avro",
            "columns": {"id": "bigint"},
            "schema_evolution": evolution,
        } | more
        if hive is not None:
            del table["columns"]
        self.hive = hive
        text = 'hive: {url: "hive://127.0.0.1:1"}\n' if hive is not None else ""
        text += f'registry: {{url: "http://r"}}\ndefaults: {{start: earliest}}\ntables: [{json.dumps(table)}]'
        folder.mkdir(exist_ok=True)
        self.registry, self.kafka = registry, Kafka()
        real = wired(folder, text, service="once")
        self.wiring: Wiring = replace(real, ports=replace(real.ports, clock=Clock()))

    def start(self, gate: Gate = Gate()) -> EpochLoop:  # noqa: B008  it holds nothing
        wiring = self.wiring
        self.catalogue = Catalogue(wiring.map, cast("Hive | None", self.hive))
        evolution = RegistryEvolution(
            wiring, NewestSchemas(self.registry, wiring.ports.clock, REFRESH), self.registry.schema
        )
        self.tables = OwnedTables(
            wiring,
            wiring.ownership_check(take_over=True),
            LostLedgerCheck(self.kafka, None, wiring),
            self.catalogue,
            CompletionTracker(wiring.ports.clock, False),
            gate,
            evolution,
        )
        view = KafkaView(self.kafka, wiring.ports.clock)
        self.tables.refresh(view.cluster().topics)
        loop = EpochLoop(wiring, view, self.tables, NoRegistrar(), Reporter(), slots=lambda: 1, once=False)
        loop.start_tables()
        self.loop = loop
        return loop

    @property
    def state(self) -> Snapshot:
        return look(self.wiring.ports.files, self.wiring.paths("air.early")).state

    @property
    def added(self) -> list[tuple[str, str]]:
        return [(a.name, a.type) for a in self.state.added]

    def dumped(self) -> int:
        """Offsets of the topic."""
        return sum(position.end for position in self.state.positions)

    @property
    def told_to_tasks(self) -> list[str]:
        return [column.name for column in self.loop.settings["air.early"].columns]

    @property
    def error(self) -> str | None:
        aside = self.tables.tables["air.early"].aside
        return None if aside is None else f"{aside.error.code}: {aside.error.message}"

    def wait(self, seconds: float) -> None:
        self.wiring.ports.clock.sleep(seconds)


def fail(loop: EpochLoop, epoch: PlannedEpoch, number: int) -> None:
    """Its tasks meet records of this schema, which has new fields."""
    failure = TableFailure("schema.differs", "new fields", "", WriterId(number))
    manifests = only_tombstones(epoch)
    loop.on_epoch(epoch.number, [replace(m, accounts=(), delivered=(), failure=failure) for m in manifests])


def test_a_new_field_is_in_the_ledger_before_any_task_and_every_later_start_knows_it(tmp_path: Path) -> None:
    service = Service(tmp_path, FakeRegistry(SECOND))
    loop = service.start()
    (column,) = service.state.added
    assert column == AddedColumn(
        name="note",
        type="string",
        schema="id 1, version 1 of early-value",
        added_at=column.added_at,
        epoch=service.state.epoch,
    )
    assert service.state.accounts == () and service.told_to_tasks == ["id", "note"]
    run(loop, next_epoch(loop))
    service.registry.error = SchemaRegistryUnavailable("away")
    service.start()
    assert service.told_to_tasks == ["id", "note"] and service.error is None
    settings = MapTables(service.wiring, None).settings("air.early").tables["air.early"]
    assert [c.name for c in settings.columns] == ["id", "note"]
    assert settings.schema_evolution == "ignore", "only a run may refuse records for their schema"


def test_the_newest_schema_is_asked_for_now_and_then(tmp_path: Path) -> None:
    service = Service(tmp_path, FakeRegistry(FIRST))
    loop = service.start()
    run(loop, next_epoch(loop))
    service.registry.versions.append(SECOND)
    service.wait(REFRESH - 1)
    assert loop.plan() is None and service.added == [] and service.registry.asked == ["early-value"]
    service.wait(1)
    assert loop.plan() is None and service.added == [("note", "string")]
    assert service.told_to_tasks == ["id", "note"]


def test_a_registry_that_is_away_delays_nothing_and_is_asked_again_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    service = Service(tmp_path, FakeRegistry(SECOND))
    service.registry.error = SchemaRegistryUnavailable("the registry is away")
    loop = service.start()
    run(loop, next_epoch(loop))
    assert service.state.epoch > 0 and service.added == [] and service.error is None
    assert "the registry is away" in caplog.text
    service.registry.error = None
    service.wait(REFRESH)
    assert loop.plan() is None and service.added == [("note", "string")]


class Away(Gate):
    """Hive does not answer for a table that has a column more."""

    def admit(self, table: Table) -> None:
        if table.in_map.added:
            raise ServiceUnavailable("hive.not_compared", "HiveServer2 is away")


def test_a_column_in_the_ledger_that_hive_has_not_got_yet_is_known_to_the_next_start(tmp_path: Path) -> None:
    service = Service(tmp_path, FakeRegistry(SECOND))
    loop = service.start(Away())
    assert service.error is not None and service.added == [("note", "string")]
    for _ in range(3):
        service.wait(60)
        assert loop.plan() is None, "files before Hive has the column"
    service.registry.error = SchemaRegistryUnavailable("away")
    run(service.start(), next_epoch(service.loop))
    assert service.told_to_tasks == ["id", "note"] and service.dumped() == 7
    assert service.added == [("note", "string")]


def test_a_subject_without_a_right_answer_keeps_no_other_from_being_asked(tmp_path: Path) -> None:
    registry = FakeRegistry(SECOND)
    clock = Service(tmp_path, registry).wiring.ports.clock
    newest = NewestSchemas(cast("Registry", registry), clock, REFRESH)
    rule, settings = rule_of("db.t", ("a", "early")), replace(table_settings("db.t"), format="avro")
    registry.errors["a-value"] = TableError("registry.answer", "odd")
    assert len(newest.of(rule, ("a", "early"), settings)) == 1
    registry.errors["a-value"] = SchemaRegistryUnavailable("away")
    assert newest.of(rule, ("a", "early"), settings) == [] and registry.asked[-1] == "a-value"


def test_what_records_have_is_added_and_the_same_offsets_are_read_again_at_once(tmp_path: Path) -> None:
    service = Service(tmp_path, FakeRegistry(FIRST))
    loop = service.start()
    epoch = next_epoch(loop)
    service.registry.versions.append(SECOND)
    before = service.state.epoch
    fail(loop, epoch, 2)
    assert service.error is None and service.state.epoch == before
    again = next_epoch(loop)
    assert planned(again) == planned(epoch) == [OffsetRange(EARLY, 0, 7)]
    assert service.added == [("note", "string")] and service.told_to_tasks == ["id", "note"]
    assert service.state.added[0].schema == "id 2"
    run(loop, again)
    assert service.dumped() == 7


def test_a_schema_that_brings_nothing_although_a_task_says_so_sets_the_table_aside(tmp_path: Path) -> None:
    service = Service(tmp_path, FakeRegistry(FIRST))
    loop = service.start()
    fail(loop, next_epoch(loop), 1)
    assert loop.plan() is None
    assert service.error is not None and "which need no new column" in service.error


def test_what_can_be_no_column_is_warned_of_and_delays_nothing(tmp_path: Path) -> None:
    service = Service(tmp_path, FakeRegistry(THIRD))
    loop = service.start()
    (warning,) = service.tables.tables["air.early"].warnings["schema evolution"]
    assert warning == "odd is a union of several types: left out: the field is not in a column"
    run(loop, next_epoch(loop))
    assert service.added == [("note", "string")]


def test_with_stop_a_newest_schema_with_more_sets_the_table_aside_until_it_agrees(tmp_path: Path) -> None:
    service = Service(tmp_path, FakeRegistry(FIRST, THIRD), "stop")
    loop = service.start()
    assert loop.plan() is None
    assert service.dumped() == 0
    assert service.error is not None
    assert service.error.startswith("schema.differs: air.early: the schema with the newest version")
    assert "no column for note string (id 2, version 2 of early-value); odd is a union" in service.error
    asked = len(service.registry.asked)
    assert loop.plan() is None and len(service.registry.asked) == asked, "it is asked before the wait is over"
    service.registry.versions.pop()
    service.wait(5)
    run(loop, next_epoch(loop))
    assert service.dumped() == 7 and service.added == []


def test_a_table_that_stopped_for_its_schema_asks_once_a_wait_also_when_nothing_comes(tmp_path: Path) -> None:
    service = Service(tmp_path, FakeRegistry(SECOND), "stop")
    loop = service.start()
    service.registry.versions, service.kafka.ends[EARLY] = [FIRST], 0
    service.wait(5)
    assert [loop.plan() for _ in range(5)] == [None] * 5
    assert len(service.registry.asked) == 2


def test_with_stop_a_table_whose_columns_are_hives_resumes_when_hive_has_them(tmp_path: Path) -> None:
    hive = FakeHive(id="bigint")
    service = Service(tmp_path, FakeRegistry(schema(id="long", noTe="string")), "stop", hive)
    loop = service.start()
    assert service.error is not None and "no column for noTe string" in service.error
    hive.columns["note"] = "string"
    service.wait(5)
    run(loop, next_epoch(loop))
    assert service.told_to_tasks == ["id", "note"] and service.dumped() == 7


def test_an_added_column_keeps_its_fields_name_where_the_columns_are_hives(tmp_path: Path) -> None:
    hive = FakeHive(id="bigint")
    service = Service(tmp_path, FakeRegistry(schema(id="long", noTe="string")), "add", hive)
    service.start()
    assert service.added == [("noTe", "string")]
    hive.columns["note"] = "string"  # as the gate has altered it
    service.start()
    assert service.told_to_tasks == ["id", "noTe"] and service.added == [("noTe", "string")]


def test_with_stop_what_a_task_meets_sets_the_table_aside_and_nothing_is_committed(tmp_path: Path) -> None:
    service = Service(tmp_path, FakeRegistry(FIRST), "stop")
    loop = service.start()
    fail(loop, next_epoch(loop), 1)
    assert service.error is not None and service.error.startswith("schema.differs")
    assert service.dumped() == 0 and loop.plan() is None
    service.wait(60)
    run(loop, next_epoch(loop))
    assert service.dumped() == 7


def test_ignored_fields_and_other_subjects_bring_no_columns(tmp_path: Path) -> None:
    cases: tuple[dict[str, Any], ...] = ({"ignored_fields": ["note"]}, {"subject": "x.{topic}"})
    for number, more in enumerate(cases):
        registry = FakeRegistry(SECOND)
        service = Service(tmp_path / str(number), registry, **more)
        service.start()
        assert service.added == []
        assert registry.asked == ["early-value" if number == 0 else "x.early"]


def test_a_map_without_a_registry_looks_at_nothing(tmp_path: Path) -> None:
    wiring = wired(tmp_path, "tables: [{table: air.early, topics: [early], format: raw}]", service="once")
    assert type(registry_evolution(wiring)) is Evolution


class EmptyHive:
    """Has no table, and takes nothing."""

    def __init__(self) -> None:
        self.tables = SessionTables(self)

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        raise NoSuchTable(*statements)

    def close(self) -> None:
        """Nothing is open."""


class PlanWiring(Wiring):
    """Hive and registry as the test has them."""

    hive_there: ClassVar[Any] = EmptyHive()
    registry_there: ClassVar[Any] = None

    def hive(self) -> Hive | None:
        return cast("Hive", self.hive_there)

    def registry(self) -> Registry | None:
        return cast("Registry", self.registry_there)


def plan_of(service: Service) -> TablePlan:
    """As `kafka2hive plan` shows it."""
    real = service.wiring
    PlanWiring.registry_there = service.registry
    wiring = PlanWiring(real.map, real.ports, real.processes)
    return plan(wiring, service.kafka, ["air.early"]).tables[0]


def test_plan_shows_the_columns_of_the_newest_schema_and_those_of_the_ledger(tmp_path: Path) -> None:
    service = Service(tmp_path, FakeRegistry(SECOND))
    assert "`note` string" in plan_of(service).statements[1]
    service.start()
    service.registry.error = SchemaRegistryUnavailable("away")
    assert "`note` string" in plan_of(service).statements[1]


def test_plan_shows_what_would_stop_the_table(tmp_path: Path) -> None:
    error = plan_of(Service(tmp_path, FakeRegistry(SECOND), "stop")).error
    assert error is not None and error.code == "schema.differs"
