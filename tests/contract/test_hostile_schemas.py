"""Schemas of a registry that lies: none takes time or memory that grows faster than its text, and none ends the process."""

import json

import pyarrow as pa
import pytest

from kafka2hive.pipeline.decode.writers import AVRO, WriterSchema
from tests.contract.avro_cases import number
from tests.contract.avro_ways import WAYS, Registry, framed, outcomes
from tests.contract.decode_cases import Dead

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
