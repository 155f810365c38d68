"""Which schema and which of its message types a message is read with, and what schemas can be had."""

import base64
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from kafka2hive.decode.schemas.protobuf import parse
from kafka2hive.model.errors import TableError
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.model.writer_schema import AVRO, SchemaInvalid, WriterSchema
from tests.contract.avro_ways import outcomes
from tests.contract.decode_cases import Dead
from tests.contract.protobuf_cases import number, sized, zigzag
from tests.contract.protobuf_ways import WAYS, Registry, head, written
from tests.harness.reasons import texts_of

FRAME, SCHEMA = Dead("protobuf.frame"), Dead("protobuf.schema")
NESTED = written(
    """syntax = "proto3"; package shop;
    message First { message Inner { message Deep { int32 a = 3; } int32 a = 2; } int32 a = 1; enum E { Z = 0; }
                    message Second { int32 a = 4; } }
    message Last { map<string, int32> m = 9; message Inner { int32 a = 5; } message Other { int32 a = 6; } }
    """
)


def columns(**types: str) -> pa.Schema:
    return pa.schema([(name, parse_hive_type(kind)) for name, kind in types.items()])


def test_the_indexes_of_a_message_say_its_type() -> None:
    registry = Registry(id7=NESTED)
    plain = b"\0\0\0\0\7"
    messages = {
        plain + b"\0" + number(1, 1): [1],
        head(7, 0) + number(1, 1): [1],
        head(7, 0, 0) + number(2, 2): [2],
        head(7, 0, 0, 0) + number(3, 3): [3],
        head(7, 0, 1) + number(4, 4): [4],
        plain + b"\x82\0\0" + number(5, 1): [5],  # a number that is not in its shortest form
        head(7, 2): FRAME,
        head(7, 0, 2): FRAME,
        plain + zigzag(2) + zigzag(0) + zigzag(-1): FRAME,
        plain + zigzag(-1): FRAME,
        plain + zigzag(1): FRAME,
        plain + zigzag(33) + b"\0" * 40: FRAME,
        plain + b"\x80" * 9: FRAME,
        plain: FRAME,
        b"\1\0\0\0\7\0": FRAME,
        b"": FRAME,
        b"\0\0\0\0\x08\0": SCHEMA,
    }
    for make in WAYS.values():
        decoder = make(columns(a="int"), "UTC", writers=registry)
        assert dict(zip(messages, outcomes(decoder, list(messages)), strict=True)) == messages
        shuffled = [*reversed(messages), *messages]
        expected = [*reversed(messages.values()), *messages.values()]
        assert outcomes(decoder, shuffled) == expected


def test_a_type_that_writers_count_differently_is_not_guessed() -> None:
    registry = Registry(id7=NESTED)
    for make in WAYS.values():
        decoder = make(columns(a="int"), "UTC", writers=registry)
        found = outcomes(
            decoder, [head(7, 1, at) + number(6, 6) + number(5, 5) for at in (0, 1, 2)] + [head(7, 1)]
        )
        # 0 is the map's own type, which no message has, or Inner; 1 is Inner or Other; 2 is Other or nothing
        assert found == [[5], FRAME, [6], [None]]


def test_imports_are_those_of_the_registry_and_the_well_known_ones() -> None:
    writer = written(
        """syntax = "proto3"; package shop; import "parts/inner.proto"; import "google/protobuf/timestamp.proto";
        import "confluent/meta.proto"; import "confluent/type/decimal.proto"; import "google/type/date.proto";
        import "google/type/timeofday.proto"; import public "deep.proto";
        message Order { option (confluent.message_meta) = {doc: "x"}; parts.Inner a = 1; Deep b = 2; }""",
        **{
            "deep.proto": 'syntax = "proto2"; package shop; message Deep { optional int32 x = 1; }',
            "parts/inner.proto": 'syntax = "proto3"; package parts; import "deep.proto"; message Inner { shop.Deep d = 1; }',
        },
    )
    for make in WAYS.values():
        decoder = make(columns(a="struct<d:struct<x:int>>", b="struct<x:int>"), "UTC", writers=writer)
        found = outcomes(decoder, [sized(sized(number(5))) + sized(b"", 2)])
        assert found == [[{"d": {"x": 5}}, {"x": None}]]


