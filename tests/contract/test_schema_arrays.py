"""`rows: {array: PATH}` in Avro and Protobuf: each element of an array is a row, in both decoders."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.avro.decoder import AvroDecoder
from kafka2hive.decode.columns import of_named_columns
from kafka2hive.decode.contract.sources import SchemaUnresolvable, Source
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.decode.protobuf.decoder import ProtobufDecoder
from kafka2hive.decode.rows.schema_arrays import SchemaArraysDecoder
from kafka2hive.plugins import Decoder, Reason
from tests.contract import avro_ways, protobuf_ways
from tests.contract.decode_ways import EACH_WAY
from tests.contract.protobuf_cases import number, sized
from tests.contract.test_avro_against_fastavro import encoded
from tests.harness.outcomes import outcomes_of

SCHEMA = pa.schema(
    [("account", pa.string()), ("id", pa.int64()), ("at", pa.timestamp("us")), ("name", pa.string())]
)
SOURCES = [
    Source(("head", "account"), is_around=True),
    Source(("id",), None, Leeway(quoted="accept")),
    Source(("meta", "at"), "ms"),
    Source(("name",), None, Leeway(default="none")),
]
AT = datetime(1970, 1, 1, 1)


def made(way: str, cls: type[AvroDecoder | ProtobufDecoder], spec: DecoderSpec) -> Decoder:
    library = None if way == "exact" else LIBRARY
    one: Callable[[DecoderSpec], Decoder] = lambda spec: cls(spec, library)  # noqa: E731  its type is said
    return SchemaArraysDecoder(spec, lambda spec: of_named_columns(spec, one), cls.heads_of)


def spec_of(format: str, writers: Any, changes: Changes) -> DecoderSpec:
    return DecoderSpec(
        format,
        SCHEMA,
        "Europe/Berlin",
        SOURCES,
        writers=writers,
        rows="array",
        array=("head", "rows"),
        changes=changes,
    )


def avro_schema(id_type: Any, nullable: bool = False, **more: Any) -> dict[str, Any]:
    meta = avro_ways.record(at="long") | {"name": "Meta"}
    row = avro_ways.record(meta=["null", meta], **more, id=id_type) | {"name": "Row"}
    array: Any = {"type": "array", "items": row}
    head = avro_ways.record(rows=["null", array] if nullable else array, account="string") | {"name": "Head"}
    return avro_ways.record(x="long", head=head, y="long")


def codes(found: list[Any]) -> list[Any]:
    return [one.code if isinstance(one, Reason) else one for one in found]


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize("is_framed", [True, False])
def test_rows_of_avro(way: str, is_framed: bool) -> None:
    schema, changes = avro_schema("long", nullable=True), Changes()
    writers = avro_ways.Registry(id1=schema) if is_framed else avro_ways.written(schema)
    decoder = made(way, AvroDecoder, spec_of("avro", writers, changes))
    rows: list[Any] = [
        [{"id": 1, "meta": {"at": 0}}, {"id": 2, "meta": None}],
        [],
        None,
        [{"id": 3, "meta": {"at": 2**62}}, {"id": 4, "meta": {"at": 0}}],
        [{"id": 5, "meta": {"at": 0}}],
    ]
    messages = encoded(schema, [{"x": 1, "head": {"rows": r, "account": "a"}, "y": 2} for r in rows])
    messages += [messages[0][:-1], messages[0] + b"\0"]
    if is_framed:
        messages = [*(avro_ways.framed(1, message) for message in messages), b"{}"]
    found = outcomes_of(decoder, messages)
    assert codes(found) == [
        [["a", 1, AT, "none"], ["a", 2, None, "none"]],
        [],
        "avro.array",
        "avro.range",
        [["a", 5, AT, "none"]],
        "avro.truncated",
        "avro.syntax",
        *(["avro.frame"] if is_framed else []),
    ]
    assert "$.head.rows" in found[2].text and found[3].text.endswith("(ordinal 0 of its message)")
    assert found[3].column == "at"
    assert dict(changes.take()) == {"default": 4}


@pytest.mark.parametrize("way", EACH_WAY)
def test_rows_of_several_schemas_in_one_batch(way: str) -> None:
    changes = Changes()
    schemas = {
        "id1": avro_schema("long"),
        "id2": avro_schema("string", name="string"),
        "id3": avro_ways.record(z="long"),
    }
    decoder = made(way, AvroDecoder, spec_of("avro", avro_ways.Registry(**schemas), changes))

    def message(schema_id: int, rows: list[dict[str, Any]]) -> bytes:
        value = {"x": 1, "head": {"rows": rows, "account": f"of {schema_id}"}, "y": 2}
        return avro_ways.framed(schema_id, encoded(schemas[f"id{schema_id}"], [value])[0])

    meta = {"meta": {"at": 0}}
    messages = [
        message(2, [{"id": "7", "name": "n"} | meta]),
        message(1, [{"id": 8} | meta, {"id": 9} | meta]),
        avro_ways.framed(3, b"\2"),
        message(2, [{"id": "10", "name": "m"} | meta, {"id": "x", "name": "m"} | meta]),
        avro_ways.framed(4, b"\2"),
        message(1, [{"id": 11} | meta]),
    ]
    assert codes(outcomes_of(decoder, messages)) == [
        [["of 2", 7, AT, "n"]],
        [["of 1", 8, AT, "none"], ["of 1", 9, AT, "none"]],
        "avro.array",
        "avro.type",
        "avro.schema",
        [["of 1", 11, AT, "none"]],
    ]


PROTO = """syntax = "proto3";
message Meta { int64 at = 1; }
message Row { optional int64 id = 1; Meta meta = 2; optional string name = 3; }
message Head { string account = 1; repeated Row rows = 2; repeated int64 numbers = 3; map<string, Row> map = 4; }
message M { Head head = 1; }"""
OF_MAP = replace(protobuf_ways.written(PROTO), message="M")


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize("is_framed", [True, False])
def test_rows_of_protobuf(way: str, is_framed: bool) -> None:
    changes = Changes()
    writers: Any = protobuf_ways.Registry(id1=protobuf_ways.written(PROTO)) if is_framed else OF_MAP
    decoder = made(way, ProtobufDecoder, spec_of("protobuf", writers, changes))

    def row(id: int, at: int, name: str | None = None) -> bytes:
        named = b"" if name is None else sized(name.encode(), 3)
        return sized(number(id) + sized(number(at), 2) + named, 2)

    account = sized(b"a", 1)
    messages = [
        sized(row(1, 0) + account + row(2, 0, "n"), 1),
        sized(account, 1),
        b"",
        sized(row(3, 2**62), 1),
        sized(account + sized(b"\x08", 2), 1),
        sized(account + b"\x12\x05", 1),
        sized(account + row(4, 0), 1),
    ]
    if is_framed:
        messages = [protobuf_ways.head(1, 3) + message for message in messages]
    assert codes(outcomes_of(decoder, messages)) == [
        [["a", 1, AT, "none"], ["a", 2, AT, "n"]],
        [],
        "protobuf.array",
        "protobuf.range",
        "protobuf.truncated",
        "protobuf.truncated",
        [["a", 4, AT, "none"]],
    ]


@pytest.mark.parametrize(
    "path", [("head", "account"), ("head", "numbers"), ("head", "map"), ("head",), ("zzz",)]
)
def test_what_is_no_array_of_messages_is_refused_with_the_map_s_schema(path: tuple[str, ...]) -> None:
    with pytest.raises(SchemaUnresolvable):
        make_decoder(
            DecoderSpec("protobuf", SCHEMA, sources=SOURCES, writers=OF_MAP, rows="array", array=path)
        )
    with pytest.raises(SchemaUnresolvable):
        make_decoder(
            DecoderSpec(
                "avro",
                SCHEMA,
                sources=SOURCES,
                writers=avro_ways.written(avro_schema("long")),
                rows="array",
                array=path,
            )
        )
