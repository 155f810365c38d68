"""Protobuf with a real schema registry: messages of two writers and two syntaxes are in Hive exactly once."""

from pathlib import Path

import orjson
import pytest

from tests.harness.program import command
from tests.harness.protobuf_flights import FIRST, IMPORT, NOTE, SECOND, first, flight_of, second
from tests.harness.scenario import Scenario, flights_in, on_hdfs
from tests.oracle.exact import ends_of
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce
from tests.services.schema_registry import SchemaRegistry

COUNT = 8_000
NO_SUCH_ID = 2_000_000_000


@pytest.mark.timeout(3600)
def test_flights_in_protobuf_of_two_writers_are_in_hive_exactly_once(
    kafka: KafkaBroker,
    hdfs: Hdfs,
    hive: HiveServer,
    hive_database: str,
    registry: SchemaRegistry,
    tmp_path: Path,
) -> None:
    topic, table = hive_database, f"{hive_database}.flights"
    registry.register(f"{topic}/note", NOTE, "PROTOBUF")
    imported = [{"name": IMPORT, "subject": f"{topic}/note", "version": 1}]
    one = first(registry.register(f"{topic}-value", FIRST, "PROTOBUF"))
    two = second(registry.register(f"{topic}-second", SECOND, "PROTOBUF", references=imported))
    kafka.create_topic(topic, 4)
    wrong = [
        b"\0" + NO_SUCH_ID.to_bytes(4, "big") + b"\0",
        b"\0" + one.schema_id.to_bytes(4, "big") + b"\2\6",
        b"\0" + one.schema_id.to_bytes(4, "big") + b"\0\x08",
        b'{"year": 1}',
    ]
    produce(kafka.bootstrap, topic, wrong, 4)
    sent = flights()[:COUNT]
    stored = produce(kafka.bootstrap, topic, one.messages(sent[::2]), 4)
    stored |= produce(kafka.bootstrap, topic, two.messages(sent[1::2]), 4)
    scenario = Scenario(
        tmp_path,
        topic,
        kafka.bootstrap,
        on_hdfs(hdfs, topic),
        [flights_in(table, topic, flight_of(one, two), format="protobuf")],
        hive={"url": f"hive://{hive.address}"},
        registry={"url": registry.url},
        limits={"epoch_records": 6_000},
    )
    scenario.run_once()
    rows = scenario.assert_exactly_once(stored, ends=ends_of(stored))[table]
    assert rows.total() == COUNT
    groups = command("dead-letters list", scenario.config, "--json").document["groups"]
    assert {group["reason"]: group["count"] for group in groups} == {
        "protobuf.frame": 2,
        "protobuf.schema": 1,
        "protobuf.truncated": 1,
    }
    values = [orjson.loads(payload) for payload in sent]
    (told_by_hive,) = hive.query(
        f"select count(*), sum(flight), sum(distance), count(dep_time), count(tailnum) from {table}"
    )
    assert told_by_hive == (
        COUNT,
        sum(v["flight"] for v in values),
        sum(v["distance"] for v in values),
        sum(v["dep_time"] is not None for v in values),
        sum(v["tailnum"] is not None for v in values[::2]),
    )