KNOWN_FILES = [
    *(
        f"google/type/{name}.proto"
        for name in ("money", "latlng", "datetime", "decimal", "interval", "dayofweek")
    ),
    *("google/rpc/status.proto", "google/api/annotations.proto", "google/protobuf/any.proto"),
    *("confluent/type/variant.proto", "confluent/types/decimal.proto"),
]


@pytest.mark.parametrize("name", KNOWN_FILES)
def test_files_that_serializers_register_no_reference_for_are_known(name: str) -> None:
    schema = parse(written(f'syntax = "proto3"; import "{name}"; message M {{ int32 a = 1; }}'))
    assert schema.only_type(None) == "M"


def in_base64(file: FileDescriptorProto) -> str:
    return base64.standard_b64encode(file.SerializeToString()).decode()


def order_descriptor() -> FileDescriptorProto:
    """A file with a message Order of a google.type.Money and a demo.Note, which another file declares."""
    file = FileDescriptorProto(name="order.proto", package="demo", syntax="proto3")
    file.dependency.extend(["google/type/money.proto", "notes/note.proto"])
    order = file.message_type.add(name="Order")
    for number_, name, kind in ((1, "price", ".google.type.Money"), (2, "note", ".demo.Note")):
        order.field.add(
            name=name,
            number=number_,
            type=FieldDescriptorProto.TYPE_MESSAGE,
            label=FieldDescriptorProto.LABEL_OPTIONAL,
            type_name=kind,
        )
    return file


def note_descriptor() -> FileDescriptorProto:
    file = FileDescriptorProto(name="any/other/name.proto", package="demo", syntax="proto3")
    text = file.message_type.add(name="Note").field.add(name="text", number=1)
    text.type, text.label = FieldDescriptorProto.TYPE_STRING, FieldDescriptorProto.LABEL_OPTIONAL
    return file


@pytest.mark.parametrize(
    "note",
    [in_base64(note_descriptor()), 'syntax = "proto3"; package demo; message Note { string text = 1; }'],
)
def test_a_schema_may_be_a_descriptor_in_base64_also_beside_text(note: str) -> None:
    writer = written(in_base64(order_descriptor()) + "\n", **{"notes/note.proto": note})
    wanted = columns(price="struct<currency_code:string,units:bigint>", note="struct<text:string>")
    for make in WAYS.values():
        decoder = make(wanted, "UTC", writers=writer)
        found = outcomes(decoder, [sized(sized("EUR") + number(7, 2)) + sized(sized("x"), 2)])
        assert found == [[{"currency_code": "EUR", "units": 7}, {"text": "x"}]]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "package demo; message Order { optional int64 id = 1; optional Missing x = 2; }",
            'message.proto:1:63: "Missing" is not defined',  # not the compiler's warning that `syntax` is missing
        ),
        ('syntax = "proto3"; import "no/where.proto"; message M {}', "no/where.proto: File not found"),
        ("bm8gZGVzY3JpcHRvcg==", "neither its language nor a descriptor in base64"),
        ("abcde", "neither its language nor a descriptor in base64"),
    ],
)
def test_a_schema_that_is_none_says_what_is_wrong_with_it(text: str, why: str) -> None:
    with pytest.raises(SchemaInvalid) as error:
        parse(written(text))
    assert why in str(error.value)


def test_editions_say_presence_and_delimiters_themselves() -> None:
    writer = written(
        """edition = "2023"; message M { int32 a = 1; int32 b = 2 [features.field_presence = IMPLICIT];
        M c = 3 [features.message_encoding = DELIMITED]; }"""
    )
    for make in WAYS.values():
        decoder = make(columns(a="int", b="int", c="struct<a:int>"), "UTC", writers=writer)
        assert outcomes(decoder, [b"", b"\x1b" + number(7) + b"\x1c"]) == [
            [None, 0, None],
            [None, 0, {"a": 7}],
        ]


