"""A column whose value stands at one of several paths, in every format that has names."""

from collections.abc import Callable
from typing import Any

import orjson
import pyarrow as pa
import pytest

from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.columns import with_defaults, with_leeway, with_several_paths
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.decode.values.json_texts import TEXT_HINT
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.plugins import Decoded, Reason
from tests.contract import avro_ways, protobuf_ways
from tests.contract.avro_cases import number, text
from tests.contract.decode_ways import WAYS
from tests.harness.outcomes import row_outcomes
from tests.harness.reasons import texts_of

THREE = Source(("mail",), None, Leeway(others=(("email",), ("contact", "mail"))))


def outcomes(decoder: Any, messages: list[bytes]) -> list[Any]:
    mail = decoder.schema.get_field_index("mail")
    return [one.code if isinstance(one, Reason) else one[mail] for one in row_outcomes(decoder, messages)]


# (type, message, what comes out)
CASES: list[tuple[str, Any, Any]] = [
    ("string", {"mail": "a"}, "a"),
    ("string", {"email": "a"}, "a"),
    ("string", {"contact": {"mail": "a"}}, "a"),
    ("string", {}, None),
    ("string", {"mail": None, "email": "a"}, "a"),
    ("string", {"mail": "a", "email": "a", "contact": {"mail": "a"}}, "a"),
    ("string", {"mail": "a", "email": None}, "a"),
    ("string", {"mail": "a", "email": "b"}, "json.ambiguous"),
    ("string", {"email": "a", "contact": {"mail": "b"}}, "json.ambiguous"),
    ("string", {"mail": "a", "contact": {"mail": ""}}, "json.ambiguous"),
    ("string", {"mail": "a", "email": 1}, "json.type"),
    ("bigint", {"mail": 0, "email": 1}, "json.ambiguous"),
    ("bigint", {"email": 7}, 7),
    ("double", {"mail": 0.5, "email": 0.5}, 0.5),
    ("boolean", {"mail": True, "email": False}, "json.ambiguous"),
    ("array<int>", {"email": [1, None]}, [1, None]),
    ("array<int>", {"mail": [1, 2], "email": [1, 2]}, [1, 2]),
    ("array<int>", {"mail": [1, 2], "email": [1, None]}, "json.ambiguous"),
    ("struct<x:int>", {"mail": {"x": 1}, "email": {"x": 2}}, "json.ambiguous"),
    ("map<string,int>", {"email": {"x": 1}}, [("x", 1)]),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("kind", "message", "expected"), CASES, ids=str)
def test_the_first_value_counts_and_two_values_are_refused(
    kind: str, message: Any, expected: Any, way: str
) -> None:
    schema = pa.schema([("id", pa.int64()), ("mail", parse_hive_type(kind))])
    make: Callable[..., Any] = WAYS[way]
    decoder = with_several_paths("json", schema, [Source(("id",)), THREE], lambda c, of: make(c, "UTC", of))
    others = [b'{"id":1}', orjson.dumps(message), b"{", orjson.dumps(message), b"{}"]
    assert outcomes(decoder, others) == [None, expected, "json.syntax", expected, None]


def test_a_reason_names_the_column_and_its_paths() -> None:
    decoder = make_decoder(DecoderSpec("json", pa.schema([("mail", pa.string())]), "UTC", [THREE]))
    decoded = decoder.decode(pa.array([b'{"mail":"a","contact":{"mail":"b"}}'], pa.binary()))
    assert texts_of(decoded.reasons) == [
        "json.ambiguous: column mail: $.mail and $.email and $.contact.mail have different values"
    ]


def test_a_time_may_have_several_paths_and_be_cut() -> None:
    leeway = Leeway("truncate", (("email",),))
    changes = Changes()
    schema = pa.schema([("mail", pa.timestamp("us"))])
    decoder = make_decoder(
        DecoderSpec("json", schema, "UTC", [Source(("mail",), "ns", leeway)], changes=changes)
    )
    found = outcomes(decoder, [b'{"email":1001}', b'{"mail":1002}', b'{"mail":1,"email":1000}'])
    assert found[2] == "json.ambiguous" and len(set(found[:2])) == 1
    assert changes.take() == (("fraction", 3),)


