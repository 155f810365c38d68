"""Numbers of days are days of the calendar in every zone: in each format, and in what is taken from headers and keys."""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys import ChangeLog
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.columns import with_leeway
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.decode.values.texts import TextColumn
from kafka2hive.model.wall_clock import NAIVE
from kafka2hive.plugins import Decoder, Reason
from tests.contract import avro_ways, protobuf_ways
from tests.contract.avro_cases import number as zigzag
from tests.contract.decode_ways import WAYS
from tests.contract.test_fractions import varint
from tests.harness.outcomes import row_outcomes

ZONES = ["UTC", "America/New_York", "Pacific/Kiritimati"]
TYPES = {"date": pa.date32(), "timestamp": NAIVE}
DAYS = [0, 1, -1, 15_000, -719_162, 2_932_896, -719_163, 2_932_897, 2**31, -(2**63)]
SOURCES = [Source(("at",), "d")]


def expected(dtype: pa.DataType) -> list[Any]:
    found: list[Any] = []
    for number in DAYS:
        try:
            day = date(1970, 1, 1) + timedelta(days=number)
        except OverflowError:
            found.append("range")
        else:
            found.append(day if dtype != NAIVE else datetime(day.year, day.month, day.day))
    return found


def outcomes(decoder: Decoder, messages: list[bytes]) -> list[Any]:
    found = row_outcomes(decoder, messages)
    for number, one in zip(DAYS, found, strict=True):
        assert not isinstance(one, Reason) or ("column at" in str(one) and str(number) in str(one))
    return [one.code.partition(".")[2] if isinstance(one, Reason) else one[0] for one in found]


def of_json(way: str, schema: pa.Schema, zone: str) -> list[Any]:
    decoder = with_leeway(schema, zone, SOURCES, Changes(), lambda columns, of: WAYS[way](columns, zone, of))
    return outcomes(decoder, [b'{"at":%d}' % number for number in DAYS])


def of_csv(schema: pa.Schema, zone: str) -> list[Any]:
    return outcomes(
        make_decoder(DecoderSpec("csv", schema, zone, SOURCES)), [b"%d" % number for number in DAYS]
    )


def of_debezium(schema: pa.Schema, zone: str) -> list[Any]:
    more = Source(("__op",))
    whole = schema.append(pa.field("__op", pa.string()))
    decoder = make_decoder(DecoderSpec("json", whole, zone, [*SOURCES, more], change_log=ChangeLog.DEBEZIUM))
    return outcomes(decoder, [b'{"op":"c","after":{"at":%d}}' % number for number in DAYS])


def of_header(schema: pa.Schema, zone: str) -> list[Any]:
    column = TextColumn("at", schema.types[0], zone, "d", "header")
    found, refused = column.read(pa.array(map(str, DAYS), pa.string()))
    codes = {place: reason.code.partition(".")[2] for place, reason in refused.items()}
    return [codes.get(place, value) for place, value in enumerate(found.to_pylist())]


def of_avro(way: str, schema: pa.Schema, zone: str) -> list[Any]:
    registry = avro_ways.Registry(id1=avro_ways.record(at=["null", "long"]))
    decoder = avro_ways.WAYS[way](schema, zone, SOURCES, writers=registry)
    return outcomes(decoder, [avro_ways.framed(1, zigzag(1) + zigzag(number)) for number in DAYS])


def of_protobuf(way: str, schema: pa.Schema, zone: str) -> list[Any]:
    text = 'syntax = "proto3"; message Daily { int64 at = 1; }'
    registry = protobuf_ways.Registry(id1=protobuf_ways.written(text))
    decoder = protobuf_ways.WAYS[way](schema, zone, SOURCES, writers=registry)
    return outcomes(decoder, [protobuf_ways.head(1, 0) + b"\x08" + varint(number) for number in DAYS])


READ: dict[str, Callable[[pa.Schema, str], list[Any]]] = {
    **{f"json {way}": partial(of_json, way) for way in WAYS},
    **{f"avro {way}": partial(of_avro, way) for way in avro_ways.WAYS},
    **{f"protobuf {way}": partial(of_protobuf, way) for way in protobuf_ways.WAYS},
    "csv": of_csv,
    "debezium": of_debezium,
    "header": of_header,
}


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("read", READ)
def test_a_number_of_days_is_that_day_in_every_zone(read: str, kind: str, zone: str) -> None:
    schema = pa.schema([("at", TYPES[kind])])
    assert READ[read](schema, zone) == expected(TYPES[kind])
