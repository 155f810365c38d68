"""`json: text` in Avro: any value as its JSON in a column of strings, whole and damaged, in both decoders."""

import base64
import io
import json
import math
import random
import re
import struct
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import fastavro
import pyarrow as pa
import pytest

from kafka2hive.config.keys import ChangeLog
from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.avro.decoder import AvroDecoder
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import Changes
from tests.contract.avro_random import Maker
from tests.contract.avro_reference import is_of, without_logical
from tests.contract.avro_ways import WAYS, outcomes, record, written
from tests.contract.decode_cases import Dead
from tests.contract.test_avro_against_fastavro import damaged, encoded
from tests.harness.compiled_library import needs_compiled
from tests.harness.outcomes import outcomes_of

TEXT, CANONICAL = Leeway(json="text"), Leeway(json="canonical")
EACH_WAY = ["exact", pytest.param("compiled", marks=needs_compiled)]
POINT = {
    "type": "record",
    "name": "Point",
    "fields": [{"name": "y", "type": "int"}, {"name": "x", "type": "double"}],
}
TREE = {
    "type": "record",
    "name": "Tree",
    "fields": [{"name": "n", "type": "long"}, {"name": "more", "type": {"type": "array", "items": "Tree"}}],
}
LOGICAL = {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 2}


def logical(kind: str, name: str) -> dict[str, str]:
    return {"type": kind, "logicalType": name}


def unscaled(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 8) // 8, "big", signed=True)


