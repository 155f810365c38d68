"""Records that say what they are, on real services: their values are right in Hive, or they are dead letters with both names."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from tests.contract.avro_cases import number
from tests.contract.avro_ways import framed, record
from tests.contract.test_protobuf_schemas import in_base64
from tests.harness.program import command, run_once
from tests.harness.service_map import PLACE, write_map
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce
from tests.services.schema_registry import SchemaRegistry

DECIMAL = "org.apache.kafka.connect.data.Decimal"
STAMP = "io.debezium.time.Timestamp"
CONNECT_STAMP = "org.apache.kafka.connect.data.Timestamp"
YEAR = "io.debezium.time.Year"
AT = 1_732_000_000_000
NOVEMBER = "2024-11-19 07:06:40"
MONEY = """syntax = "proto3"; package demo; import "google/type/money.proto";
message Order { int64 id = 1; google.type.Money price = 2; }"""


@dataclass
class Edge:
    """A table and its records; what Hive shows, ordered by id, and the dead letters: reasons, and texts in their details."""

    columns: dict[str, Any]
    records: list[bytes]
    rows: list[tuple[Any, ...]]
    letters: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    keys: dict[str, Any] = field(default_factory=dict)


def event(of_value: dict[str, Any], name: str, row_id: int, value: Any) -> bytes:
    """As Kafka Connect's JSON converter writes it with schemas."""
    fields = [{"type": "int64", "field": "id"}, {**of_value, "field": name}]
    schema = {"type": "struct", "optional": False, "fields": fields}
    return json.dumps({"schema": schema, "payload": {"id": row_id, name: value}}).encode()


def envelope(of_value: dict[str, Any], row_id: int, value: Any) -> bytes:
    fields = [{"type": "int64", "field": "id"}, {**of_value, "field": "created"}]
    row = {"type": "struct", "optional": True, "fields": fields}
    parts = [{**row, "field": "before"}, {**row, "field": "after"}, {"type": "string", "field": "op"}]
    payload = {"op": "c", "before": None, "after": {"id": row_id, "created": value}}
    return json.dumps({"schema": {"type": "struct", "fields": parts}, "payload": payload}).encode()


def amount(row_id: int, scale: str, text: str) -> bytes:
    of_value = {
        "type": "bytes",
        "optional": True,
        "name": DECIMAL,
        "version": 1,
        "parameters": {"scale": scale},
    }
    return event(of_value, "amount", row_id, text)


def moment(name: str, kind: str = "int64") -> dict[str, Any]:
    return {"type": kind, "name": name, "version": 1}


def order_descriptor() -> str:
    """The schema of MONEY without its price, as confluent-kafka's serializers register it."""
    file = FileDescriptorProto(name="order.proto", package="demo", syntax="proto3")
    kind, label = FieldDescriptorProto.TYPE_INT64, FieldDescriptorProto.LABEL_OPTIONAL
    file.message_type.add(name="Order").field.add(name="id", number=1, type=kind, label=label)
    return in_base64(file)


def in_protobuf(schema_id: int) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + b"\0\x08\x07"


