"""Columns with a default: what is missing or null is that value, and counted; everything else is as ever."""

from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.model.hive_types import parse_hive_type
from tests.contract import avro_ways, protobuf_ways
from tests.contract.avro_cases import number, text
from tests.harness.reasons import texts_of


def decoded(
    format: str, kind: str, default: str, messages: list[bytes], **more: Any
) -> tuple[list[Any], dict[str, int]]:
    """The column's values, the codes of dead letters, and what was counted."""
    changes = Changes()
    schema = pa.schema([("x", parse_hive_type(kind))])
    leeway = Leeway(default=default, others=(("y",),))
    decoder = make_decoder(
        DecoderSpec(format, schema, "UTC", [Source(("x",), None, leeway)], changes=changes, **more)
    )
    found = decoder.decode(pa.array(messages, pa.binary()))
    found.rows.validate(full=True)
    assert found.rows.schema.equals(schema)
    codes = [reason.partition(":")[0] for reason in texts_of(found.reasons)]
    return [*found.rows.column(0).to_pylist(), *codes], dict(changes.take())


@pytest.mark.parametrize(
    ("kind", "default", "written", "value", "expected"),
    [
        ("string", "other", '"x"', "x", "other"),
        ("string", "", '"x"', "x", ""),
        ("int", "-1", "5", 5, -1),
        ("boolean", "false", "true", True, False),
        ("double", "0.5", "1.5", 1.5, 0.5),
        ("decimal(5,2)", "1.5", "2", Decimal("2.00"), Decimal("1.50")),
        ("date", "2013-01-01", '"2014-01-01"', date(2014, 1, 1), date(2013, 1, 1)),
    ],
)
def test_a_value_that_is_missing_or_null_is_the_default(
    kind: str, default: str, written: str, value: Any, expected: Any
) -> None:
    texts = ["{}", '{"x":null}', f'{{"x":{written}}}', f'{{"y":{written}}}', '{"x":[]}']
    found, counted = decoded("json", kind, default, [one.encode() for one in texts])
    assert found == [expected, expected, value, value, "json.type"]
    assert counted == {"default": 2}


def test_fields_of_avro_and_protobuf_have_defaults() -> None:
    registry = avro_ways.Registry(
        id1=avro_ways.record(x=["null", "string"]), id2=avro_ways.record(other="string")
    )
    messages = [
        avro_ways.framed(1, number(0)),
        avro_ways.framed(1, number(1) + text("a")),
        avro_ways.framed(2, text("b")),
    ]
    assert decoded("avro", "string", "z", messages, writers=registry) == (["z", "a", "z"], {"default": 2})
    schema = 'syntax = "proto3"; message A { optional string x = 1; }'
    of_protobuf = protobuf_ways.Registry(id1=protobuf_ways.written(schema))
    messages = [protobuf_ways.head(1, 0) + data for data in (b"", b"\x0a\x01a", b"\x0a\x00")]
    found = decoded("protobuf", "string", "z", messages, writers=of_protobuf)
    assert found == (["z", "a", ""], {"default": 1})


def test_each_row_of_a_message_has_the_default() -> None:
    lines = b'{"x":1}\n{}\n{"x":null}'
    assert decoded("json", "int", "9", [lines], rows="lines") == ([1, 9, 9], {"default": 2})


def test_a_default_that_is_no_value_of_its_column_is_refused() -> None:
    with pytest.raises(ValueError, match="its default '16777217'"):
        decoded("json", "float", "16777217", [])
