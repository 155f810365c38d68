"""`json: text` in Protobuf: any value as its JSON in a column of strings, whole and damaged, in both decoders."""

import json
import math
import random
import struct
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.decode.schemas.protobuf import OWN, descriptors
from kafka2hive.plugins import Reason
from tests.contract.decode_cases import Dead
from tests.contract.protobuf_ways import WAYS, written
from tests.contract.test_avro_against_fastavro import damaged
from tests.harness.compiled_library import needs_compiled
from tests.harness.outcomes import row_outcomes

TEXT, CANONICAL = Leeway(json="text"), Leeway(json="canonical")
EACH_WAY = ["exact", pytest.param("compiled", marks=needs_compiled)]
SCHEMA = """
syntax = "proto3";
import "google/protobuf/struct.proto";
import "google/protobuf/any.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/empty.proto";
import "google/type/date.proto";
import "confluent/type/decimal.proto";
message All {
  int64 i = 1; uint64 u = 2; sint32 s = 3; fixed32 f = 4; bool b = 5; float r = 6; double d = 7;
  string t = 8; bytes o = 9; Color c = 10;
  optional int32 oi = 11;
  repeated int32 ri = 12; repeated string rs = 13; repeated Point rp = 14;
  map<string, int64> m = 15; map<int32, Point> mp = 16; map<bool, Color> mb = 17;
  Point p = 18; Tree tree = 19;
  oneof one { int32 oa = 20; string ob = 21; Point oc = 22; }
  google.protobuf.Struct st = 23; google.protobuf.Value v = 24; google.protobuf.ListValue lv = 25;
  google.protobuf.Any any = 26; google.protobuf.Timestamp ts = 27; google.protobuf.Duration du = 28;
  google.protobuf.Int64Value wi = 29; google.protobuf.StringValue ws = 30; google.protobuf.Empty e = 31;
  google.type.Date day = 32; confluent.type.Decimal dec = 33;
  repeated google.protobuf.Value rv = 34; map<string, google.protobuf.Struct> ms = 35;
  google.protobuf.NullValue nv = 36; repeated double rd = 37;
}
message Point { int32 y = 2; double x = 1; optional string label = 3; }
message Tree { int64 n = 1; repeated Tree more = 2; }
enum Color { RED = 0; GREEN = 1; ALSO = 7; }
"""


@cache
def types() -> Any:
    """The message type All of Google's library."""
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(descriptors(written(SCHEMA))).file:
        pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindFileByName(OWN).message_types_by_name["All"])


def body(document: dict[str, Any]) -> bytes:
    message = types()()
    json_format.ParseDict(document, message)
    return bytes(message.SerializeToString())


def decoder(way: str, *fields: str, leeway: Leeway = TEXT, **more: Any) -> Any:
    columns = pa.schema([(name, pa.string()) for name in fields])
    sources = [Source(() if name == "doc" else (name,), None, leeway) for name in fields]
    schema = written(SCHEMA)
    return WAYS[way](
        columns, "UTC", sources, writers=type(schema)(schema.kind, schema.text, message="All"), **more
    )


def texts(way: str, field: str, documents: list[dict[str, Any]], leeway: Leeway = TEXT) -> list[Any]:
    found = row_outcomes(decoder(way, field, leeway=leeway), [body(one) for one in documents])
    return [Dead(one.code) if isinstance(one, Reason) else one[0] for one in found]


