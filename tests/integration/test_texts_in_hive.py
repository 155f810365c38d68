"""Whole messages, canonical texts and values of Avro as JSON, which Hive reads; and columns by JSON Schemas."""

import io
import json
from pathlib import Path
from typing import Any

import fastavro
import pytest

from tests.harness.avro_flights import framed
from tests.harness.program import command, run_once
from tests.harness.service_map import PLACE, write_map
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce
from tests.services.schema_registry import SchemaRegistry

COUNT = 60
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {"name": "of", "type": ["null", "string", {"type": "map", "values": ["long", "string"]}]},
        {"name": "parent", "type": ["null", "Order"]},
    ],
}
FIRST = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
SECOND = {
    "type": "object",
    "properties": {
        **FIRST["properties"],  # type: ignore[dict-item]
        "at": {"oneOf": [{"type": "null"}, {"type": "string", "format": "date-time"}]},
        "sizes": {"type": "object", "additionalProperties": {"type": "number"}},
        "any": {},
    },
}


def _text(i: int) -> str:
    return f'{{"id": {i}, "doc" : {{"z":[1.10, {i}],"a":"\\u0041\\n"}} }}'


def _order(i: int) -> dict[str, Any]:
    one = {"id": 2**60 + i, "amount": (150).to_bytes(2, "big"), "of": {"k": i, "t": 'a "b"'}, "parent": None}
    return {**one, "of": None if i % 2 else one["of"], "parent": one if i % 3 else None}


@pytest.mark.timeout(1800)
def test_hive_reads_texts_of_all_formats(
    kafka: KafkaBroker,
    hdfs: Hdfs,
    hive: HiveServer,
    hive_database: str,
    registry: SchemaRegistry,
    tmp_path: Path,
) -> None:
    topics = {name: f"{hive_database}-{name}" for name in ("json", "avro", "schema")}
    for topic in topics.values():
        kafka.create_topic(topic, 2)
    produce(kafka.bootstrap, topics["json"], [_text(i).encode() for i in range(COUNT)], 2)
    number = registry.register(f"{topics['avro']}-value", ORDER)
    messages = []
    for i in range(COUNT):
        body = io.BytesIO()
        raw = json.loads(json.dumps(ORDER).replace(', "logicalType": "decimal"', ""))
        fastavro.schemaless_writer(body, fastavro.parse_schema(raw), _order(i))
        messages.append(framed(number, body.getvalue()))
    produce(kafka.bootstrap, topics["avro"], messages, 2)
    ids = [registry.register(f"{topics['schema']}-value", one, "JSON") for one in (FIRST, SECOND)]
    known = {"at": "2013-01-01T05:00:00Z", "sizes": {"a": 1.5}, "any": [1]}
    rows: list[dict[str, Any]] = [{"id": i, "name": "n", **(known if i % 2 else {})} for i in range(COUNT)]
    messages = [framed(ids[i % 2], json.dumps(row).encode()) for i, row in enumerate(rows)]
    produce(kafka.bootstrap, topics["schema"], messages, 2)

    text = {"type": "string", "json": "text"}
    whole, sort = {**text, "from": "$"}, {"type": "string", "json": "canonical", "from": "$.doc"}
    columns: dict[str, dict[str, Any]] = {
        "json": {"id": "bigint", "message": whole, "doc": sort},
        "avro": {"id": "bigint", "of": text, "parent": text, "message": whole},
        "schema": {"id": "bigint"},
    }
    formats = {"json": "json", "avro": "avro", "schema": "json_schema"}
    entries = [
        {
            "table": f"{hive_database}.t_{name}",
            "topics": [topics[name]],
            "start": "earliest",
            "format": formats[name],
        }
        | {"columns": columns[name], "metadata": PLACE, "bucket": {"path": ""}}
        | ({"schema_evolution": "add"} if name == "schema" else {})
        for name in topics
    ]
    sections = {"hive": {"url": f"hive://{hive.address}"}, "registry": {"url": registry.url}}
    path = write_map(
        tmp_path, hive_database, kafka.bootstrap, f"{hdfs.namenode_url}/{hive_database}", entries, **sections
    )
    done = run_once(path)
    assert done.code == 0, done.log[-4000:]

    found = hive.query(
        "select id, get_json_object(message, '$.doc.z[1]'), message, doc, get_json_object(doc, '$.a')"
        f" from {hive_database}.t_json order by id"
    )
    expected = [(i, str(i), _text(i), f'{{"a":"A\\n","z":[1.10,{i}]}}', "A\n") for i in range(COUNT)]
    assert list(map(tuple, found)) == expected
    found = hive.query(
        "select id, get_json_object(`of`, '$.k'), get_json_object(parent, '$.amount'),"
        f" get_json_object(message, '$.parent.id'), get_json_object(`of`, '$.t') from {hive_database}.t_avro order by id"
    )
    for i, (one, key, amount, parent, quoted) in enumerate(found):
        assert one == 2**60 + i and (key, quoted) == ((None, None) if i % 2 else (str(i), 'a "b"'))
        assert (amount, parent) == (("1.5", str(2**60 + i)) if i % 3 else (None, None)) or amount == "1.50"
    found = hive.query(f"select id, name, `at`, sizes['a'] from {hive_database}.t_schema order by id")
    assert [str(row[2])[:19] for row in found] == [
        "2013-01-01 05:00:00" if i % 2 else "None" for i in range(COUNT)
    ]
    assert [row[3] for row in found] == [1.5 if i % 2 else None for i in range(COUNT)] and found[0][1] == "n"
    assert "any has no type: left out: the field is not in a column" in done.log
    audited = command("verify", path, "--deep")
    assert audited.code == 0, audited.log[-3000:]
    previewed = command("preview", path, "-n", "3", "--json").document["tables"]
    assert all(table["error"] is None and table["rows"] for table in previewed), previewed