CASES: list[tuple[Any, Any, str | None]] = [
    ("string", 'a "b"', 'a "b"'),
    ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B", "B"),
    ("int", -7, "-7"),
    ("long", 2**63 - 1, "9223372036854775807"),
    ("boolean", True, "true"),
    ("double", 0.1, "0.1"),
    ("double", 1e23, "1e+23"),
    ("double", 5e-324, "5e-324"),
    ("double", -0.0, "-0.0"),
    ("double", 100.0, "100.0"),
    ("double", math.nan, "NaN"),
    ("double", -math.inf, "-Infinity"),
    ("float", struct.unpack("<f", struct.pack("<f", 0.1))[0], "0.1"),
    ("float", 16777216.0, "16777216.0"),
    ("bytes", b"ok", "ok"),
    ({"type": "fixed", "name": "F", "size": 3}, b"\xff\0a", base64.b64encode(b"\xff\0a").decode()),
    ({"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}, bytes(16), str(UUID(int=0))),
    (LOGICAL, unscaled(-150), "-1.50"),
    (LOGICAL, unscaled(5), "0.05"),
    (logical("int", "date"), 15706, "2013-01-01"),
    (logical("int", "time-millis"), 18_000_500, "05:00:00.500"),
    (logical("long", "time-micros"), 86_399_999_999, "23:59:59.999999"),
    (logical("long", "timestamp-millis"), -1, "1969-12-31T23:59:59.999Z"),
    (logical("long", "timestamp-nanos"), 1, "1970-01-01T00:00:00.000000001Z"),
    (logical("long", "local-timestamp-micros"), 10**6, "1970-01-01T00:00:01"),
    (POINT, {"y": 1, "x": 2.5}, '{"y":1,"x":2.5}'),
    ({"type": "array", "items": ["null", "long", "string"]}, [None, 1, "é\n"], '[null,1,"é\\n"]'),
    ({"type": "array", "items": "bytes"}, [b"\xff"], '["/w=="]'),
    (
        {"type": "map", "values": ["int", POINT]},
        {"b": 1, 'a"': {"y": 1, "x": 0.0}},
        '{"b":1,"a\\"":{"y":1,"x":0.0}}',
    ),
    (["null", POINT, "string"], None, None),
    (["null", POINT, "string"], "text", "text"),
    (["null", POINT, "string"], {"y": 1, "x": 1.0}, '{"y":1,"x":1.0}'),
    (TREE, {"n": 1, "more": [{"n": 2, "more": []}]}, '{"n":1,"more":[{"n":2,"more":[]}]}'),
]
ERRORS: list[tuple[Any, Any, str]] = [
    (logical("int", "date"), 2_932_897, "avro.range"),
    (logical("int", "time-millis"), 86_400_000, "avro.range"),
    (logical("long", "timestamp-micros"), 2**62, "avro.range"),
    (LOGICAL, b"", "avro.syntax"),
    (LOGICAL, b"\1" * 513, "avro.range"),
    ("bytes", b"\xff", "avro.utf8"),
]


def message(schema: Any, value: Any) -> bytes:
    (body,) = encoded(record(a=schema), [{"a": value}])
    return body


def decoder(way: str, schema: Any, leeway: Leeway = TEXT, **more: Any) -> Any:
    columns = pa.schema([("a", pa.string())])
    return WAYS[way](
        columns, "UTC", [Source(("a",), None, leeway)], writers=written(record(a=schema)), **more
    )


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(("schema", "value", "expected"), CASES)
def test_each_type_has_its_json(way: str, schema: Any, value: Any, expected: str | None) -> None:
    changes = Changes()
    (row,) = outcomes(decoder(way, schema, changes=changes), [message(schema, value)])
    assert row == [expected]
    plain = schema in ("string", "bytes") or value is None or value == "text"
    is_name = isinstance(schema, dict) and (schema["type"] == "enum" or schema.get("logicalType") == "uuid")
    assert changes.take() == (() if plain or is_name else (("json", 1),))


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(("schema", "value", "code"), ERRORS)
def test_what_has_no_text_is_refused(way: str, schema: Any, value: Any, code: str) -> None:
    assert outcomes(decoder(way, schema), [message(schema, value)]) == [Dead(code)]


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_repeated_key_of_a_map_is_refused(way: str) -> None:
    schema = {"type": "map", "values": "int"}
    twice = b"\4\2k\2\2k\4\0"
    assert outcomes(decoder(way, schema), [twice]) == [Dead("avro.duplicate")]


@pytest.mark.parametrize("way", EACH_WAY)
def test_canonical_texts_have_sorted_keys(way: str) -> None:
    schema = {"type": "map", "values": POINT}
    points = {
        "z": {"y": 1, "x": 0.5},
        "é": {"y": 2, "x": 0.5},
        "a\\": {"y": 3, "x": 0.5},
        "a": {"y": 4, "x": 0.5},
    }
    (row,) = outcomes(decoder(way, schema, CANONICAL), [message(schema, points)])
    assert row == ['{"a":{"x":0.5,"y":4},"a\\\\":{"x":0.5,"y":3},"z":{"x":0.5,"y":1},"é":{"x":0.5,"y":2}}']


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_whole_record_is_a_text_beside_its_fields(way: str) -> None:
    schema = record(a="int", b=["null", "string"])
    columns = pa.schema([("doc", pa.string()), ("a", pa.int32()), ("b", pa.string())])
    sources = [Source((), None, TEXT), Source(("a",)), Source(("b",))]
    changes = Changes()
    made = WAYS[way](columns, "UTC", sources, writers=written(schema), changes=changes)
    found = outcomes(made, [*encoded(schema, [{"a": 1, "b": "x"}, {"a": 2, "b": None}]), b"\2", b"\2\0\0"])
    assert found[:2] == [['{"a":1,"b":"x"}', 1, "x"], ['{"a":2,"b":null}', 2, None]]
    assert found[2:] == [Dead("avro.truncated"), Dead("avro.syntax")]
    assert changes.take() == (("json", 2),)


def test_a_row_of_debezium_has_texts_too() -> None:
    row = {
        "type": "record",
        "name": "Row",
        "fields": [
            {"name": "id", "type": "int"},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
        ],
    }
    schema = record(op="string", before=["null", row], after=["null", "Row"], ts_ms="long")
    names = {"id": pa.int32(), "tags": pa.string(), "__op": pa.string()}
    sources = [Source((name,), None, TEXT if name == "tags" else Leeway()) for name in names]
    spec = DecoderSpec(
        "avro",
        pa.schema(list(names.items())),
        "UTC",
        sources,
        writers=written(schema),
        change_log=ChangeLog.DEBEZIUM,
    )
    (body,) = encoded(
        schema, [{"op": "c", "before": None, "after": {"id": 1, "tags": ["a", "b"]}, "ts_ms": 1}]
    )
    assert outcomes_of(make_decoder(spec), [body]) == [[[1, '["a","b"]', "c"]]]


@needs_compiled
def test_the_compiled_decoder_takes_them_all_itself() -> None:
    for schema, value, _ in CASES:
        made = AvroDecoder(
            DecoderSpec(
                "avro",
                pa.schema([("a", pa.string())]),
                "UTC",
                [Source(("a",), None, TEXT)],
                writers=written(record(a=schema)),
            ),
            LIBRARY,
        )
        assert made._only_reader is not None and made._only_reader._compiled is not None
        _, certain = made._only_reader._compiled.read(pa.array([message(schema, value)], pa.binary()))
        assert certain.all(), schema


@pytest.mark.parametrize("seed", range(40))
def test_random_records_have_the_json_of_their_values(seed: int) -> None:
    dice = random.Random(f"avro texts {seed}")
    maker = Maker(dice)
    schema = maker.schema()
    names = [field["name"] for field in schema["fields"]]
    whole, sort = Source((), None, TEXT), Source((), None, CANONICAL)
    columns = pa.schema([(name, pa.string()) for name in ["doc", "sorted", *names]])
    sources = [whole, sort, *(Source((name,), None, dice.choice((TEXT, CANONICAL))) for name in names)]
    values = [maker.value(schema) for _ in range(12)]
    bodies = encoded(schema, values)
    everything = bodies + [damaged(dice, body, bodies) for body in bodies for _ in range(8)]
    found = {
        way: outcomes(make(columns, "UTC", sources, writers=written(schema)), everything)
        for way, make in WAYS.items()
    }
    first = found["exact"]
    assert all(repr(one) == repr(first) for one in found.values())
    for body, row in zip(bodies, first, strict=False):
        if not isinstance(row, Dead):
            value = fastavro.schemaless_reader(
                io.BytesIO(body), fastavro.parse_schema(without_logical(schema)), None
            )
            expected = reference(schema, value)
            assert _read(row[0]) == _read(row[1]) == expected, schema
            assert list(json.loads(row[0])) == names and list(json.loads(row[1])) == sorted(names)


def _read(text: str) -> Any:
    assert not re.search(r"\s", re.sub(r'"(?:[^"\\]|\\.)*"', "", text))
    return json.loads(text, parse_float=Decimal)


def reference(schema: Any, value: Any) -> Any:
    """Return the value as JSON is read, by the table of docs/decoding.md; numbers as Decimal unless they are whole."""
    if isinstance(schema, list):
        return reference(next(branch for branch in schema if is_of(value, branch)), value)
    kind = schema["type"] if isinstance(schema, dict) else schema
    name = schema.get("logicalType", "") if isinstance(schema, dict) else ""
    if name == "decimal":
        number = Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-schema["scale"])
        return number if schema["scale"] else int(number)
    if name == "uuid" and kind == "fixed":
        return str(UUID(bytes=value))
    if name == "date":
        return (datetime(1970, 1, 1) + timedelta(days=value)).date().isoformat()
    if "time" in name:
        nanos = value * {"millis": 10**6, "micros": 10**3, "nanos": 1}[name.rpartition("-")[2]]
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=nanos // 10**9)
        digits = f"{nanos % 10**9:09d}"
        digits = next(digits[:n] for n in (0, 3, 6, 9) if not digits[n:].strip("0"))
        date = "" if name.startswith("time-") else f"{moment:%Y-%m-%dT}".rjust(11, "0")
        return f"{date}{moment:%H:%M:%S}{'.' if digits else ''}{digits}{'Z' if name.startswith('timestamp') else ''}"
    match kind:
        case "bytes" | "fixed":
            return base64.b64encode(value).decode()
        case "float" | "double" if not math.isfinite(value):
            return str(value).replace("inf", "Infinity").replace("nan", "NaN")
        case "float":
            return Decimal(next(t for d in range(1, 10) if _single(float(t := f"{value:.{d}g}")) == value))
        case "double":
            return Decimal(repr(value))
        case "array":
            return [reference(schema["items"], one) for one in value]
        case "map":
            return {key: reference(schema["values"], one) for key, one in value.items()}
        case "record":
            return {f["name"]: reference(f["type"], value[f["name"]]) for f in schema["fields"]}
    return value


def _single(number: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", number))[0])
