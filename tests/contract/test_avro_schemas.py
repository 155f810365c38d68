"""Which schema a message is read with: ids, kinds, the registry's answers; names in a schema's text; paths to columns."""

from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.schemas.avro import parse
from kafka2hive.model.errors import SchemaRegistryUnavailable
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.model.writer_schema import AVRO, PROTOBUF, SchemaInvalid, WriterSchema
from tests.contract.avro_cases import CHAIN, float64, logical, number, text
from tests.contract.avro_ways import WAYS, Registry, framed, outcomes, record, written
from tests.contract.decode_cases import Dead
from tests.harness.reasons import texts_of

BIGINT = pa.schema([("a", pa.int64())])


def columns(**types: str) -> pa.Schema:
    return pa.schema([(name, parse_hive_type(dtype)) for name, dtype in types.items()])


def test_messages_of_many_schemas_keep_their_order_in_one_batch() -> None:
    registry = Registry(id1=record(a="int"), id2=record(b="string", a=["null", "long"]), id9=record(c="int"))
    by_id = {1: number(5), 2: text("x") + b"\2" + number(6), 9: number(7)}
    order = [2, 1, 9, 1, 2, 2, 9, 1] * 20
    for make in WAYS.values():
        found = outcomes(make(BIGINT, "UTC", writers=registry), [framed(i, by_id[i]) for i in order])
        assert found == [[{1: 5, 2: 6, 9: None}[i]] for i in order]


def test_a_schema_is_asked_for_once_but_an_unknown_one_again() -> None:
    for make in WAYS.values():
        registry = Registry(id1=record(a="int"))
        decoder = make(BIGINT, "UTC", writers=registry)
        for _ in range(2):
            found = outcomes(decoder, [framed(1, number(5)), framed(2, b""), framed(1, number(6))])
            assert found == [[5], Dead("avro.schema"), [6]]
        assert registry.asked == [1, 2, 2]


class Away(Registry):
    """Does not answer."""

    def get(self, schema_id: int | str) -> WriterSchema | None:
        raise SchemaRegistryUnavailable(f"no answer about schema {schema_id}")


def test_a_registry_that_is_away_stops_the_batch_and_makes_no_dead_letter() -> None:
    for make in WAYS.values():
        with pytest.raises(SchemaRegistryUnavailable) as raised:
            make(BIGINT, "UTC", writers=Away()).decode(pa.array([framed(1, number(5))], pa.binary()))
        assert raised.value.code == "registry.unavailable"


@pytest.mark.parametrize(
    "schema",
    [
        WriterSchema(PROTOBUF, 'syntax = "proto3";'),
        WriterSchema(AVRO, "{"),
        WriterSchema(AVRO, '"\\ud800"'),
        WriterSchema(AVRO, "[" * 100_000),
        written(record(a="unheard.Of")),
        written({"type": "record", "name": "X"}),
        written(record(a={"type": "fixed", "name": "F", "size": -1})),
        written(record(a={"type": "enum", "name": "F", "symbols": ["A", "A"]})),
        written(record(a={"type": "array"})),
        written(record(a=["int", ["null"]])),
        written(record(a=["int", "int"])),
        written(7),
    ],
    ids=str,
)
def test_what_is_no_avro_schema_makes_dead_letters(schema: WriterSchema) -> None:
    for make in WAYS.values():
        assert outcomes(make(BIGINT, "UTC", writers=Registry(id1=schema)), [framed(1, number(5))]) == [
            Dead("avro.schema")
        ]
    if schema.kind == AVRO:
        with pytest.raises(SchemaInvalid):
            parse(schema)


def test_the_heads_of_sliced_and_short_messages_are_read_where_they_stand() -> None:
    messages = [
        b"",
        b"\0",
        framed(1, b""),
        framed(1, number(5)),
        b"\1" + framed(1, number(5))[1:],
        framed(2**32 - 1, b""),
    ]
    values = pa.array([b"before", *messages, b"after"], pa.binary()).slice(1, len(messages))
    for make in WAYS.values():
        registry = Registry(id1=record(a="int"))
        decoded = make(BIGINT, "UTC", writers=registry).decode(values)
        assert decoded.rows.to_pylist() == [{"a": 5}]
        codes = [reason.split(":")[0] for reason in texts_of(decoded.reasons)]
        assert codes == ["avro.frame", "avro.frame", "avro.truncated", "avro.frame", "avro.schema"]
        assert sorted(registry.asked) == [1, 2**32 - 1]
        nothing = make(BIGINT, "UTC", writers=registry).decode(values.slice(0, 0))
        assert (len(nothing.rows), len(nothing.rejected)) == (0, 0)


def test_names_are_found_by_namespace_and_in_references() -> None:
    inner = {
        "type": "record",
        "name": "Inner",
        "namespace": "other",
        "fields": [{"name": "x", "type": "int"}],
    }
    outer = {
        "type": "record",
        "name": "a.b.Outer",
        "fields": [
            {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["S"]}},
            {"name": "f", "type": "E"},
            {"name": "g", "type": "a.b.E"},
            {"name": "r", "type": {"type": "other.Inner"}},
            {"name": "s", "type": {"type": {"type": "string", "avro.java.string": "String"}}},
        ],
    }
    schema = columns(e="string", f="string", g="string", r="struct<x:int>", s="string")
    for make in WAYS.values():
        decoder = make(schema, "UTC", writers=written(outer, inner))
        assert outcomes(decoder, [b"\0\0\0" + number(4) + text("t")]) == [["S", "S", "S", {"x": 4}, "t"]]


