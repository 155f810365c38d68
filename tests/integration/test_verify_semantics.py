"""`verify --deep` on real Kafka and HDFS judges times and decimals by the records' own schemas, without the decoder."""

import base64
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.contract.avro_cases import number as avro_number
from tests.contract.avro_cases import text as avro_text
from tests.contract.avro_ways import framed
from tests.contract.semantic_cases import SECONDS
from tests.harness.epochs import begin, dump, wiring_of
from tests.harness.program import command
from tests.harness.service_map import PLACE, ledger_root, write_map
from tests.integration.damage import rewrite
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce
from tests.services.schema_registry import SchemaRegistry

DECIMAL = "org.apache.kafka.connect.data.Decimal"
TIMES = {
    "io.debezium.time.Timestamp": 1_000,
    "io.debezium.time.MicroTimestamp": 1,
    "io.debezium.time.Year": 0,
}
AT = 1_732_000_000_000_000
COUNT = 600


def record(number: int, of_debezium: bool) -> bytes:
    """A record of one of nine schemas; every third is of years, which are no timestamps."""
    name, factor = list(TIMES.items())[number % 3]
    scale = number // 3 % 3
    fields = [
        {"type": "int64", "name": name, "field": "at"},
        {"type": "bytes", "name": DECIMAL, "parameters": {"scale": str(scale)}, "field": "amount"},
    ]
    row = {
        "at": AT // factor if factor else 2024,
        "amount": base64.b64encode((number * 10**scale).to_bytes(4, "big")).decode(),
    }
    schema = {"type": "struct", "fields": fields}
    if not of_debezium:
        return json.dumps({"schema": schema, "payload": row}).encode()
    envelope = {"type": "struct", "fields": [{**schema, "field": "after"}, {"type": "string", "field": "op"}]}
    return json.dumps({"payload": {"op": "c", "after": row}, "schema": envelope}).encode()


def shifted(rows: pa.Table, column: str, values: list[Any]) -> pa.Table:
    at = rows.schema.get_field_index(column)
    return rows.set_column(at, rows.schema.field(at), pa.array(values, rows.schema.field(at).type))


def avro_record(number: int, ids: Sequence[int]) -> bytes:
    """A record of one of three schemas of the registry: two of instants, and one of years."""
    moment = (AT // 1_000, AT, 2024)[number % 3]
    return framed(ids[number % 3], avro_number(moment) + avro_text((number * 10).to_bytes(4, "big")))


def avro_schema(place: int, namespace: str) -> dict[str, Any]:
    times = [
        {"type": "long", "connect.name": "io.debezium.time.Timestamp"},
        {"type": "long", "logicalType": "timestamp-micros"},
        {"type": "int", "connect.name": "io.debezium.time.Year"},
    ]
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 1}
    if place == 0:
        decimal = {"type": "bytes", "connect.name": DECIMAL, "connect.parameters": {"scale": "1"}}
    fields = [{"name": "at", "type": times[place]}, {"name": "amount", "type": decimal}]
    return {"type": "record", "name": "Message", "namespace": namespace, "fields": fields}


PROTOBUF = """syntax = "proto3"; import "google/protobuf/timestamp.proto"; import "google/type/timeofday.proto";
import "confluent/type/decimal.proto";
message Late { google.type.TimeOfDay at = 1; confluent.type.Decimal amount = 2; }
message Row { google.protobuf.Timestamp at = 1; confluent.type.Decimal amount = 2; }
"""


def protobuf_record(number: int, schema_id: int) -> bytes:
    """A message of one of two types; one of a time of day, which is no timestamp."""
    is_late = number % 3 == 2
    unscaled = number * 10 + 10  # 0 would be the same at each scale
    amount = b"\x0a\x04" + unscaled.to_bytes(4, "big") + b"\x18\x01"
    moment = b"\x08\x05" if is_late else SECONDS
    body = b"\x0a" + bytes([len(moment)]) + moment + b"\x12" + bytes([len(amount)]) + amount
    return b"\0" + schema_id.to_bytes(4, "big") + (b"\0" if is_late else b"\x02\x02") + body


