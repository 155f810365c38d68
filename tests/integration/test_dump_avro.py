"""Avro with a real schema registry: exactly once into Hive; a registry that is away, or is none, makes no dead letter."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from kafka2hive.config.keys import RegistryOptions
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.plan.contract import TableFailure, TableTask, TaskPlan
from kafka2hive.registry.client import connect_registry
from kafka2hive.service.hive.schemas import MapTables
from kafka2hive.service.validate.check import Passed
from kafka2hive.service.validate.online import check_registry
from kafka2hive.task import run_task
from kafka2hive.task.fetch.consumer import forget_consumer
from tests.harness.avro_flights import FIRST, SECOND, Writer, flight_of, framed
from tests.harness.epochs import begin, wiring_of
from tests.harness.odd_http import odd_server, reply
from tests.harness.program import Running, command, run_once
from tests.harness.scenario import DumpedTable, Scenario, flights_in, on_hdfs
from tests.oracle.exact import ends_of
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce
from tests.services.schema_registry import SchemaRegistry

COUNT = 8_000
JSON_SCHEMA = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}
NO_SUCH_ID = 2_000_000_000


def avro_flights(table: str, topic: str, *writers: Writer) -> DumpedTable:
    return flights_in(table, topic, flight_of(*writers), format="avro")


def registered(registry: SchemaRegistry, subject: str, *schemas: dict[str, Any]) -> list[Writer]:
    """Each with an id of its own: a schema that differs in nothing keeps the id it has."""
    named = [{**schema, "namespace": subject} for schema in schemas]
    return [Writer(registry.register(f"{subject}-value", schema), schema) for schema in named]


@pytest.mark.timeout(3600)
def test_flights_in_avro_of_two_writers_are_in_hive_exactly_once(
    kafka: KafkaBroker,
    hdfs: Hdfs,
    hive: HiveServer,
    hive_database: str,
    registry: SchemaRegistry,
    tmp_path: Path,
) -> None:
    topic, table = hive_database, f"{hive_database}.flights"
    first, second = registered(registry, topic, FIRST, SECOND)
    json_id = registry.register(f"{topic}-json", JSON_SCHEMA, "JSON")
    kafka.create_topic(topic, 4)
    wrong = [
        framed(NO_SUCH_ID, b"x"),
        framed(json_id, b"{}"),
        b'{"year": 1}',
        framed(first.schema_id, b"\x02"),
    ]
    produce(kafka.bootstrap, topic, wrong, 4)
    keys = [framed(second.schema_id, b"key")] * COUNT
    sent = flights()[:COUNT]
    stored = produce(kafka.bootstrap, topic, first.messages(sent[::2]), 4, keys)
    stored |= produce(kafka.bootstrap, topic, second.messages(sent[1::2]), 4, keys)
    scenario = Scenario(
        tmp_path,
        topic,
        kafka.bootstrap,
        on_hdfs(hdfs, topic),
        [avro_flights(table, topic, first, second)],
        hive={"url": f"hive://{hive.address}"},
        registry={"url": registry.url},
        limits={"epoch_records": 6_000},
    )
    scenario.run_once()
    rows = scenario.assert_exactly_once(stored, ends=ends_of(stored))[table]
    assert rows.total() == COUNT
    groups = command("dead-letters list", scenario.config, "--json").document["groups"]
    assert {group["reason"]: group["count"] for group in groups} == {
        "avro.frame": 1,
        "avro.schema": 2,
        "avro.truncated": 1,
    }
    for number, said in enumerate((f"no schema of id {NO_SUCH_ID}", f"id {json_id} is of kind JSON")):
        shown = command("dead-letters show", scenario.config, f"{topic}-{number}@0", "--json")
        assert said in shown.document["dead_letters"][0]["detail"]
    values = [orjson.loads(payload) for payload in sent]
    (told_by_hive,) = hive.query(
        f"select count(*), sum(flight), sum(distance), count(dep_time), count(tailnum), min(time_hour) from {table}"
    )
    assert told_by_hive[:5] == (
        COUNT,
        sum(v["flight"] for v in values),
        sum(v["distance"] for v in values),
        sum(v["dep_time"] is not None for v in values),
        sum(v["tailnum"] is not None for v in values[::2]),
    )
    scenario.verify("--deep")


@pytest.mark.timeout(3600)
def test_known_ids_are_dumped_without_the_registry_and_unknown_ones_wait_for_it(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, registry: SchemaRegistry, tmp_path: Path
) -> None:
    table = f"{unique}.flights"
    first, second = registered(registry, unique, FIRST, SECOND)
    kafka.create_topic(unique, 2)
    sent = flights()[:6_000]
    stored = produce(kafka.bootstrap, unique, first.messages(sent[:2_000]), 2)
    scenario = Scenario(
        tmp_path,
        unique,
        kafka.bootstrap,
        on_hdfs(hdfs, unique),
        [avro_flights(table, unique, first, second)],
        registry={"url": registry.url},
    )
    scenario.run_once()
    registry.service.suspend()
    scenario.write_map(registry={"url": registry.url, "timeout": "1s"})
    try:
        stored |= produce(kafka.bootstrap, unique, first.messages(sent[2_000:4_000]), 2)
        with Running(scenario.config) as run:  # a process that never saw the registry
            scenario.wait_until_at(run, ends_of(stored))
            known = ends_of(stored)
            stored |= produce(kafka.bootstrap, unique, second.messages(sent[4_000:]), 2)
            run.wait_until(lambda: run.said("registry.unavailable"), "told of the registry")
            unknown = f"schema {second.schema_id} is not known"
            told: dict[str, Any] = {}

            def is_set_aside() -> bool:
                told.update(trouble(scenario) or {})
                return unknown in told.get("message", "")

            run.wait_until(is_set_aside, "set aside", pause=0.5)
            assert registry.url in told["message"] and told["remedy"]
            assert scenario.ledgers[table].ends() == known
            assert run.terminate() == 143, run.tail()
    finally:
        registry.service.resume()
    scenario.write_map(registry={"url": registry.url})
    scenario.run_once()
    scenario.assert_exactly_once(stored)
    assert command("dead-letters list", scenario.config, "--json").document["dead_letters"] == 0
    scenario.verify("--deep")

    set_up_anew(registry, first, unique)
    produce(kafka.bootstrap, unique, first.messages(sent[:10]), 2)
    done = run_once(scenario.config)
    assert done.code == 75, done.log[-3000:]
    assert "[registry.changed]" in done.log and f"schema id {first.schema_id} of" in done.log
    assert scenario.ledgers[table].ends() == ends_of(stored), "nothing of the doubtful records is committed"


def set_up_anew(registry: SchemaRegistry, writer: Writer, subject: str) -> None:
    """At the same URL, with the writer's id for a schema in which two fields of one type have changed places."""
    registry.stop()
    registry.start()
    swapped = {**writer.schema, "fields": [*writer.schema["fields"][1::-1], *writer.schema["fields"][2:]]}
    for number in range(1, writer.schema_id):
        other = {"type": "record", "name": f"R{number}", "namespace": subject, "fields": []}
        assert registry.register(f"{subject}-{number}", other) == number
    assert registry.register(f"{subject}-value", swapped) == writer.schema_id


