"""Schemas of a registry that lies: none takes time or memory that grows faster than its text, and none ends the process."""

import json

import pyarrow as pa
import pytest

from kafka2hive.decode.schemas.avro import parse
from kafka2hive.decode.schemas.protobuf import parse as parse_protobuf
from kafka2hive.model.writer_schema import AVRO, WriterSchema
from kafka2hive.schema_evolution.fields import WriterField, avro_fields, protobuf_fields
from tests.contract.avro_cases import number
from tests.contract.avro_ways import WAYS, Registry, framed, outcomes
from tests.contract.decode_cases import Dead
from tests.contract.protobuf_ways import written as proto_written

BIGINT = pa.schema([("a", pa.int64())])


def record(*fields: object) -> str:
    return json.dumps({"type": "record", "name": "root", "fields": list(fields)})


def twice_the_one_before(levels: int) -> object:
    """2 ** levels values by a text of a few kilobytes."""
    found: object = "int"
    for level in range(levels):
        below = f"r{level - 1}" if level else "int"
        fields = [{"name": "x", "type": found}, {"name": "y", "type": below}]
        found = {"type": "record", "name": f"r{level}", "fields": fields}
    return found


def nested(depth: int) -> str:
    inner = '{"type":"array","items":' * depth + '"int"' + "}" * depth
    return '{"type":"record","name":"r","fields":[{"name":"a","type":' + inner + "}]}"


A = {"name": "a", "type": "int"}
DOUBLED = 16
"""Levels of more types than are followed."""


def chained(length: int) -> list[object]:
    """Records within each other by their names, which no bound on the text's own nesting finds."""
    found: list[object] = [{"type": "record", "name": "c0", "fields": [A]}]
    for n in range(1, length):
        within = [{"name": "x", "type": f"c{n - 1}"}]
        found.append({"type": "record", "name": f"c{n}", "fields": within})
    return found


def proto(*declared: str) -> str:
    return 'syntax = "proto3"; message Root { int32 a = 1; Last b = 2; } ' + " ".join(declared)


DOUBLED_MESSAGES = [f"message M{n} {{ M{n - 1} x = 1; M{n - 1} y = 2; }}" for n in range(1, DOUBLED)]
CHAINED_MESSAGES = [f"message M{n} {{ M{n - 1} x = 1; }}" for n in range(1, 2_000)]
FIRST, LAST = "message M0 { int32 x = 1; int32 y = 2; }", "message Last {{ M{} x = 1; }}"


@pytest.mark.parametrize(
    ("schema", "code"),
    [
        (nested(100_000), "avro.schema"),
        (record(A, {"name": "b", "type": twice_the_one_before(60)}), "avro.truncated"),
        (record({"name": "a", "type": "root"}), "avro.resolve"),
        (record(A, {"name": "b", "type": {"type": "fixed", "name": "f", "size": 1 << 62}}), "avro.truncated"),
        (record(A, *({"name": f"f{n}", "type": "int"} for n in range(20_000))), "avro.truncated"),
        ("\x1b[2J", "avro.schema"),
    ],
    ids=["deep", "doubling", "itself", "size", "wide", "terminal"],
)
def test_a_schema_that_means_harm_makes_dead_letters_and_costs_no_more_than_its_text(
    schema: str, code: str
) -> None:
    for make in WAYS.values():
        decoder = make(BIGINT, "UTC", writers=Registry(id1=WriterSchema(AVRO, schema)))
        assert outcomes(decoder, [framed(1, number(5))]) == [Dead(code)]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        (
            [A, {"name": "b", "type": twice_the_one_before(DOUBLED)}],
            "with it the schema has more than 50,000 types",
        ),
        ([A, {"name": "b", "type": chained(2_000)}], "types nest 64 deep"),
        (
            [A, {"name": "b", "type": json.loads(nested(20))["fields"][0]["type"]}],
            "types may be nested only 16 deep",
        ),
        (
            [A, {"name": "b", "type": record({"name": "n" * 6_000_000, "type": "int"})}],
            "with it the schema has more than 50,000 types",
        ),
    ],
    ids=["doubling", "chain", "deep", "long name"],
)
def test_a_type_that_no_table_could_hold_is_left_out_whole_and_the_other_fields_are_not(
    fields: list[object], why: str
) -> None:
    for field in fields[1:]:
        assert isinstance(field, dict)
        if isinstance(field["type"], str):
            field["type"] = json.loads(field["type"]) | {"name": "inner"}
    schema = parse(WriterSchema(AVRO, record(*fields)))
    assert list(avro_fields(schema, is_change_log=False)) == [
        WriterField("a", "int"),
        WriterField("b", None, (f"b is not a type of Hive ({why}): left out",)),
    ]


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        (
            [FIRST, *DOUBLED_MESSAGES, LAST.format(DOUBLED - 1)],
            "with it the schema has more than 50,000 types",
        ),
        ([FIRST, *CHAINED_MESSAGES, LAST.format(1_999)], "types nest 64 deep"),
    ],
    ids=["doubling", "chain"],
)
def test_so_are_those_of_protobuf(messages: list[str], why: str) -> None:
    schema = parse_protobuf(proto_written(proto(*messages)))
    assert list(protobuf_fields(schema, "Root")) == [
        WriterField("a", "int"),
        WriterField("b", None, (f"b is not a type of Hive ({why}): left out",)),
    ]
