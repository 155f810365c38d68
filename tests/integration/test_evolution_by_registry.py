"""Columns by the records' schemas: fields of the registry become columns, exactly once, or stop the table, and Hive reads
files of all generations side by side.
"""

import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import fastavro
import pytest

from tests.harness.avro_flights import framed
from tests.harness.program import Finished, Running, command, run_once
from tests.harness.protobuf_flights import message_class
from tests.harness.scenario import on_hdfs
from tests.harness.service_map import PLACE, ledger_root, write_map
from tests.oracle.exact import Acknowledged, ends_of
from tests.oracle.ledger_text import LedgerText
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce
from tests.services.schema_registry import SchemaRegistry

EACH = 200
SPOT = {"type": "record", "name": "Spot", "fields": [{"name": "gate", "type": "int"}]}
WIDE_SPOT = {
    **SPOT,
    "fields": [*SPOT["fields"], {"name": "hall", "type": ["null", "string"], "default": None}],
}
FIRST: list[dict[str, Any]] = [{"name": "id", "type": "long"}, {"name": "day", "type": "string"}]
SECOND = [
    *FIRST,
    {"name": "Order", "type": ["null", "int"], "default": None},
    {"name": "spot", "type": ["null", SPOT], "default": None},
    {"name": "secret", "type": ["null", "string"], "default": None},
    {"name": "dt", "type": ["null", "string"], "default": None},
    {"name": "odd", "type": ["null", "string", "long"], "default": None},
]
THIRD: list[dict[str, Any]] = [
    *FIRST,
    {"name": "Order", "type": ["null", "long"], "default": None},
    {"name": "spot", "type": ["null", WIDE_SPOT], "default": None},
    {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []},
]
"""Without secret, dt and odd; Order and spot are wider."""
GENERATIONS = (FIRST, SECOND, THIRD)


def _value(generation: int, i: int) -> dict[str, Any]:
    own: dict[str, Any] = {"id": generation * 1_000_000 + i, "day": f"2013-01-0{1 + i % 3}"}
    if generation == 2:
        own |= {"Order": i, "spot": {"gate": i}, "secret": "s", "dt": "no", "odd": "no"}
    if generation == 3:
        own |= {"Order": 2**40 + i, "spot": {"gate": i, "hall": f"h{i}"}, "tags": ["x", str(i)]}
    return own


def _row(generation: int, i: int) -> tuple[Any, ...]:
    """As Hive shows it by the columns of the third generation."""
    day = f"2013-01-0{1 + i % 3}"
    own: tuple[Any, ...] = (None, None, None, None)
    if generation == 2:
        own = (i, i, None, None)
    if generation == 3:
        own = (2**40 + i, i, f"h{i}", f'["x","{i}"]')
    return (generation * 1_000_000 + i, *own, day)


