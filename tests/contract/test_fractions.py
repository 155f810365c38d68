"""`fraction: truncate`: times that are finer than a microsecond, in every way that reads one, against whole numbers."""

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from kafka2hive.config.keys import ChangeLog
from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.columns import with_leeway
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.decode.values.texts import TextColumn
from kafka2hive.model.wall_clock import NAIVE
from tests.contract import avro_ways, protobuf_ways
from tests.contract.avro_cases import number as zigzag
from tests.contract.decode_ways import WAYS
from tests.harness.outcomes import first_values
from tests.harness.reasons import texts_of

ZONE = "Europe/Berlin"
TRUNCATE = Leeway(fraction="truncate")
AT = pa.schema([("at", NAIVE)])
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def wall(nanos: int) -> datetime:
    """Of nanoseconds since 1970 UTC: the microsecond they are in."""
    return (EPOCH + timedelta(microseconds=nanos // 1000)).astimezone(ZoneInfo(ZONE)).replace(tzinfo=None)


def iso(nanos: int) -> str:
    seconds, rest = divmod(nanos, 10**9)
    return f"{(EPOCH + timedelta(seconds=seconds)).isoformat()[:19]}.{rest:09d}Z"


def drawn() -> list[int]:
    draw = random.Random(27)
    found = [0, 1, -1, 999, 1000, 1001, -999, -1000, -1001, 10**9 - 1, -(10**9) - 1, 2**63 - 1, -(2**63)]
    return found + [draw.randrange(-(2**63), 2**63) // draw.choice([1, 10**3, 10**9]) for _ in range(200)]


def of_json(way: str, unit: str | None, written: list[str], changes: Changes) -> list[Any]:
    decoder = with_leeway(
        AT, ZONE, [Source(("at",), unit, TRUNCATE)], changes, lambda c, of: WAYS[way](c, ZONE, of)
    )
    return first_values(decoder, [f'{{"at":{text}}}'.encode() for text in written])


def of_csv(unit: str | None, written: list[str], changes: Changes) -> list[Any]:
    decoder = make_decoder(DecoderSpec("csv", AT, ZONE, [Source(("at",), unit, TRUNCATE)], changes=changes))
    return first_values(decoder, [text.strip('"').encode() for text in written])


def of_header(unit: str | None, written: list[str], changes: Changes) -> list[Any]:
    column = TextColumn("at", NAIVE, ZONE, unit, "header", TRUNCATE, changes)
    found, refused = column.read(pa.array([text.strip('"') for text in written]))
    return [refused[n].code if n in refused else v for n, v in enumerate(found.to_pylist())]


def of_debezium(unit: str | None, written: list[str], changes: Changes) -> list[Any]:
    schema = pa.schema([("at", NAIVE), ("__op", pa.string())])
    sources = [Source(("at",), unit, TRUNCATE), Source(("__op",))]
    log = ChangeLog.DEBEZIUM
    decoder = make_decoder(DecoderSpec("json", schema, ZONE, sources, change_log=log, changes=changes))
    records = [f'{{"op":"c","after":{{"at":{text}}}}}'.encode() for text in written]
    return first_values(decoder, records)


READ: dict[str, Callable[[str | None, list[str], Changes], list[Any]]] = {
    **{way: partial(of_json, way) for way in WAYS},
    "csv": of_csv,
    "header": of_header,
    "debezium": of_debezium,
}


@pytest.mark.parametrize("way", READ)
def test_nanoseconds_are_cut_towards_the_past_and_counted(way: str) -> None:
    numbers = drawn()
    changes = Changes()
    expected = [wall(number) for number in numbers]
    assert READ[way]("ns", [str(number) for number in numbers], changes) == expected
    finer = sum(number % 1000 != 0 for number in numbers)
    assert changes.take() == (("fraction", finer),) and changes.take() == ()
    assert READ[way](None, [f'"{iso(number)}"' for number in numbers], changes) == expected
    assert changes.take() == (("fraction", finer),)


# (text of JSON, unit, what comes out, how many were cut)
CASES: list[tuple[str, str | None, Any, int]] = [
    ('"2013-01-01T05:00:00.123456789"', None, datetime(2013, 1, 1, 5, 0, 0, 123456), 1),
    ('"2013-01-01 05:00:00.1234567+02:00"', None, datetime(2013, 1, 1, 4, 0, 0, 123456), 1),
    ('"2013-01-01T05:00:00.123456000Z"', None, datetime(2013, 1, 1, 6, 0, 0, 123456), 0),
    ('"2013-01-01T05:00:00.999999999999999999999"', None, datetime(2013, 1, 1, 5, 0, 0, 999999), 1),
    ('"2013-01-01T05:00:00.1"', None, datetime(2013, 1, 1, 5, 0, 0, 100000), 0),
    ('"9999-12-31T23:59:59.999999999"', None, datetime(9999, 12, 31, 23, 59, 59, 999999), 1),
    ('"2013-02-30T05:00:00.123456789"', None, "timestamp", 0),
    ('"2013-01-01T25:00:00.123456789"', None, "timestamp", 0),
    ('"2013-01-01T05:00:00.123456789x"', None, "timestamp", 0),
    ('"2013-01-01T05:00:00.123456789 Z"', None, "timestamp", 0),
    ('"2013-01-01T05:00.1234567"', None, "timestamp", 0),
    ('"9999-12-31T23:59:59.999999999Z"', None, "range", 0),
    ("1356998400123456789", "ns", datetime(2013, 1, 1, 1, 0, 0, 123456), 1),
    ("1356998400123456000", "ns", datetime(2013, 1, 1, 1, 0, 0, 123456), 0),
    ("1356998400123", "ms", datetime(2013, 1, 1, 1, 0, 0, 123000), 0),
    ("99999999999999999999999", "ns", "range", 0),
    ("9223372036854775807", "ms", "range", 0),
    ("1.5", "ns", "type", 0),
]


@pytest.mark.parametrize("way", READ)
@pytest.mark.parametrize(("text", "unit", "expected", "cut"), CASES)
def test_a_time_comes_out_cut_or_refused(
    text: str, unit: str | None, expected: Any, cut: int, way: str
) -> None:
    changes = Changes()
    (found,) = READ[way](unit, [text], changes)
    assert (found.partition(".")[2] if isinstance(found, str) else found) == expected
    assert changes.take() == ((("fraction", cut),) if cut else ())


AVRO = {"timestamp": ZONE, "local-timestamp": "UTC"}


@pytest.mark.parametrize("way", avro_ways.WAYS)
@pytest.mark.parametrize("logical", AVRO)
def test_nanoseconds_of_avro_are_cut_and_those_of_other_schemas_read_as_ever(logical: str, way: str) -> None:
    nanos = {"type": "long", "logicalType": f"{logical}-nanos"}
    micros = {"type": "long", "logicalType": f"{logical}-micros"}
    registry = avro_ways.Registry(
        id1=avro_ways.record(at=["null", nanos]),
        id2=avro_ways.record(at=micros),
        id3=avro_ways.record(at=nanos),
    )
    numbers, changes = drawn(), Changes()
    decoder = avro_ways.WAYS[way](
        AT, AVRO[logical], [Source(("at",), None, TRUNCATE)], writers=registry, changes=changes
    )
    messages = [avro_ways.framed(1, zigzag(1) + zigzag(number)) for number in numbers]
    messages += [avro_ways.framed(2, zigzag(number // 1000)) for number in numbers]
    messages += [avro_ways.framed(3, zigzag(number)) for number in numbers]
    messages += [avro_ways.framed(1, zigzag(0)), avro_ways.framed(3, b"\xff")]
    found = avro_ways.outcomes(decoder, messages)
    zone = ZoneInfo(AVRO[logical])
    expected = [
        [wall(n).replace(tzinfo=ZoneInfo(ZONE)).astimezone(zone).replace(tzinfo=None)] for n in numbers
    ]
    if logical == "local-timestamp":
        expected = [[(EPOCH + timedelta(microseconds=n // 1000)).replace(tzinfo=None)] for n in numbers]
    assert found[:-2] == expected * 3
    assert found[-2] == [None] and not isinstance(found[-1], list)
    assert changes.take() == (("fraction", 2 * sum(number % 1000 != 0 for number in numbers)),)


PROTOBUF = """
    syntax = "proto3";
    import "google/protobuf/timestamp.proto";
    import "google/protobuf/wrappers.proto";
    message Stamped { google.protobuf.Timestamp at = 1; }
    message Counted { int64 at = 1; }
    message Wrapped { google.protobuf.Int64Value at = 1; }
"""


def within(data: bytes) -> bytes:
    return b"\x0a" + bytes([len(data)]) + data


def varint(number: int) -> bytes:
    left, found = number % 2**64, bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])


def stamp(seconds: int, nanos: int) -> bytes:
    return within(b"\x08" + varint(seconds) + b"\x10" + varint(nanos))


@pytest.mark.parametrize("way", protobuf_ways.WAYS)
def test_nanoseconds_of_protobuf_are_cut(way: str) -> None:
    registry = protobuf_ways.Registry(id1=protobuf_ways.written(PROTOBUF))
    numbers, changes = drawn(), Changes()
    stamps = protobuf_ways.WAYS[way](
        AT, ZONE, [Source(("at",), None, TRUNCATE)], writers=registry, changes=changes
    )
    messages = [protobuf_ways.head(1, 0) + stamp(*divmod(number, 10**9)) for number in numbers]
    messages += [
        protobuf_ways.head(1, 0) + one for one in (b"", within(b""), stamp(0, 10**9), stamp(2**40, 0))
    ]
    found = avro_ways.outcomes(stamps, messages)
    assert found[: len(numbers)] == [[wall(number)] for number in numbers]
    assert found[len(numbers) : -2] == [[None], [datetime(1970, 1, 1, 1)]]
    assert [one.code for one in found[-2:]] == ["protobuf.range"] * 2
    finer = sum(number % 1000 != 0 for number in numbers)
    assert changes.take() == (("fraction", finer),)
    counted = protobuf_ways.WAYS[way](
        AT, ZONE, [Source(("at",), "ns", TRUNCATE)], writers=registry, changes=changes
    )
    messages = [protobuf_ways.head(1, 1) + b"\x08" + varint(number) for number in numbers]
    messages += [protobuf_ways.head(1, 2) + within(b"\x08" + varint(number)) for number in numbers]
    found = avro_ways.outcomes(counted, messages)
    assert found == [[wall(number)] for number in numbers] * 2
    assert changes.take() == (("fraction", 2 * finer),)


@pytest.mark.parametrize("way", WAYS)
def test_without_leeway_what_is_finer_is_refused_as_ever(way: str) -> None:
    decoder = with_leeway(AT, ZONE, [Source(("at",))], Changes(), lambda c, of: WAYS[way](c, ZONE, of))
    message = json.dumps({"at": "2013-01-01T05:00:00.1234567"}).encode()
    assert first_values(decoder, [message]) == ["json.inexact"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("unit", "message", "told"),
    [
        (None, '{"at":1}', "json.type: column at expects timestamp, got number"),
        ("ns", '{"at":"1"}', "json.type: column at expects a whole number of ns since 1970, got string"),
        ("ns", '{"at":1.5}', "json.type: column at expects a whole number of ns since 1970, got number 1.5"),
    ],
)
def test_a_reason_names_what_the_column_expects(unit: str | None, message: str, told: str, way: str) -> None:
    """Not the text or number that the decoder reads it by."""
    sources = [Source(("at",), unit, TRUNCATE)]
    decoder = with_leeway(AT, ZONE, sources, Changes(), lambda c, of: WAYS[way](c, ZONE, of))
    assert texts_of(decoder.decode(pa.array([message.encode()], pa.binary())).reasons) == [told]