def edges(topic: str, registry: SchemaRegistry) -> dict[str, Edge]:
    amounts = [amount(1, "2", "MDk="), amount(2, "3", "MDk="), amount(3, "0", "PA=="), amount(4, "2", "0000")]
    decimals = [(1, "123.45"), (3, "60.00"), (4, "-29293.56")]
    finer = ("json.inexact", ("12.345", "decimal(12,2)", f"{DECIMAL} of scale 3"))
    of_payload = {"id": {"type": "bigint", "from": "$.payload.id"}}
    stamp = {"type": "timestamp", "unit": "us"}
    from_payload = {"from": "$.payload.created"}
    both = [(1, NOVEMBER), (2, NOVEMBER)]
    schemas = [
        {**record(id="long", created={"type": "long", "connect.name": name}), "namespace": f"{topic}.n{n}"}
        for n, name in enumerate((STAMP, CONNECT_STAMP))
    ]
    ids = [registry.register(f"{topic}-avro-{n}", one) for n, one in enumerate(schemas)]
    orders = [
        registry.register(f"{topic}-{n}", text, "PROTOBUF")
        for n, text in enumerate((MONEY, order_descriptor()))
    ]
    return {
        name: Edge(
            {**of_payload, "amount": column | {"from": "$.payload.amount"}}, amounts, decimals, [finer]
        )
        for name, column in {
            "scale_base64": {"type": "decimal(12,2)", "decimals": "base64"},
            "scale": {"type": "decimal(12,2)"},
        }.items()
    } | {
        "unit_debezium": Edge(
            {"id": "bigint", "created": stamp},
            [envelope(moment(STAMP), 1, AT), envelope(moment(CONNECT_STAMP), 2, AT)],
            both,
            keys={"source": "debezium"},
        ),
        "unit_events": Edge(
            {**of_payload, "created": stamp | from_payload},
            [event(moment(STAMP), "created", 1, AT), event(moment(CONNECT_STAMP), "created", 2, AT)],
            both,
        ),
        "unit_avro": Edge(
            {"id": "bigint", "created": stamp},
            [framed(one, number(n) + number(AT)) for n, one in enumerate(ids, 1)],
            both,
            keys={"format": "avro"},
        ),
        "year": Edge(
            {**of_payload, "created": {"type": "date", "unit": "d"} | from_payload},
            [event(moment(YEAR, "int32"), "created", 1, 2024)],
            [],
            [("json.semantic", (YEAR, "date"))],
        ),
        "protobuf": Edge(
            {"id": "bigint"}, list(map(in_protobuf, orders)), [(7,), (7,)], keys={"format": "protobuf"}
        ),
    }


@pytest.mark.timeout(3600)
def test_records_that_contradict_the_map_are_right_in_hive_or_dead_letters_with_both_names(
    kafka: KafkaBroker,
    hdfs: Hdfs,
    hive: HiveServer,
    hive_database: str,
    registry: SchemaRegistry,
    tmp_path: Path,
) -> None:
    each = edges(hive_database, registry)
    entries = []
    for name, edge in each.items():
        topic = f"{hive_database}.{name}"
        kafka.create_topic(topic, 1)
        produce(kafka.bootstrap, topic, edge.records, 1)
        entry = {"table": topic, "topics": [topic], "columns": edge.columns, "metadata": PLACE, **edge.keys}
        entries.append(entry | {"bucket": {"time": "record"}, "dead_letter_share": 1.0})
    config = write_map(
        tmp_path,
        hive_database,
        kafka.bootstrap,
        f"{hdfs.namenode_url}/{hive_database}",
        entries,
        hive={"url": f"hive://{hive.address}"},
        registry={"url": registry.url},
        defaults={"start": "earliest", "flush": {"interval": "1s"}},
    )
    done = run_once(config)
    assert done.code == 0, done.log[-3000:]
    for name, edge in each.items():
        value = ", cast(amount as string)" if "amount" in edge.columns else ""
        value = ", cast(created as string)" if "created" in edge.columns else value
        rows = hive.query(f"select id{value} from {hive_database}.{name} order by id")
        assert [tuple(one if n else int(one) for n, one in enumerate(row)) for row in rows] == edge.rows, name
        letters = hive.query(
            f"select reason, detail from {hive_database}.{hive_database}_dead_letters where source_table ="
            f" '{hive_database}.{name}'"
        )
        assert len(letters) == len(edge.letters), letters
        for (reason, detail), (code, parts) in zip(letters, edge.letters, strict=True):
            assert reason == code and all(part in detail for part in parts), detail
    audited = command("verify", config, "--deep", "--json")
    assert audited.code == 0, audited.log
    assert not any(table["not_checked"] for table in audited.document["tables"]), audited.document
