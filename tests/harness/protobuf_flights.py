"""Flights as Protobuf in Confluent's wire format, by two writers' schemas; encoded and read back by Google's library alone."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

import orjson
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from kafka2hive.decode.schemas.protobuf import descriptors
from kafka2hive.model.writer_schema import PROTOBUF, SchemaReference, WriterSchema
from tests.oracle.exact import Content, flight

_NUMBERS = (
    "year month day dep_time sched_dep_time dep_delay arr_time sched_arr_time arr_delay flight air_time distance"
    " hour minute"
)
_TEXTS = "carrier tailnum origin dest"
IMPORT = "air/note.proto"
NOTE = 'syntax = "proto3";\npackage air;\nmessage Note { string source = 1; }\n'


def _fields(kind: str, names: str = f"{_NUMBERS} {_TEXTS}") -> str:
    kinds = {name: "string" if name in _TEXTS.split() else kind for name in names.split()}
    lines = [f"optional {kinds[name]} {name} = {number};" for number, name in enumerate(kinds, 1)]
    return "\n  ".join(lines)


FIRST = f"""syntax = "proto3";
package air;
import "google/protobuf/timestamp.proto";
message Flight {{
  {_fields("int32")}
  google.protobuf.Timestamp time_hour = 19;
}}
"""
"""All columns."""
SECOND = f"""syntax = "proto2";
package air;
import "google/protobuf/timestamp.proto";
import "{IMPORT}";
message Other {{ optional int32 year = 1; }}
message Outer {{
  enum Unused {{ NONE = 0; }}
  message Flight {{
    map<string, Note> notes = 30;
    {_fields("sint64", " ".join(name for name in f"{_TEXTS} {_NUMBERS}".split() if name != "tailnum"))}
    required google.protobuf.Timestamp time_hour = 29;
  }}
}}
"""
"""Other numbers and kinds, a field that no column takes, no tailnum; a nested type behind another."""


@dataclass(frozen=True, slots=True)
class Writer:
    """A writer's schema by the id that the registry gave it; `head`: the indexes of its message's type."""

    schema_id: int
    text: str
    message: str
    head: bytes

    def messages(self, flights: Iterable[bytes]) -> Iterator[bytes]:
        made = message_class(self.text, self.message)
        for payload in flights:
            values = orjson.loads(payload)
            message = made()
            for name, value in values.items():
                if value is not None and name in made.DESCRIPTOR.fields_by_name and name != "time_hour":
                    setattr(message, name, value)
            message.time_hour.FromDatetime(datetime.fromisoformat(values["time_hour"]))
            if "notes" in made.DESCRIPTOR.fields_by_name:
                message.notes["k"].source = "test"
            yield b"\0" + self.schema_id.to_bytes(4, "big") + self.head + message.SerializeToString()


def first(schema_id: int, text: str = FIRST) -> Writer:
    return Writer(schema_id, text, "air.Flight", b"\0")


def second(schema_id: int, text: str = SECOND) -> Writer:
    return Writer(schema_id, text, "air.Outer.Flight", b"\4\2\0")


def schema(text: str) -> WriterSchema:
    return WriterSchema(PROTOBUF, text, (SchemaReference(IMPORT, NOTE),))


@cache
def message_class(text: str, name: str) -> Any:
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(descriptors(schema(text))).file:
        pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def flight_of(*writers: Writer) -> Content:
    """What a message becomes: its bucket by month, and its row."""
    by_id = {writer.schema_id: writer for writer in writers}
    names = f"{_NUMBERS} {_TEXTS}".split()

    def content(data: bytes) -> tuple[str, dict[str, Any]]:
        writer = by_id[int.from_bytes(data[1:5], "big")]
        message = message_class(writer.text, writer.message).FromString(data[5 + len(writer.head) :])
        known = message.DESCRIPTOR.fields_by_name
        values = {n: getattr(message, n) if n in known and message.HasField(n) else None for n in names}
        values["time_hour"] = message.time_hour.ToDatetime(UTC).isoformat()
        return flight(json.dumps(values).encode())

    return content
