"""JSON records in other encodings: Avro and Protobuf by libraries, Debezium's envelopes by hand from its documents."""

import io
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import fastavro
import orjson

from tests.harness.protobuf_flights import message_class

_AVRO = {
    "bigint": "long",
    "string": {"type": "string", "avro.java.string": "String"},
    "timestamp": {"type": "long", "logicalType": "timestamp-millis"},
}
_TIME = "time_hour"


def avro_schema(columns: dict[str, str]) -> str:
    """Every field may be null, as most producers have it."""
    fields = [{"name": name, "type": ["null", _AVRO[kind]]} for name, kind in columns.items()]
    return json.dumps({"type": "record", "name": "Flight", "namespace": "air", "fields": fields})


def avro(records: Iterable[bytes], schema: str) -> Iterator[bytes]:
    """Without the head that names the schema."""
    parsed = fastavro.parse_schema(json.loads(schema))
    for record in records:
        to = io.BytesIO()
        row: dict[str, Any] = orjson.loads(record)
        fastavro.schemaless_writer(to, parsed, row | {_TIME: datetime.fromisoformat(row[_TIME])})
        yield to.getvalue()


def protobuf(records: Iterable[bytes], proto: str) -> Iterator[bytes]:
    """Plain messages; a field that is null is not there."""
    made = message_class(proto, "bench.Record")
    for record in records:
        row: dict[str, Any] = orjson.loads(record)
        row[_TIME] = _milliseconds(row[_TIME])
        yield made(**{name: value for name, value in row.items() if value is not None}).SerializeToString()


def debezium(records: Iterable[bytes]) -> Iterator[bytes]:
    """Rows created in PostgreSQL, times as `io.debezium.time.Timestamp`, without the schema of each message."""
    for number, record in enumerate(records):
        row: dict[str, Any] = orjson.loads(record)
        moment = _milliseconds(row[_TIME])
        source = {
            "version": "3.0.0.Final",
            "connector": "postgresql",
            "name": "air",
            "ts_ms": moment,
            "snapshot": "false",
            "db": "air",
            "sequence": f'["{number}","{number + 1}"]',
            "schema": "public",
            "table": "flights",
            "txId": 700 + number,
            "lsn": 24_000_000 + 200 * number,
            "xmin": None,
        }
        after = row | {_TIME: moment}
        envelope = {"before": None, "after": after, "source": source, "op": "c", "ts_ms": moment + 300}
        yield orjson.dumps(envelope | {"transaction": None})


def _milliseconds(time: str) -> int:
    return int(datetime.fromisoformat(time).timestamp() * 1000)