def test_avro_fields_of_several_names_fill_one_column() -> None:
    registry = avro_ways.Registry(
        id1=avro_ways.record(mail="string"),
        id2=avro_ways.record(email=["null", "string"]),
        id3=avro_ways.record(mail="string", email="string"),
        id4=avro_ways.record(other="string"),
    )
    decoder = make_decoder(
        DecoderSpec("avro", pa.schema([("mail", pa.string())]), "UTC", [THREE], writers=registry)
    )
    messages = [
        avro_ways.framed(1, text("a")),
        avro_ways.framed(2, number(1) + text("b")),
        avro_ways.framed(2, number(0)),
        avro_ways.framed(3, text("c") + text("c")),
        avro_ways.framed(3, text("c") + text("d")),
        avro_ways.framed(4, text("x")),
    ]
    assert outcomes(decoder, messages) == ["a", "b", None, "c", "avro.ambiguous", None]


def test_protobuf_fields_of_several_names_fill_one_column() -> None:
    registry = protobuf_ways.Registry(
        id1=protobuf_ways.written(
            'syntax = "proto3"; message A { optional string mail = 1; } message B { optional string email = 1; }'
        )
    )
    decoder = make_decoder(
        DecoderSpec("protobuf", pa.schema([("mail", pa.string())]), "UTC", [THREE], writers=registry)
    )
    messages = [
        protobuf_ways.head(1, n) + data for n, data in ((0, b"\x0a\x01a"), (1, b"\x0a\x01b"), (1, b""))
    ]
    assert outcomes(decoder, messages) == ["a", "b", None]


class _Strangers:
    """Knows a key that no column takes, as the compiled decoder does."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def decode(self, values: pa.BinaryArray) -> Decoded:
        columns = [pa.nulls(len(values), field.type) for field in self.schema]
        rows = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        places = pa.array(range(len(values)), pa.int32())
        nothing = pa.array([], pa.int32())
        return Decoded(rows, places, nothing, pa.array([], pa.string()), new_keys=("strange",))


@pytest.mark.parametrize(
    "source",
    [
        THREE,
        Source(("mail",), None, Leeway(default="2026-11-24 00:00:00")),
        Source(("mail",), None, Leeway(fraction="truncate")),
    ],
)
def test_keys_that_no_column_takes_are_told_whatever_leeway_columns_have(source: Source) -> None:
    schema, changes = pa.schema([("mail", parse_hive_type("timestamp"))]), Changes()

    def strict(columns: pa.Schema, of: Any) -> _Strangers:
        return _Strangers(columns)

    def alone(columns: pa.Schema, of: Any) -> Any:
        return with_leeway(columns, "UTC", of, changes, strict)

    several = with_several_paths("json", schema, [source], alone)
    decoder = with_defaults(several, [source], "UTC", changes)
    assert decoder.decode(pa.array([b"{}"], pa.binary())).new_keys == ("strange",)


@pytest.mark.parametrize("way", WAYS)
def test_a_reason_names_the_column_of_the_table_and_the_path(way: str) -> None:
    schema = pa.schema([("mail", pa.string())])
    decoder = with_several_paths("json", schema, [THREE], lambda columns, of: WAYS[way](columns, "UTC", of))
    messages = [b'{"mail":1}', b'{"email":1}', b'{"contact":{"mail":1}}']
    assert texts_of(decoder.decode(pa.array(messages, pa.binary())).reasons) == [
        f"json.type: column mail expects string, got number{TEXT_HINT}",
        f"json.type: column mail (from $.email) expects string, got number{TEXT_HINT}",
        f"json.type: column mail (from $.contact.mail) expects string, got number{TEXT_HINT}",
    ]