@dataclass
class Topic:
    """A topic of Avro records whose schema has generations, into one table; `produced`: rows that Hive must have."""

    kafka: KafkaBroker
    hdfs: Hdfs
    hive: HiveServer
    registry: SchemaRegistry
    name: str
    folder: Path
    produced: list[tuple[Any, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.table = f"{self.name}.flights"
        self.kafka.create_topic(self.name, 2)

    def map_of(self, columns: dict[str, Any] | None = None, **more: Any) -> Path:
        return self.map_of_tables(self.entry(columns, **more))

    def entry(self, columns: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        return {
            "table": self.table,
            "topics": [self.name],
            "start": "earliest",
            "format": "avro",
            "columns": columns or {"id": "bigint", "day": "string"},
            "metadata": PLACE,
            "bucket": {"path": "dt={day}"},
        } | more

    def map_of_tables(self, *entries: dict[str, Any]) -> Path:
        sections = {"hive": {"url": f"hive://{self.hive.address}"}, "registry": {"url": self.registry.url}}
        uri = f"{self.hdfs.namenode_url}/{self.name}"
        return write_map(self.folder, self.name, self.kafka.bootstrap, uri, list(entries), **sections)

    def register(self, generation: int) -> int:
        return self.registry.register(f"{self.name}-value", self._schema(generation))

    def produce(self, schema_ids: dict[int, int], count: int = EACH) -> Acknowledged:
        """Records of these generations in turn, as producers do that are rolled out one after the other."""
        messages = []
        for i in range(count):
            for generation, schema_id in schema_ids.items():
                body = io.BytesIO()
                fastavro.schemaless_writer(body, self._schema(generation), _value(generation, i))
                messages.append(framed(schema_id, body.getvalue()))
                self.produced.append(_row(generation, i))
        return produce(self.kafka.bootstrap, self.name, messages, 2)

    def wait_until_at(self, run: Running, ends: Mapping[tuple[str, int], int]) -> None:
        """Until the ledger stands there, and Hive has all partitions."""
        storage = on_hdfs(self.hdfs, self.name)
        ledger = LedgerText(storage.tree, ledger_root(storage.uri), self.table)
        run.wait_until(lambda: ledger.ends() == ends, f"at {ends}", pause=0.5)
        run.wait_until(lambda: not ledger.newest()["unregistered"], "all in Hive", pause=0.5)

    def assert_rows(self) -> None:
        shown = "id, `order`, spot.gate, spot.hall, tags, dt"
        rows = self.hive.query(f"select {shown} from {self.table}")
        assert Counter(map(str, rows)) == Counter(map(str, self.produced))

    def _schema(self, generation: int) -> dict[str, Any]:
        return {
            "type": "record",
            "name": "Flight",
            "namespace": self.name,
            "fields": GENERATIONS[generation - 1],
        }


@pytest.fixture
def topic(
    kafka: KafkaBroker,
    hdfs: Hdfs,
    hive: HiveServer,
    hive_database: str,
    registry: SchemaRegistry,
    tmp_path: Path,
) -> Topic:
    return Topic(kafka, hdfs, hive, registry, hive_database, tmp_path)


def _planned(path: Path) -> dict[str, Any]:
    table: dict[str, Any] = command("plan", path, "--json").document["tables"][0]
    return table


def _done(path: Path) -> Finished:
    done = run_once(path)
    assert done.code == 0, done.log[-4000:]
    return done


@pytest.mark.timeout(3600)
def test_new_fields_of_the_registry_become_columns_and_all_generations_are_in_hive(topic: Topic) -> None:
    path = topic.map_of(schema_evolution="add", ignored_fields=["secret"])
    ids = {1: topic.register(1)}
    topic.produce(ids)
    assert len(_planned(path)["statements"]) == 2
    _done(path)
    assert _planned(path)["statements"] == []

    ids[2] = topic.register(2)
    (statement,) = _planned(path)["statements"]
    assert statement.endswith("ADD COLUMNS (`Order` int, `spot` struct<`gate`:int>) CASCADE"), statement
    topic.produce(ids)  # both versions in one epoch
    done = _done(path)
    assert statement in done.log
    assert "dt string has the name of partition column dt: the field is not in a column" in done.log
    assert "odd is a union of several types: left out: the field is not in a column" in done.log
    assert _planned(path)["statements"] == []

    topic.produce({2: ids[2]})  # the registry has a third one only after a run that knows the second
    ids[3] = topic.register(3)
    assert len(_planned(path)["statements"]) == 3, _planned(path)
    topic.produce(ids)
    _done(path)
    topic.assert_rows()
    files = topic.hive.query(f"select count(distinct input__file__name) from {topic.table}")[0][0]
    assert files <= 3 * 2 * 3, "files are split by version"

    audited = command("verify", path, "--deep")
    assert audited.code == 0, audited.log[-3000:]
    previewed = command("preview", path, "-n", "4", "--json").document["tables"][0]
    assert previewed["error"] is None and all("spot" in row["values"] for row in previewed["rows"]), previewed


@pytest.mark.timeout(3600)
def test_fields_that_only_records_tell_of_become_columns_before_the_first_file_that_has_them(
    topic: Topic,
) -> None:
    """Under a subject that the map does not name: as with a producer that registers while a run reads."""
    path = topic.map_of(schema_evolution="add", ignored_fields=["secret"], subject="nowhere")
    topic.produce({1: topic.register(1)})
    _done(path)
    ids = {generation: topic.register(generation) for generation in (1, 2, 3)}
    topic.produce(ids)
    done = _done(path)
    assert f"records with schema id {ids[2]} have new fields" in done.log
    topic.assert_rows()
    audited = command("verify", path, "--deep")
    assert audited.code == 0, audited.log[-3000:]


@pytest.mark.timeout(3600)
def test_a_running_service_adds_columns_and_is_killed_while_it_does(topic: Topic) -> None:
    path = topic.map_of(
        schema_evolution="add", ignored_fields=["secret"], subject="nowhere", flush={"interval": "1s"}
    )
    ids = {1: topic.register(1)}
    stored = {**topic.produce(ids)}
    with Running(path) as run:
        topic.wait_until_at(run, ends_of(stored))
        ids[2] = topic.register(2)
        stored |= topic.produce(ids)
        run.wait_until(lambda: run.said("column spot struct<gate:int> is added"), "a column added")
        run.kill_driver()
        run.wait_for_orphans(300)
    stored |= topic.produce(ids)
    with Running(path, "--takeover") as run:
        topic.wait_until_at(run, ends_of(stored))
        ids[3] = topic.register(3)
        stored |= topic.produce(ids)
        topic.wait_until_at(run, ends_of(stored))
        assert run.said("column Order bigint is added"), run.tail()
        # a system that answered too late may set the table aside, too: not what this test is about
        aside = [message for message in run.messages() if "is set aside" in message]
        assert not any("[schema." in message for message in aside), aside
        assert run.terminate() == 143
    topic.assert_rows()
    audited = command("verify", path, "--deep")
    assert audited.code == 0, audited.log[-3000:]


@pytest.mark.timeout(3600)
def test_stop_sets_the_table_aside_with_the_difference_and_resumes_when_the_map_agrees(topic: Topic) -> None:
    path = topic.map_of(schema_evolution="stop")
    ids = {1: topic.register(1)}
    topic.produce(ids)
    _done(path)
    ids[3] = topic.register(3)
    told = "no column for Order bigint (id"
    assert told in _planned(path)["error"]["message"]
    for subject in ("{topic}-value", "nowhere"):  # the newest schema, and what records say
        path = topic.map_of(schema_evolution="stop", subject=subject)
        if subject == "nowhere":
            topic.produce(ids)
        done = run_once(path)
        assert done.code == 75, done.log[-3000:]
        assert "[schema.differs]" in done.log and "no column for Order bigint" in done.log
        assert "no column for tags array<string>" in done.log
    assert topic.hive.query(f"select count(*) from {topic.table}")[0][0] == EACH
    columns = {"id": "bigint", "day": "string", "Order": "bigint", "spot": "struct<gate:int>"}
    path = topic.map_of(columns | {"tags": "array<string>"}, schema_evolution="stop")
    assert "no field for spot.hall string" in _planned(path)["error"]["message"]
    for table_column in ("`Order` bigint", "spot struct<gate:int,hall:string>", "tags array<string>"):
        topic.hive.query(f"alter table {topic.table} add columns ({table_column}) cascade")
    columns |= {"spot": "struct<gate:int,hall:string>", "tags": "array<string>"}
    _done(topic.map_of(columns, schema_evolution="stop"))
    topic.assert_rows()


NOTE = {"name": "note", "type": ["null", "string"], "default": None}
GATE = {"name": "gate", "type": ["null", "int"], "default": None}
BARE_GATE = {"name": "gate", "type": "int"}
BY_MODE: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]] = {
    "BACKWARD": ([*FIRST, NOTE], [*FIRST, GATE], [FIRST[0], GATE, NOTE]),
    "FORWARD": ([*FIRST, NOTE], [*FIRST, BARE_GATE], [*FIRST, BARE_GATE, NOTE]),
    "FULL_TRANSITIVE": ([*FIRST, NOTE], [*FIRST, GATE], [*FIRST, GATE, NOTE]),
}
"""Three generations that the mode allows; each drops a field of the one before it, or has a new one."""
REFUSED = {
    "BACKWARD": [FIRST[0], GATE, {"name": "bare", "type": "int"}],
    "FORWARD": [FIRST[0], NOTE],
    "FULL_TRANSITIVE": [*FIRST, BARE_GATE],
}


class Producers:
    """Those of one topic under a mode of compatibility, rolled out one by one; `sent`: what they have sent."""

    def __init__(self, topic: Topic, mode: str) -> None:
        self._service, self._mode, self._ids = topic, mode, dict[int, int]()
        self.name, self.table = f"{topic.name}-{mode}", f"{topic.name}.{mode.lower()}"
        self.sent: list[dict[str, Any]] = []
        topic.kafka.create_topic(self.name, 2)

    def _schema(self, fields: list[dict[str, Any]]) -> dict[str, Any]:
        return {"type": "record", "name": "Flight", "namespace": self._service.name, "fields": fields}

    def register(self, fields: list[dict[str, Any]]) -> int:
        return self._service.registry.register(f"{self.name}-value", self._schema(fields))

    def send(self, generation: int) -> None:
        """Records of this generation, which is registered now, and of the one before it."""
        self._ids[generation] = self.register(BY_MODE[self._mode][generation - 1])
        self._service.registry.require(f"{self.name}-value", self._mode)
        messages = []
        for i in range(EACH):
            for writer in {max(generation - 1, 1), generation}:
                values = {"id": len(self.sent), "day": f"d{i}", "note": f"n{i}", "gate": i}
                known = BY_MODE[self._mode][writer - 1]
                body = io.BytesIO()
                fastavro.schemaless_writer(body, self._schema(known), values)
                messages.append(framed(self._ids[writer], body.getvalue()))
                self.sent.append({field["name"]: values[field["name"]] for field in known})
        produce(self._service.kafka.bootstrap, self.name, messages, 2)


@pytest.mark.timeout(3600)
def test_three_generations_under_each_compatibility_of_the_registry_are_in_hive_row_by_row(
    topic: Topic,
) -> None:
    modes = {mode: Producers(topic, mode) for mode in BY_MODE}
    flat: dict[str, Any] = {"schema_evolution": "add", "bucket": {"path": ""}}
    own = [{"table": each.table, "topics": [each.name]} for each in modes.values()]
    path = topic.map_of_tables(*(topic.entry({"id": "bigint"}, **flat, **each) for each in own))
    for generation in (1, 2, 3):
        for producers in modes.values():
            producers.send(generation)
        _done(path)
    for mode, producers in modes.items():
        with pytest.raises(HTTPError, match="409"):
            producers.register(REFUSED[mode])
        rows = topic.hive.query(f"select id, `day`, note, gate from {producers.table}")
        assert sorted(rows) == [
            (row["id"], row.get("day"), row.get("note"), row.get("gate"))
            for row in sorted(producers.sent, key=lambda r: r["id"])
        ], mode
    audited = command("verify", path, "--deep")
    assert audited.code == 0, audited.log[-3000:]


PROTO = """syntax = "proto3";
package air;
message Other {{ int32 x = 1; }}
message Flight {{ int64 id = 1; {more} }}
message Key {{ int64 id = 1; }}
"""
PROTOS = (
    "",
    "optional int32 gate = 2; Spot spot = 3; message Spot { int32 row = 1; }",
    "optional int64 gate = 2; Spot spot = 3; message Spot { int32 row = 1; string hall = 2; } repeated string tags = 4;",
)


@pytest.mark.timeout(3600)
def test_fields_of_protobuf_messages_become_columns_and_keys_are_read_too(topic: Topic) -> None:
    """Which of a schema's messages the records are, they say themselves; so do their keys."""
    columns: dict[str, Any] = {"id": "bigint", "key_id": {"type": "bigint", "key": "$.id"}}
    more: dict[str, Any] = {"format": "protobuf", "key_format": "protobuf", "bucket": {"path": ""}}
    path = topic.map_of(columns, schema_evolution="add", **more)
    wanted: list[tuple[Any, ...]] = []
    ids: dict[int, int] = {}
    for generation, fields in enumerate(PROTOS, 1):
        text = PROTO.format(more=fields)
        ids[generation] = topic.registry.register(f"{topic.name}-value", text, "PROTOBUF")
        messages, keys = [], []
        for i in range(EACH):
            for writer in sorted({1, generation}):
                flight = message_class(PROTO.format(more=PROTOS[writer - 1]), "air.Flight")(id=len(wanted))
                if writer > 1:
                    flight.gate, flight.spot.row = i + 2**40 * (writer > 2), i
                if writer > 2:
                    flight.spot.hall = f"h{i}"
                    flight.tags.append("x")
                key = message_class(PROTO.format(more=""), "air.Key")(id=7 + len(wanted))
                messages.append(framed(ids[writer], b"\2\2" + flight.SerializeToString()))
                keys.append(framed(ids[1], b"\2\4" + key.SerializeToString()))
                own = (flight.gate, i) if writer > 1 else (None, None)
                hall = f"h{i}" if writer > 2 else None
                wanted.append((len(wanted), 7 + len(wanted), *own, hall))
        produce(topic.kafka.bootstrap, topic.name, messages, 2, keys)
        done = _done(path)
        assert ("have new fields" in done.log) == (generation > 1), "only records say which message it is"
    rows = topic.hive.query(f"select id, key_id, gate, spot.`row`, spot.hall, tags from {topic.table}")
    assert [row[:4] for row in sorted(rows)] == [row[:4] for row in wanted]
    assert [row[4] or None for row in sorted(rows)] == [row[4] or None for row in wanted]
    assert [row[5] for row in sorted(rows) if row[5] not in (None, "[]")] == ['["x"]'] * EACH
    audited = command("verify", path, "--deep")
    assert audited.code == 0, audited.log[-3000:]
    previewed = command("preview", path, "-n", "2", "--json").document["tables"][0]
    assert previewed["error"] is None and previewed["dead_letters"] == []
    assert {row["values"]["tags"][0] for row in previewed["rows"] if row["values"]["tags"]} == {"x"}
