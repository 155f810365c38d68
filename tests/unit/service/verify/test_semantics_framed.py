"""`verify --deep` reads Avro and Protobuf by code of its own and judges rows by a list of its own: it notices a wrong decoder."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

import pytest

from kafka2hive.config.keys import TableSettings
from kafka2hive.config.keys.columns import Column
from kafka2hive.decode import Changes
from kafka2hive.model.errors import TableError
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.model.writer_schema import AVRO, PROTOBUF, SchemaId, SchemaReference, WriterSchema
from kafka2hive.plugins import Decoder, Reason
from kafka2hive.service.verify.semantics.judge import SchemaJudge, contradiction
from kafka2hive.task.rows import value_spec
from tests.contract import avro_ways, protobuf_ways
from tests.contract.avro_cases import number, text
from tests.contract.decode_ways import EACH_WAY
from tests.contract.semantic_cases import (
    AVRO_KINDS,
    BYTES,
    CASES,
    COLUMNS,
    LOGICAL_CASES,
    PROTOBUF_CASES,
    SECONDS,
    avro_becomes,
    expected_in,
)
from tests.contract.test_avro_against_fastavro import encoded
from tests.contract.test_other_types import AVRO_CASES, Case
from tests.harness.outcomes import row_outcomes
from tests.harness.task_files import table_settings

JUDGED = [one for one in COLUMNS if one[0].startswith(("timestamp", "date", "decimal", "int", "bigint"))]
ZONE = "America/New_York"
NOON = datetime(2024, 11, 19, 12)


@dataclass(frozen=True)
class Framed:
    """A message, the schema that it names, and what its field `v` becomes in UTC."""

    name: str
    format: Literal["avro", "protobuf"]
    schema: WriterSchema
    message: bytes
    becomes: dict[str, Any]

    def get(self, schema_id: SchemaId) -> WriterSchema | None:
        return self.schema if schema_id == 1 else None

    def judge(self, kind: str, unit: str | None, zone: str = "UTC") -> SchemaJudge:
        return SchemaJudge(table(self.format, kind, unit, zone), self.get)

    def decoder(self, way: str, kind: str, unit: str | None, zone: str) -> Decoder:
        spec = value_spec(table(self.format, kind, unit, zone), self, Changes())
        ways: Any = avro_ways.WAYS if self.format == "avro" else protobuf_ways.WAYS
        decoder: Decoder = ways[way](spec.schema, spec.zone, spec.sources, writers=self)
        return decoder


def table(format: str, kind: str, unit: str | None, zone: str = "UTC", **more: Any) -> TableSettings:
    columns = (Column("v", kind, (), unit),)
    return replace(table_settings("db.t", "raw", ()), format=format, columns=columns, zone=zone, **more)  # type: ignore[arg-type]


def of_avro(schema: Any, data: bytes, becomes: dict[str, Any], name: str = "") -> Framed:
    written = avro_ways.written(avro_ways.record(v=schema))
    return Framed(name or json.dumps(schema), "avro", written, avro_ways.framed(1, data), becomes)


def of_protobuf(name: str, data: bytes, becomes: dict[str, Any]) -> Framed:
    folder, _, own = name.rpartition(".")
    files = {
        "StringValue": "wrappers",
        "TimeOfDay": "timeofday",
        "DateTime": "datetime",
        "Decimal": "decimal",
    }
    file = "wrappers" if own.endswith("Value") else files.get(own, own.lower())
    path = f"{folder.replace('.', '/')}/{file}.proto"
    schema = protobuf_ways.written(f'syntax = "proto3"; import "{path}"; message M {{ {name} v = 1; }}')
    message = protobuf_ways.head(1, 0) + b"\x0a" + bytes([len(data)]) + data
    return Framed(name, "protobuf", schema, message, becomes)


def avro_bytes(kind: str, value: Any) -> bytes:
    if kind in ("int", "long"):
        return number(value)
    return value if kind == "fixed" else text(value)


def cases() -> Iterator[Framed]:
    for case in CASES:
        if case.kind in AVRO_KINDS:
            kind = AVRO_KINDS[case.kind]
            schema = {"type": kind, "connect.name": case.name, "connect.parameters": case.parameters}
            value = BYTES if kind == "bytes" else case.value
            yield of_avro(schema, avro_bytes(kind, value), avro_becomes(case))
    for logical, value, becomes in LOGICAL_CASES:
        yield of_avro(logical, avro_bytes(logical["type"], value), becomes)
    for name, data, becomes in PROTOBUF_CASES:
        yield of_protobuf(name, data, becomes)


EACH = list(cases())


@pytest.mark.parametrize("case", EACH, ids=lambda case: case.name)
def test_the_list_says_of_each_type_and_column_what_the_documents_say(case: Framed) -> None:
    for kind, unit in JUDGED:
        found = (case.judge(kind, unit).expected(case.message) or {}).get("v")
        becomes = expected_in(case.becomes, kind, unit)
        if becomes is not None:
            assert found == becomes, (kind, unit)
        elif not isinstance(found, str):  # a number that the column cannot hold
            assert found is not None and not fits(found, kind), (kind, unit, found)


def fits(value: Any, kind: str) -> bool:
    if kind.startswith("decimal"):
        return bool(value == round(value, 2))
    return kind != "int" or -(2**31) <= value < 2**31


STAMP = of_avro({"type": "long", "connect.name": "io.debezium.time.Timestamp"}, number(1_732_000_000_000), {})
MICROS = of_avro({"type": "long", "logicalType": "timestamp-micros"}, number(1_732_000_000_000_000), {})
LOCAL = of_avro({"type": "long", "logicalType": "local-timestamp-millis"}, number(1_732_000_000_000), {})
MONEY = of_avro(
    {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3}, text(b"\x30\x39"), {}
)
WIDE = of_protobuf("confluent.type.Decimal", b"\x0a\x02\xcf\xc7\x18\x03", {})
HALF = of_protobuf("google.protobuf.Duration", b"\x08\x05\x10\x80\xca\xb5\xee\x01", {})
NANO = of_protobuf("google.protobuf.Timestamp", SECONDS + b"\x10\xe8\x07", {})
FIXED = of_avro({"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}, bytes(range(16)), {})


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize("case", [*EACH, NANO, HALF], ids=lambda case: case.name)
def test_no_row_of_the_decoder_contradicts_the_list(case: Framed, way: str) -> None:
    for kind, unit in [*JUDGED, ("string", None)]:
        for zone in ("UTC", ZONE):
            (row,) = row_outcomes(case.decoder(way, kind, unit, zone), [case.message])
            if not isinstance(row, Reason):
                expected = case.judge(kind, unit, zone).expected(case.message)
                assert expected is not None and contradiction(expected, {"v": row[0]}) == "", (kind, unit)
                assert expected or kind == "string", (kind, unit)


WRONG: list[tuple[Framed, str, str | None, Any, str]] = [
    (STAMP, "timestamp", "us", datetime(1970, 1, 21, 1, 6, 40), "makes it 2024-11-19 07:06:40"),
    (MICROS, "timestamp", None, datetime(1970, 1, 1), "makes it 2024-11-19 07:06:40"),
    (MICROS, "bigint", None, 1_732_000_000_000, "makes it 1732000000000000"),
    (MICROS, "date", "us", date(2024, 11, 19), "no date: timestamp-micros"),
    (LOCAL, "timestamp", "us", NOON, "makes it 2024-11-19 07:06:40"),
    (MONEY, "decimal(12,2)", None, Decimal("123.45"), "makes it 12.345"),
    (MONEY, "bigint", None, 12345, "no integer: bytes of scale 3"),
    (FIXED, "string", None, "x", "makes it 00010203-0405-0607-0809-0a0b0c0d0e0f"),
    (WIDE, "decimal(12,2)", None, Decimal("-123.45"), "makes it -12.345"),
    (HALF, "decimal(12,2)", None, Decimal("5"), "makes it 5.500000000"),
    (NANO, "timestamp", None, NOON, "makes it 2024-11-19 07:06:40.000001"),
    (
        of_protobuf("google.type.Date", b"\x08\xe6\x0f\x10\x01\x18\x08", {}),
        "date",
        None,
        date(2022, 2, 8),
        "2022-01-08",
    ),
    (
        of_protobuf("google.type.Money", b"\x10\x05", {}),
        "decimal(12,2)",
        None,
        Decimal(5),
        "no decimal: google.type.Money",
    ),
    (
        of_protobuf("google.type.TimeOfDay", b"\x08\x05", {}),
        "timestamp",
        None,
        NOON,
        "no timestamp: google.type.TimeOfDay",
    ),
    (
        of_protobuf("google.protobuf.Int64Value", b"\x08\x07", {}),
        "timestamp",
        "ms",
        NOON,
        "1970-01-01 00:00:00.007",
    ),
    (of_protobuf("google.protobuf.Int64Value", b"\x08\x07", {}), "bigint", None, 8, "makes it 7"),
    (of_avro("long", number(7), {}), "timestamp", "s", NOON, "makes it 1970-01-01 00:00:07"),
    (of_avro("long", number(7), {}), "timestamp", None, NOON, "no timestamp: long"),
    (of_avro("double", bytes(8), {}), "decimal(12,2)", None, Decimal(0), "no decimal: double"),
]


@pytest.mark.parametrize(("case", "kind", "unit", "wrong", "told"), WRONG)
def test_a_row_of_another_unit_scale_or_type_is_named(
    case: Framed, kind: str, unit: str | None, wrong: Any, told: str
) -> None:
    expected = case.judge(kind, unit).expected(case.message)
    assert expected is not None and told in contradiction(expected, {"v": wrong})
    assert contradiction(expected, {"v": None}) == contradiction(expected, {}) == ""


def test_instants_and_dates_are_those_of_the_tables_zone_and_wall_clocks_are_not() -> None:
    for case, kind, value in [
        (STAMP, "timestamp", datetime(2024, 11, 19, 2, 6, 40)),
        (MICROS, "timestamp", datetime(2024, 11, 19, 2, 6, 40)),
        (LOCAL, "timestamp", datetime(2024, 11, 19, 7, 6, 40)),
    ]:
        assert case.judge(kind, None, ZONE).expected(case.message) == {"v": value}
    late = of_avro(
        {"type": "long", "connect.name": "io.debezium.time.Timestamp"}, number(1_731_990_000_000), {}
    )
    assert late.judge("date", "ms", ZONE).expected(late.message) == {"v": date(2024, 11, 18)}


NESTED = avro_ways.written(
    {
        "type": "record",
        "name": "a.Row",
        "fields": [
            {"name": "skipped", "type": {"type": "array", "items": {"type": "map", "values": ["null", "double"]}}},
            {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["x", "y"]}},
            {"name": "flag", "type": "boolean"},
            {"name": "ratio", "type": "float"},
            {"name": "next", "type": ["null", "Row"]},
            {"name": "inner", "type": ["null", {"type": "record", "name": "Inner", "fields": [
                {"name": "Kind", "type": "Kind"}, {"name": "V", "type": ["null", "b.Stamp"]}]}]},
        ],
    },
    {"type": "record", "name": "b.Stamp", "fields": [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}}]},
)  # fmt: skip


def test_avro_is_read_through_unions_named_types_and_references() -> None:
    settings = replace(
        table("avro", "timestamp", None, any_case=True),
        columns=(Column("v", "timestamp", ("inner", "v", "AT")),),
    )
    skipped = number(-1) + number(12) + number(1) + text("k") + number(1) + bytes(8) + number(0) + number(0)
    begin = skipped + number(1) + b"\1" + bytes(4) + number(0)
    judge = SchemaJudge(settings, NESTED)
    message = begin + number(1) + number(0) + number(1) + number(1_732_000_000_000)
    assert judge.expected(message) == {"v": datetime(2024, 11, 19, 7, 6, 40)}
    assert judge.expected(begin + number(1) + number(0) + number(0)) == {}
    assert judge.expected(begin + number(0)) == {}
    assert judge.expected(message[:-1]) is judge.expected(b"") is None
    assert judge.expected(number(2**40)) is judge.expected(b"\xff" * 1000) is None
    assert SchemaJudge(settings, WriterSchema(AVRO, "{")).expected(message) is None


def test_protobuf_is_read_with_presence_enums_maps_and_references() -> None:
    schema = WriterSchema(
        PROTOBUF,
        'syntax = "proto3"; import "other.proto"; import "confluent/meta.proto"; message First { }'
        " message Row { map<string, int32> m = 1; enum E { A = 0; B = 1; } message Deep { o.Stamp s = 1; }"
        " optional int32 o = 2; int32 i = 3; E e = 4; repeated int32 r = 5; Deep d = 6; }",
        (
            SchemaReference(
                "other.proto",
                'syntax = "proto3"; package o; import "google/protobuf/timestamp.proto";'
                " message Stamp { google.protobuf.Timestamp at = 1; }",
            ),
        ),
    )
    of = {"o": "int", "i": "int", "e": "bigint", "r": "int", "d": "timestamp"}
    columns = tuple(Column(n, kind, ("d", "s", "at") if n == "d" else ()) for n, kind in of.items())
    settings = replace(table("protobuf", "int", None), columns=columns)
    judge = SchemaJudge(settings, lambda number: schema if number == 7 else None)
    begin = b"\0\0\0\0\x07" + b"\x02\x02"
    assert judge.expected(begin) == {"i": 0, "e": 0, "r": "no integer: repeated r"}
    message = begin + b"\x10\x00\x18\x05\x20\x01" + b"\x32\x0a\x0a\x08\x0a\x06" + SECONDS
    assert judge.expected(message) == {
        "o": 0,
        "i": 5,
        "e": 1,
        "r": "no integer: repeated r",
        "d": datetime(2024, 11, 19, 7, 6, 40),
    }
    two = b"\0\0\0\0\x07" + b"\x04\x02\x00"  # the entries of the map, or Deep
    assert judge.expected(two) is judge.expected(message[:-1]) is judge.expected(b"\0\0\0\0\x08\0") is None
    of_map = SchemaJudge(settings, replace(schema, message="Row"))
    assert of_map.expected(b"\x18\x05") == {"i": 5, "e": 0, "r": "no integer: repeated r"}


@pytest.mark.parametrize(
    ("framing", "head", "schema_id"),
    [
        ("id4", b"\0\0\0\0\x07", 7),
        ("id8", b"\0" + (1 << 40).to_bytes(8, "big"), 1 << 40),
        ("header", b"\0\0\0\0\x07", 7),
        ("header", b"\1" + bytes(range(16)), str(UUID(bytes=bytes(range(16))))),
    ],
)
def test_the_schema_is_the_one_that_the_framing_names(framing: str, head: bytes, schema_id: SchemaId) -> None:
    asked: list[SchemaId] = []

    def get(number: SchemaId) -> WriterSchema | None:
        asked.append(number)
        return MICROS.schema

    judge = SchemaJudge(table("avro", "bigint", None, framing=framing), get)
    assert judge.expected(head + number(5)) == judge.expected(head + number(5)) == {"v": 5}
    assert asked == [schema_id]
    assert judge.records.key(head + number(5)) == head
    assert judge.records.key(b"{}") is judge.records.key(head[:4]) is None


def test_the_indexes_of_protobuf_tell_schemas_apart_and_are_read_as_the_map_says() -> None:
    schema = protobuf_ways.written(
        'syntax = "proto3"; message A { int32 v = 1; } message B { int32 x = 1; } message C { int32 v = 2; }'
    )
    for indexes, head in (("zigzag", b"\x02\x04"), ("unsigned", b"\x01\x02")):
        judge = SchemaJudge(table("protobuf", "int", None, protobuf_indexes=indexes), lambda number: schema)
        message = b"\0\0\0\0\x01" + head + b"\x10\x09"
        assert judge.expected(message) == {"v": 9}
        assert judge.records.key(message) == message[:-2]


def test_a_registry_that_does_not_answer_leaves_records_unjudged() -> None:
    def get(number: SchemaId) -> WriterSchema | None:
        raise TableError("registry.unavailable", "no answer")

    assert SchemaJudge(table("avro", "bigint", None), get).expected(MICROS.message) is None


@pytest.mark.parametrize(
    "text",
    [
        'syntax = "proto3"; package google.protobuf; message Timestamp { string x = 1; } message M { Timestamp v = 1; }',
        "bm8gZGVzY3JpcHRvcg==",
        "no schema",
    ],
)
def test_a_schema_that_is_not_what_its_names_say_leaves_records_unjudged(text: str) -> None:
    schema = protobuf_ways.written(text)
    judge = SchemaJudge(table("protobuf", "timestamp", None), lambda number: schema)
    assert judge.expected(b"\0\0\0\0\x01\x02\x02" + b"\x0a\x03\x0a\x01x") is None


def test_debezium_in_avro_is_judged_by_the_image_that_is_the_row() -> None:
    image = {
        "type": "record",
        "name": "Row",
        "fields": [{"name": "v", "type": {"type": "int", "logicalType": "date"}}],
    }
    fields = {"op": "string", "before": ["null", image], "after": ["null", "Row"]}
    settings = table("avro", "date", None, source="debezium")
    judge = SchemaJudge(settings, avro_ways.written(avro_ways.record(**fields)))
    assert judge.expected(text("u") + number(0) + number(1) + number(19_000)) == {"v": date(2022, 1, 8)}
    assert judge.expected(text("d") + number(1) + number(19_001) + number(0)) == {"v": date(2022, 1, 9)}


def test_only_tables_whose_rows_are_records_are_judged() -> None:
    assert SchemaJudge(table("avro", "bigint", None)).columns == ()
    assert SchemaJudge(table("avro", "bigint", None, sql="select 1"), MICROS.get).columns == ()
    assert SchemaJudge(table("avro", "bigint", None, source="maxwell"), MICROS.get).columns == ()
    assert SchemaJudge(table("avro", "array<bigint>", None), MICROS.get).columns == ()
    assert parse_hive_type("bigint") == SchemaJudge(table("avro", "bigint", None), MICROS.get).columns[0].type


@pytest.mark.parametrize("case", AVRO_CASES, ids=lambda case: case.name)
def test_values_of_another_type_are_not_contradicted_and_wrong_whole_numbers_are(case: Case) -> None:
    schema = avro_ways.record(b="long", a=case.writer)
    column = Column("a", case.type, (), case.unit, leeway=case.leeway)
    settings = replace(table("avro", case.type, None, case.zone), columns=(column,))
    judge = SchemaJudge(settings, avro_ways.written(schema))
    for value, wanted in case.values:
        (message,) = encoded(schema, [{"a": value, "b": 1}])
        expected = judge.expected(message)
        if expected is None or (isinstance(wanted, str) and wanted.startswith(".")):
            continue
        assert contradiction(expected, {"a": wanted}) == ""
        if isinstance(value, float) and isinstance(wanted, int):
            assert contradiction(expected, {"a": wanted + 1})