def check_rows_that_contradict(
    kafka: KafkaBroker,
    hdfs: Hdfs,
    topic: str,
    folder: Path,
    records: Sequence[bytes],
    columns: dict[str, Any],
    *,
    sections: dict[str, Any],
    **keys: Any,
) -> None:
    """Dump records of which every third is a letter, and let one file have its decimals at another scale."""
    kafka.create_topic(topic, 2)
    produce(kafka.bootstrap, topic, records, 2)
    table = f"{topic}.t"
    of_table: dict[str, Any] = {
        "table": table,
        "topics": [topic],
        "start": "earliest",
        "columns": columns,
        "metadata": PLACE,
        "bucket": {"time": "record"},
        **keys,
    }
    uri = f"{hdfs.namenode_url}/{topic}"
    config = write_map(folder, topic, kafka.bootstrap, uri, [of_table], **sections)
    begin(wiring_of(config), table)
    dump(wiring_of(config), table)

    done = command("verify", config, "--deep", "--json", "--table", table)
    (audited,) = done.document["tables"]
    assert (done.code, audited["findings"], audited["not_checked"]) == (0, [], []), audited

    client = hdfs.client()
    ledger = LedgerText(HdfsTree(client), ledger_root(uri), table)
    files = [file["final"] for file in ledger.newest()["file"] if file["kind"] == "data"]
    rows = sum(file["rows"] for file in ledger.newest()["file"] if file["kind"] == "data")
    assert rows == COUNT * 2 // 3

    def at_the_scale_of_the_column(old: pa.Table) -> pa.Table:
        return shifted(old, "amount", [value / 10 for value in old["amount"].to_pylist()])

    rewrite(client, ledger, str(files[0]), at_the_scale_of_the_column)
    done = command("verify", config, "--deep", "--json", "--table", table)
    (audited,) = done.document["tables"]
    codes = Counter(finding["code"] for finding in audited["findings"])
    assert done.code == 76 and codes["verify.different"] and codes["verify.semantic"] >= 20, audited
    (text, *_) = [one["message"] for one in audited["findings"] if one["code"] == "verify.semantic"]
    assert "column amount is" in text and "the record's schema makes it" in text and str(files[0]) in text


@pytest.mark.parametrize("source", ["events", "debezium"])
def test_rows_that_contradict_the_schemas_of_their_records_are_named(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path, source: str
) -> None:
    path = "$.payload." if source == "events" else "$."
    columns = {
        "at": {"type": "timestamp", "unit": "us", "from": f"{path}at"},
        "amount": {"type": "decimal(12,2)", "from": f"{path}amount"},
    }
    records = [record(n, source == "debezium") for n in range(COUNT)]
    check_rows_that_contradict(kafka, hdfs, unique, tmp_path, records, columns, sections={}, source=source)


@pytest.mark.parametrize("format", ["avro", "protobuf"])
def test_rows_that_contradict_their_schemas_in_the_registry_are_named(
    kafka: KafkaBroker, hdfs: Hdfs, registry: SchemaRegistry, unique: str, tmp_path: Path, format: str
) -> None:
    if format == "avro":
        ids = [registry.register(f"{unique}-{n}", avro_schema(n, unique)) for n in range(3)]
        records = [avro_record(n, ids) for n in range(COUNT)]
    else:
        schema_id = registry.register(f"{unique}-value", PROTOBUF, "PROTOBUF")
        records = [protobuf_record(n, schema_id) for n in range(COUNT)]
    # the instants of Debezium and of Avro have units of their own, whatever the map says
    columns = {"at": {"type": "timestamp", "unit": "s"}, "amount": "decimal(12,2)"}
    check_rows_that_contradict(
        kafka,
        hdfs,
        unique,
        tmp_path,
        records,
        columns,
        sections={"registry": {"url": registry.url}},
        format=format,
    )