def test_paths_lead_through_records_and_unions_and_columns_may_share_them() -> None:
    leaf = {
        "type": "record",
        "name": "L",
        "fields": [{"name": "x", "type": "int"}, {"name": "t", "type": "long"}],
    }
    other = {"type": "record", "name": "O", "fields": [{"name": "x", "type": "string"}]}
    writer = written(record(p=["null", leaf, other, "string"], q="L"))
    sources = [
        Source(("p", "x")),
        Source(("p", "x")),
        Source(("p", "t"), "s"),
        Source(("q",)),
        Source(("q", "t")),
        Source(("q", "none")),
    ]
    schema = columns(a="int", b="decimal(5,1)", t="timestamp", q="struct<t:bigint>", qt="bigint", none="int")
    messages = [
        b"\2" + number(7) + number(60) + number(1) + number(2),
        b"\0" + number(1) + number(2),
        b"\4" + text("7") + number(1) + number(2),
        b"\6" + text("7") + number(1) + number(2),
        b"\2" + number(7) + number(2**60) + number(1) + number(2),
    ]
    for make in WAYS.values():
        found = outcomes(make(schema, "Europe/Berlin", writers=writer, sources=sources), messages)
        assert repr(found[0]) == (
            "[7, Decimal('7.0'), datetime.datetime(1970, 1, 1, 1, 1), {'t': 2}, 2, None]"
        )
        assert found[1] == [None, None, None, {"t": 2}, 2, None]
        assert found[2:] == [Dead("avro.type"), Dead("avro.type"), Dead("avro.range")]


def test_units_are_for_plain_numbers_and_give_the_day_of_the_zone() -> None:
    kinds: list[Any] = ["int", "long", "long", logical("long", "timestamp-millis"), logical("int", "date")]
    writer = written(record(**{f"c{i}": kind for i, kind in enumerate(kinds)}))
    schema = columns(c0="timestamp", c1="date", c2="timestamp", c3="timestamp", c4="date")
    sources = [Source((f"c{i}",), unit) for i, unit in enumerate(["s", "ms", "ns", "s", "s"])]
    data = number(60) + number(86_400_000 - 1) + number(5000) + number(5) + number(3)
    odd = number(60) + number(86_400_000 - 1) + number(5001) + number(5) + number(3)
    for make in WAYS.values():
        decoder = make(schema, "Europe/Berlin", writers=writer, sources=sources)
        first, second = outcomes(decoder, [data, odd])
        assert [str(value) for value in first] == [
            "1970-01-01 01:01:00",
            "1970-01-02",
            "1970-01-01 01:00:00.000005",
            "1970-01-01 01:00:00.005000",
            "1970-01-04",
        ]
        assert second == Dead("avro.inexact")


def test_case_does_not_matter_where_hive_has_the_columns_and_two_fields_of_a_name_are_refused() -> None:
    inner = {"type": "record", "name": "I", "fields": [{"name": "Deep", "type": "int"}]}
    registry = Registry(id1=record(Title="string", In=inner), id2=record(Title="string", TITLE="string"))
    schema = columns(title="string", **{"in": "struct<deep:int>"})
    for make in WAYS.values():
        decoder = make(schema, "UTC", writers=registry, any_case=True)
        found = outcomes(decoder, [framed(1, text("x") + number(5)), framed(2, text("x") + text("y"))])
        assert found == [["x", {"deep": 5}], Dead("avro.resolve")]


def test_a_topic_of_several_records_is_a_union_of_them_and_other_messages_are_refused() -> None:
    one = {"type": "record", "name": "One", "fields": [{"name": "a", "type": "int"}]}
    two = {"type": "record", "name": "Two", "fields": [{"name": "b", "type": "int"}]}
    registry = Registry(id1=["null", one, two, "string"], id2="int", id3="null", id4=CHAIN)
    messages = [b"\2" + number(5), b"\4" + number(6), b"\0", b"\6" + text("x")]
    for make in WAYS.values():
        decoder = make(BIGINT, "UTC", writers=registry)
        found = outcomes(decoder, [framed(1, data) for data in messages])
        assert found == [[5], [None], Dead("avro.type"), Dead("avro.type")]
        refused = outcomes(decoder, [framed(2, number(5)), framed(3, b""), framed(4, number(1) + b"\0")])
        assert refused == [Dead("avro.resolve"), Dead("avro.resolve"), [None]]


def test_a_message_without_bytes_is_a_row_where_the_schema_needs_none() -> None:
    nothing = {"type": "record", "name": "N", "fields": [{"name": "n", "type": "null"}]}
    for make in WAYS.values():
        assert outcomes(make(BIGINT, "UTC", writers=written(record(a="null", n=nothing))), [b"", b"\0"]) == [
            [None],
            Dead("avro.syntax"),
        ]


def test_the_one_value_of_not_a_number_is_kept_and_zeros_keep_their_sign() -> None:
    odd = b"\x01\0\0\0\0\0\xf0\xff"
    for make in WAYS.values():
        decoder = make(columns(x="double", y="float"), "UTC", writers=written(record(x="double", y="double")))
        rows = decoder.decode(pa.array([odd + odd, float64(-0.0) * 2], pa.binary())).rows
        assert [column.buffers()[1].to_pybytes()[:8] for column in rows.columns] == [
            b"\0\0\0\0\0\0\xf8\x7f",
            b"\0\0\xc0\x7f\0\0\0\x80",
        ]


def test_schemas_are_needed() -> None:
    with pytest.raises(ValueError, match="schema registry"):
        make_decoder(DecoderSpec("avro", BIGINT))
    decoder = make_decoder(DecoderSpec("avro", BIGINT, writers=written(record(a="int"))))
    assert decoder.decode(pa.array([number(4)], pa.binary())).rows.to_pylist() == [{"a": 4}]
