"""Flights as Avro in Confluent's wire format, by two writers' schemas; encoded and read back by fastavro alone."""

import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import fastavro
import orjson

from tests.oracle.exact import Content, flight

_NUMBERS = (
    "year month day dep_time sched_dep_time dep_delay arr_time sched_arr_time arr_delay flight air_time distance"
    " hour minute"
)
_TEXTS = "carrier tailnum origin dest"
_HOUR = {"type": "long", "logicalType": "timestamp-millis"}


def _fields(number: str) -> list[dict[str, Any]]:
    numbers = [{"name": name, "type": ["null", number]} for name in _NUMBERS.split()]
    texts = [{"name": name, "type": ["null", "string"]} for name in _TEXTS.split()]
    return [*numbers, *texts, {"name": "time_hour", "type": _HOUR}]


FIRST: dict[str, Any] = {"type": "record", "name": "Flight", "namespace": "air", "fields": _fields("long")}
"""All columns."""
SECOND: dict[str, Any] = {
    **FIRST,
    "fields": [
        {"name": "note", "type": {"type": "map", "values": "string"}},
        *(f for f in reversed(_fields("int")) if f["name"] != "tailnum"),
    ],
}
"""Another order, ints, a field that no column takes, and no tailnum."""


@dataclass(frozen=True, slots=True)
class Writer:
    """A writer's schema by the id that the registry gave it."""

    schema_id: int
    schema: dict[str, Any]

    def messages(self, flights: Iterable[bytes]) -> Iterator[bytes]:
        """Each a zero byte, the id, the record."""
        parsed = fastavro.parse_schema(self.schema)
        for payload in flights:
            values = {"note": {"source": "test"}} | orjson.loads(payload)
            values["time_hour"] = datetime.fromisoformat(values["time_hour"])
            body = io.BytesIO()
            fastavro.schemaless_writer(body, parsed, values)
            yield framed(self.schema_id, body.getvalue())


def framed(schema_id: int, body: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + body


def flight_of(*writers: Writer) -> Content:
    """What a message becomes: its bucket by month, and its row."""
    schemas = {writer.schema_id: fastavro.parse_schema(writer.schema) for writer in writers}

    def content(message: bytes) -> tuple[str, dict[str, Any]]:
        schema = schemas[int.from_bytes(message[1:5], "big")]
        values = fastavro.schemaless_reader(io.BytesIO(message[5:]), schema, None)
        assert isinstance(values, dict)
        values.pop("note", None)
        values.setdefault("tailnum", None)
        values["time_hour"] = values["time_hour"].astimezone(UTC).isoformat()
        return flight(json.dumps(values).encode())

    return content
