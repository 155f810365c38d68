"""Times of day as texts in columns of strings, in JSON with a schema, Avro and Protobuf, and in both decoders."""

import json
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode import DecoderSpec
from kafka2hive.decode.contract.sources import SchemaUnresolvable, Source
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.decode.json import of_records
from kafka2hive.model.hive_types import parse_hive_type
from tests.contract import avro_ways, protobuf_ways
from tests.contract.decode_ways import EACH_WAY
from tests.contract.protobuf_cases import number, sized
from tests.contract.test_avro_against_fastavro import encoded
from tests.harness.outcomes import first_values, outcomes_of

TEXTS = pa.schema([("t", pa.string())])
DAY = 86_400
NUMBERS: dict[str, list[tuple[int, str]]] = {
    "ms": [
        (0, "00:00:00"),
        (18_000_500, "05:00:00.500"),
        (DAY * 10**3 - 1, "23:59:59.999"),
        (DAY * 10**3, ".range"),
        (-1, ".range"),
    ],
    "us": [
        (1, "00:00:00.000001"),
        (18_000_500_000, "05:00:00.500"),
        (18_000_500_010, "05:00:00.500010"),
        (DAY * 10**6, ".range"),
        (2**62, ".range"),
    ],
    "ns": [
        (1, "00:00:00.000000001"),
        (1_000, "00:00:00.000001"),
        (43_200 * 10**9, "12:00:00"),
        (DAY * 10**9 - 1, "23:59:59.999999999"),
        (-(2**63), ".range"),
    ],
}
NAMES = {
    "org.apache.kafka.connect.data.Time": "ms",
    "io.debezium.time.Time": "ms",
    "io.debezium.time.MicroTime": "us",
    "io.debezium.time.NanoTime": "ns",
}


def wanted(format: str, texts: list[str]) -> list[str | None]:
    return [f"{format}{text}" if text.startswith(".") else text for text in texts]


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize("name", NAMES)
def test_a_number_of_json_is_read_by_the_record_s_schema(name: str, way: str) -> None:
    values = NUMBERS[NAMES[name]]
    schema = {"type": "struct", "fields": [{"field": "t", "type": "int64", "name": name}]}
    spec = DecoderSpec("json", TEXTS, sources=[Source(("payload", "t"))])
    made = of_records(spec, None if way == "exact" else LIBRARY)
    records = [{"schema": schema, "payload": {"t": value}} for value in [*(n for n, _ in values), None, "x"]]
    found = outcomes_of(made, [json.dumps(record).encode() for record in records])
    codes = [one[0][0] if isinstance(one, list) else one.code for one in found]
    assert codes == [*wanted("json", [text for _, text in values]), None, "json.type"]
    assert f"({name} in the record's schema)" in found[len(values) - 1].text


def logical(kind: str, name: str) -> Any:
    return {"type": kind, "logicalType": name}


SCHEMAS = [
    (logical("int", "time-millis"), "ms"),
    (["null", logical("long", "time-micros")], "us"),
    *(({"type": "long", "connect.name": name}, unit) for name, unit in NAMES.items()),
]


@pytest.mark.parametrize("way", avro_ways.WAYS)
@pytest.mark.parametrize(("written", "unit"), SCHEMAS, ids=[str(written) for written, _ in SCHEMAS])
def test_a_number_of_avro_is_read_by_its_type(written: Any, unit: str, way: str) -> None:
    values, changes = NUMBERS[unit], Changes()
    schema = avro_ways.record(a=avro_ways.record(t=written) | {"name": "Inner"})
    made = avro_ways.WAYS[way](
        TEXTS, "Europe/Berlin", [Source(("a", "t"))], writers=avro_ways.written(schema), changes=changes
    )
    messages = encoded(schema, [{"a": {"t": value}} for value, _ in values])
    assert first_values(made, messages) == wanted("avro", [text for _, text in values])
    assert changes.take() == ()
    as_number = avro_ways.WAYS[way](
        pa.schema([("t", pa.int64())]), "UTC", [Source(("a", "t"))], writers=avro_ways.written(schema)
    )
    assert first_values(as_number, messages) == [value for value, _ in values]


@pytest.mark.parametrize("way", protobuf_ways.WAYS)
def test_a_time_of_day_of_protobuf(way: str) -> None:
    text = (
        'syntax = "proto3"; import "google/type/timeofday.proto"; message M { google.type.TimeOfDay t = 1; }'
    )
    made = protobuf_ways.WAYS[way](TEXTS, "UTC", [Source(("t",))], writers=protobuf_ways.written(text))

    def of(*parts: int) -> bytes:
        return sized(b"".join(number(part, at) for at, part in enumerate(parts, 1)), 1)

    messages = [
        of(5, 0, 0, 500_000_000),
        of(23, 59, 59, 999_999_999),
        of(),
        b"",
        of(24),
        of(0, 60),
        of(0, 0, 0, -1),
    ]
    texts = ["05:00:00.500", "23:59:59.999999999", "00:00:00"]
    assert first_values(made, messages) == [*texts, None, *["protobuf.range"] * 3]


def test_json_texts_and_values_within_other_types_are_as_before() -> None:
    schema = avro_ways.record(
        t=logical("int", "time-millis"), a={"type": "array", "items": logical("int", "time-millis")}
    )
    source = Source(("t",), None, Leeway(json="text"))
    made = avro_ways.WAYS["exact"](TEXTS, "UTC", [source], writers=avro_ways.written(schema))
    assert first_values(made, encoded(schema, [{"t": 500, "a": []}])) == ["00:00:00.500"]
    columns = pa.schema([("a", parse_hive_type("array<string>"))])
    with pytest.raises(SchemaUnresolvable, match="does not fill string"):
        avro_ways.WAYS["exact"](columns, "UTC", [Source(("a",))], writers=avro_ways.written(schema))