@pytest.mark.parametrize(
    "writer",
    [
        WriterSchema(AVRO, '"int"'),
        written("syntax"),
        written('syntax = "proto3"; message M { int32 a = 1; int32 b = 1; }'),
        written('syntax = "proto3"; import "nowhere.proto"; message M { int32 a = 1; }'),
        written('syntax = "proto3"; import "x.proto"; message M { int32 a = 1; }', **{"x.proto": "no"}),
        written('syntax = "proto3"; message M { int32 a = 1; }', **{"../x.proto": 'syntax = "proto3";'}),
        written('syntax = "proto3"; message M { int32 a = 1; }', **{"/x.proto": 'syntax = "proto3";'}),
        written("\ud800"),
        written('syntax = "proto3"; message M {' * 500 + "}" * 500),
    ],
)
def test_a_schema_that_is_none_refuses_its_messages(writer: WriterSchema) -> None:
    registry = Registry(id7=writer, id8=NESTED)
    for make in WAYS.values():
        decoder = make(columns(a="int"), "UTC", writers=registry)
        assert outcomes(decoder, [head(7, 0), head(8, 0)]) == [SCHEMA, [0]]


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (None, "several messages; set protobuf_message to one of them: "),
        ("shop.Nothing", "no message shop.Nothing"),
        ("shop.Last.MEntry", "no message"),
    ],
)
def test_the_maps_schema_has_one_message_or_says_which(message: str | None, why: str) -> None:
    for make in WAYS.values():
        with pytest.raises(SchemaInvalid, match=why):
            make(columns(a="int"), "UTC", writers=replace(NESTED, message=message))
        named = make(columns(a="int"), "UTC", writers=replace(NESTED, message="shop.First.Inner"))
        assert outcomes(named, [number(5, 2)]) == [[5]]


def test_a_reason_names_column_byte_and_what_was_found() -> None:
    writer = written(
        """syntax = "proto3"; message P { sint64 x = 1; } message M { repeated P a = 1; string z = 2; P p = 3;
        map<int32, P> m = 4; }"""
    )
    wanted = columns(a="array<struct<x:tinyint>>", m="map<string,struct<x:tinyint>>")
    messages = [
        sized(b"") + sized(number(600)),
        sized(b"\xff", 2),
        sized(sized("x"), 3),
        number(1),
        sized(number(7) + sized(number(600), 2), 4),
        b"\x0a\x05",
    ]
    for make in WAYS.values():
        decoder = make(wanted, "UTC", writers=replace(writer, message="M"))
        assert texts_of(decoder.decode(pa.array(messages, pa.binary())).reasons) == [
            "protobuf.range: column a[1].x, byte 7: 300 is beyond tinyint",
            "protobuf.utf8: field $.z, byte 3: text of 1 bytes is not UTF-8 at its byte 0",
            "protobuf.wire: field $.p, byte 3: wire type 2 where the schema's has 0",
            "protobuf.wire: column a, byte 1: wire type 0 where the schema's has 2",
            "protobuf.range: column m.7.x, byte 9: 300 is beyond tinyint",
            "protobuf.truncated: column a, byte 2: 5 bytes wanted, 0 are left",
        ]


def test_columns_of_paths_and_names_in_any_case() -> None:
    from kafka2hive.decode.contract.sources import Source

    writer = written(
        'syntax = "proto3"; message P { int32 Age = 1; P p = 2; } message M { P User = 1; int32 n = 2; }'
    )
    sources = [Source(("user", "age")), Source(("user", "p", "age")), Source(("user",)), Source(("n",), "s")]
    wanted = columns(age="int", deep="int", u="struct<age:int>", t="timestamp")
    for make in WAYS.values():
        decoder = make(wanted, "UTC", sources=sources, any_case=True, writers=replace(writer, message="M"))
        found: list[Any] = outcomes(decoder, [b"", sized(b""), sized(sized(number(7), 2) + number(6))])
        assert [row[:3] for row in found] == [[None, None, None], [0, None, {"age": 0}], [6, 7, {"age": 6}]]
        assert [str(row[3]) for row in found] == ["1970-01-01 00:00:00"] * 3
        with pytest.raises(ValueError, match="has no fields for a path"):
            make(columns(a="int"), "UTC", sources=[Source(("n", "x"))], writers=replace(writer, message="M"))


def test_a_worker_without_room_for_the_compilers_files_makes_no_dead_letters(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as without_room:
        without_room.setattr(tempfile, "tempdir", str(tmp_path / "no such directory"))
        with pytest.raises(TableError, match="cannot use files in") as error:
            parse(written('syntax = "proto3"; message Roomless { int32 a = 1; }'))
    assert error.value.code == "decode.protoc"
    assert (
        parse(written('syntax = "proto3"; message Roomless { int32 a = 1; }')).only_type(None) == "Roomless"
    )