def trouble(scenario: Scenario) -> dict[str, Any] | None:
    """Why the only table is set aside, None while it is not."""
    (table,) = command("status", scenario.config, "--json").document["tables"]
    error = table["error"]
    return error if isinstance(error, dict) else None


def test_a_real_registry_gives_schemas_with_what_they_refer_to(registry: SchemaRegistry, unique: str) -> None:
    inner = {"type": "record", "name": "Inner", "namespace": unique, "fields": []}
    outer = {
        "type": "record",
        "name": "Outer",
        "namespace": unique,
        "fields": [{"name": "a", "type": f"{unique}.Inner"}],
    }
    registry.register(f"{unique}/inner", inner)
    reference = {"name": f"{unique}.Inner", "subject": f"{unique}/inner", "version": 1}
    schema_id = registry.register(f"{unique}-value", outer, references=[reference])
    client = connect_registry(RegistryOptions(url=registry.url))
    found = client.schema(schema_id)
    assert found is not None
    assert (found.kind, json.loads(found.text)) == ("AVRO", outer)
    assert [(one.name, json.loads(one.text)) for one in found.references] == [(f"{unique}.Inner", inner)]
    assert client.schema(NO_SUCH_ID) is None
    assert check_registry(client, registry.url).result == Passed(
        "has schemas of the types AVRO, JSON, PROTOBUF"
    )


WRONG: dict[str, tuple[str, Callable[[str, str], dict[str, str]]]] = {
    "wrong password": (
        "registry.denied",
        lambda strict, _: {"url": strict, "username": "etl", "password": "wrong"},
    ),
    "wrong path": ("registry.answer", lambda _, url: {"url": url.partition("/apis")[0]}),
    "nobody there": (
        "registry.unavailable",
        lambda strict, _: {"url": "http://127.0.0.1:1", "timeout": "1s"},
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_registry_that_gives_nothing_sets_the_table_aside_and_makes_no_dead_letter(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, registry: SchemaRegistry, tmp_path: Path, case: str
) -> None:
    code, options = WRONG[case]
    (writer,) = registered(registry, unique, FIRST)
    kafka.create_topic(unique)
    produce(kafka.bootstrap, unique, writer.messages(flights()[:10]), 1)
    with odd_server(lambda _: reply(401, b"<html>Unauthorized</html>")) as strict:
        scenario = Scenario(
            tmp_path,
            unique,
            kafka.bootstrap,
            on_hdfs(hdfs, unique),
            [avro_flights(f"{unique}.flights", unique, writer)],
            registry=options(strict.url, registry.url),
        )
        failure = failure_of(scenario.config, f"{unique}.flights", unique)
    assert (failure.code, "wrong" in failure.message) == (code, False)
    assert failure.remedy


def failure_of(config: Path, table: str, topic: str) -> TableFailure:
    """What the table's task gives instead of files."""
    wiring = wiring_of(config)
    owned = begin(wiring, table)
    settings = MapTables(wiring, None).settings(table)
    task = TableTask(
        table=table,
        ledger_id="0" * 32,
        generation=owned.generation.number,
        epoch=owned.next_epoch,
        planned_at_ms=0,
        ranges=(OffsetRange(TopicPartition(topic, 0), 0, 10),),
    )
    (manifest,) = run_task(TaskPlan(0, (task,)), settings)
    forget_consumer(settings.kafka)
    assert manifest.failure is not None and manifest.files == ()
    return manifest.failure
