"""The benchmark's flights as Avro messages, written by fastavro."""

import io
import json
from datetime import datetime
from typing import Any

import fastavro
import pyarrow as pa

from kafka2hive.model.writer_schema import AVRO, WriterSchema

_TYPES = {
    "int32": "int",
    "string": {"type": "string", "avro.java.string": "String"},
    "timestamp[us]": {"type": "long", "logicalType": "timestamp-millis"},
}
ID = 7


def writer(schema: pa.Schema) -> WriterSchema:
    """Every field may be null, as most producers have it."""
    fields = [{"name": f.name, "type": ["null", _TYPES[str(f.type)]]} for f in schema]
    return WriterSchema(AVRO, json.dumps({"type": "record", "name": "flights.Flight", "fields": fields}))


def encoded(records: list[bytes], schema: pa.Schema) -> list[bytes]:
    """JSON records in Confluent's wire format."""
    parsed = fastavro.parse_schema(json.loads(writer(schema).text))
    return [b"\0" + ID.to_bytes(4, "big") + _body(json.loads(record), parsed) for record in records]


def _body(record: dict[str, Any], parsed: Any) -> bytes:
    to = io.BytesIO()
    record["time_hour"] = datetime.fromisoformat(record["time_hour"])
    fastavro.schemaless_writer(to, parsed, record)
    return to.getvalue()


class OneWriter:
    """A registry that has one schema."""

    def __init__(self, writer: WriterSchema) -> None:
        self._writer = writer

    def get(self, schema_id: int | str) -> WriterSchema | None:
        return self._writer if schema_id == ID else None


class OneSchema(OneWriter):
    """The flights'."""

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__(writer(schema))