CASES: list[tuple[str, Any, str | None]] = [
    ("i", str(-(2**63)), "-9223372036854775808"),
    ("u", str(2**64 - 1), "18446744073709551615"),
    ("b", True, "true"),
    ("r", 0.1, "0.1"),
    ("d", "NaN", "NaN"),
    ("d", 1e-7, "1e-07"),
    ("t", 'a"b', 'a"b'),
    ("c", "GREEN", "GREEN"),
    ("oi", 0, "0"),
    ("ri", [1, 2], "[1,2]"),
    ("rs", ["a", 'é"'], '["a","é\\""]'),
    ("rp", [{}, {"y": 1, "label": "l"}], '[{"x":0.0,"y":0},{"x":0.0,"y":1,"label":"l"}]'),
    ("m", {"k": "7"}, '{"k":7}'),
    ("mp", {"-3": {"x": 1.5}}, '{"-3":{"x":1.5,"y":0}}'),
    ("mb", {"true": "ALSO"}, '{"true":"ALSO"}'),
    ("tree", {"n": "1", "more": [{"n": "2"}]}, '{"n":1,"more":[{"n":2,"more":[]}]}'),
    ("oa", 0, "0"),
    ("oc", {"y": 3}, '{"x":0.0,"y":3}'),
    ("st", {"a": [1, None, True, "x", {"b": 2.5}]}, '{"a":[1.0,null,true,"x",{"b":2.5}]}'),
    ("st", {}, "{}"),
    ("v", "te\nxt", "te\nxt"),
    ("v", None, None),
    ("v", [1], "[1.0]"),
    ("v", {"k": "v"}, '{"k":"v"}'),
    ("lv", [False, []], "[false,[]]"),
    ("ts", "2013-01-01T05:00:00.120Z", "2013-01-01T05:00:00.120Z"),
    ("ts", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ("du", "-1.500s", "-1.500s"),
    ("du", "3s", "3s"),
    ("wi", "5", "5"),
    ("ws", "x", "x"),
    ("e", {}, "{}"),
    ("day", {"year": 2013, "month": 1, "day": 2}, '{"year":2013,"month":1,"day":2}'),
    ("dec", {"value": "AJY=", "scale": 2}, "1.50"),
    ("dec", {"value": "/w==", "scale": 3}, "-0.001"),
    ("dec", {"value": "BQ==", "scale": -2}, "500"),
    ("rv", [1, None, "a", {}], '[1.0,null,"a",{}]'),
    ("ms", {"s": {"n": 1}}, '{"s":{"n":1.0}}'),
    ("rd", [0.5, "Infinity"], '[0.5,"Infinity"]'),
    ("rd", [], "[]"),
    ("m", {}, "{}"),
]


@pytest.mark.parametrize("way", EACH_WAY)
def test_each_type_has_its_json(way: str) -> None:
    for field, value, expected in CASES:
        assert texts(way, field, [{field: value}]) == [expected], (field, value)
    absent = texts(way, "i", [{}]), texts(way, "p", [{}]), texts(way, "oa", [{}]), texts(way, "rp", [{}])
    assert absent == (["0"], [None], [None], ["[]"])


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_number_without_a_name_and_a_packed_message_stay_what_they_are(way: str) -> None:
    point = types().DESCRIPTOR.file.message_types_by_name["Point"]
    packed = message_factory.GetMessageClass(point)(y=1)
    message = types()(mb={True: 99})
    message.any.Pack(packed)
    made = decoder(way, "mb", "any")
    (row,) = row_outcomes(made, [message.SerializeToString()])
    assert row == ['{"true":99}', '{"@type":"type.googleapis.com/Point","value":"EAE="}']


@pytest.mark.parametrize("way", EACH_WAY)
def test_what_has_no_text_is_refused(way: str) -> None:
    late, long, bare = types()(), types()(), types()()
    late.ts.seconds = 2**40
    long.du.seconds = 2**40
    bare.dec.scale = 1
    for field, message in (("ts", late), ("du", long), ("dec", bare)):
        (reason,) = row_outcomes(decoder(way, field), [message.SerializeToString()])
        assert isinstance(reason, Reason) and (reason.code, reason.column) == ("protobuf.range", field)


@pytest.mark.parametrize("way", EACH_WAY)
def test_pieces_of_a_message_are_merged_and_later_values_win(way: str) -> None:
    one, other = (
        body({"p": {"x": 1, "label": "a"}, "m": {"k": "1"}, "oa": 1}),
        body({"p": {"y": 2}, "m": {"k": "2"}, "ob": "b"}),
    )
    made = decoder(way, "p", "m", "oa", "ob")
    (row,) = row_outcomes(made, [one + other])
    assert row == ['{"x":1.0,"y":2,"label":"a"}', '{"k":2}', None, "b"]


@pytest.mark.parametrize("way", EACH_WAY)
def test_canonical_texts_have_sorted_keys(way: str) -> None:
    points = {"z": {"fields": {}}, 'a"': {"b": 1, "a": 2}, "a": {}}
    expected = '{"a":{},"a\\"":{"a":2.0,"b":1.0},"z":{"fields":{}}}'
    assert texts(way, "ms", [{"ms": points}], CANONICAL) == [expected]
    assert texts(way, "p", [{"p": {"y": 1, "label": "l"}}], CANONICAL) == ['{"label":"l","x":0.0,"y":1}']


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_whole_message_is_a_text_beside_its_fields(way: str) -> None:
    changes = Changes()
    made = decoder(way, "doc", "i", "p", changes=changes)
    rows = row_outcomes(made, [body({"i": "7", "p": {"y": 1}}), b"", b"\x08"])
    document = json.loads(rows[0][0])
    assert document["i"] == 7 and document["p"] == {"x": 0.0, "y": 1} and "tree" not in document
    assert list(document)[:3] == ["i", "u", "s"] and rows[0][1:] == ["7", '{"x":0.0,"y":1}']
    assert rows[1][1:] == ["0", None] and isinstance(rows[2], Reason)
    assert changes.take() == (("json", 5),)


@needs_compiled
def test_the_compiled_decoder_takes_them_all_itself() -> None:
    left = []
    for field, value, _ in CASES:
        reader = decoder("compiled", field, "doc")._only_reader
        _, certain = reader._compiled.read(pa.array([body({field: value})], pa.binary()))
        left += [(field, value)] * (not certain.all())
    assert left == [("v", "te\nxt"), ("dec", {"value": "BQ==", "scale": -2})]


@pytest.mark.parametrize("seed", range(40))
def test_random_messages_have_the_json_that_googles_library_writes(seed: int) -> None:
    dice = random.Random(f"protobuf texts {seed}")
    names = [field.name for field in types().DESCRIPTOR.fields]
    fields = ["doc", *dice.sample(names, 12)]
    bodies = [body(_document(dice)) for _ in range(10)]
    everything = bodies + [damaged(dice, one, bodies) for one in bodies for _ in range(10)]
    leeway = dice.choice((TEXT, CANONICAL))
    found = {way: row_outcomes(decoder(way, *fields, leeway=leeway), everything) for way in WAYS}
    first = found["exact"]
    assert all(one == first for one in found.values())
    for message, row in zip(bodies, first, strict=False):
        google = json_format.MessageToDict(
            types().FromString(message),
            preserving_proto_field_name=True,
            always_print_fields_with_no_presence=True,
        )
        google.pop("any", None)
        read = json.loads(row[0])
        read.pop("any", None)
        assert _alike(read) == _alike(google)


def _alike(value: Any) -> Any:
    """Return a value in which both spellings of numbers are one: Google writes long integers as strings."""
    match value:
        case dict():
            return {key: _alike(one) for key, one in value.items() if key != "dec"}
        case list():
            return list(map(_alike, value))
        case bool() | None:
            return value
        case int() | float():
            return struct.pack("<f", value) if abs(value) < 1e38 else str(value)
        case str() if value.lstrip("-").isdecimal():
            return _alike(int(value))
    return value


def _document(dice: random.Random) -> dict[str, Any]:
    chosen = [case for case in CASES if case[0] not in ("oa", "oc") and case[1] is not None]
    document = {field: value for field, value, _ in dice.sample(chosen, dice.randint(0, 12))}
    if dice.random() < 0.5:
        document |= dice.choice(({"oa": 3}, {"ob": "x"}, {"oc": {"y": 3}}))
    if dice.random() < 0.3:
        document["d"] = dice.choice(
            (dice.random(), 10.0 ** dice.randint(-30, 30), float(dice.randint(-99, 99)), -math.pi)
        )
    return document
