"""Epoch numbers of any length, in every way that reads one, against Python's own whole numbers."""

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import partial
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from kafka2hive.decode import DecoderSpec
from kafka2hive.decode.columns import with_leeway
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.decode.csv import CsvDecoder
from kafka2hive.decode.values.texts import TextColumn
from kafka2hive.model.hive_types import parse_hive_type
from tests.contract.decode_ways import WAYS
from tests.harness.outcomes import first_values

MICROSECONDS = {
    "d": Fraction(86_400_000_000),
    "s": Fraction(10**6),
    "ms": Fraction(1000),
    "us": Fraction(1),
    "ns": Fraction(1, 1000),
}
KINDS = [("timestamp", unit) for unit in MICROSECONDS] + [("date", unit) for unit in MICROSECONDS]
ZONES = ["UTC", "Europe/Berlin", "Pacific/Kiritimati"]


def outcome(text: str, kind: str, unit: str, zone: str) -> datetime | date | str:
    """By the acceptance table: the value, or the kind of the refusal."""
    number = int(text)
    if not -(2**63) <= number < 2**63:
        return "range"
    micros = number * MICROSECONDS[unit]
    if unit == "d":
        zone = "UTC"  # a day of the calendar
    try:
        instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros.__floor__())
        wall = instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    except OverflowError:
        # the wall clock may be within the years although the instant is not
        shift = ZoneInfo(zone).utcoffset(datetime.min if micros < 0 else datetime.max) or timedelta(0)
        try:
            wall = datetime(1970, 1, 1) + (timedelta(microseconds=micros.__floor__()) + shift)
        except OverflowError:
            return "range"
    if kind == "date":
        return wall.date()
    return "inexact" if micros.denominator > 1 else wall


def texts(unit: str) -> list[str]:
    draw = random.Random(unit)
    found = {"0", "-0"}
    for length in range(1, 46):
        for digits in (
            "9" * length,
            "1" + "0" * (length - 1),
            str(draw.randrange(1, 10)) + "5" * (length - 1),
        ):
            found |= {digits, f"-{digits}"}
    first, last = -62_135_596_800_000_000, 253_402_300_799_999_999
    for micros in (first, last + 1, 0):
        near = micros / MICROSECONDS[unit]
        found |= {str(near.__floor__() + step) for step in range(-2, 3)}
    found |= {str(edge + step) for edge in (2**63, -(2**63), 2**64, -(2**64)) for step in (-1, 0, 1)}
    found |= {str(draw.randrange(-(10**length), 10**length)) for length in range(1, 40) for _ in range(3)}
    return sorted(found)


def of_json(way: str, written: list[str], kind: str, unit: str, zone: str) -> list[object]:
    schema, sources = pa.schema([("c", parse_hive_type(kind))]), [Source(("c",), unit)]
    decoder = with_leeway(schema, zone, sources, Changes(), lambda c, of: WAYS[way](c, zone, of))
    return first_values(decoder, [b'{"c":%s}' % text.encode() for text in written])


def of_csv(written: list[str], kind: str, unit: str, zone: str) -> list[object]:
    decoder = CsvDecoder(
        DecoderSpec("csv", pa.schema([("c", parse_hive_type(kind))]), zone, [Source(("c",), unit)])
    )
    return first_values(decoder, [text.encode() for text in written])


def of_header(written: list[str], kind: str, unit: str, zone: str) -> list[object]:
    """As headers, raw keys and the values of Canal are read."""
    column, refused = TextColumn("c", parse_hive_type(kind), zone, unit, "header").read(pa.array(written))
    return [
        str(refused[place]) if place in refused else value for place, value in enumerate(column.to_pylist())
    ]


READ: dict[str, Callable[[list[str], str, str, str], list[object]]] = {
    **{way: partial(of_json, way) for way in WAYS},
    "csv": of_csv,
    "header": of_header,
}


@pytest.mark.parametrize("way", READ)
@pytest.mark.parametrize(("kind", "unit"), KINDS)
@pytest.mark.parametrize("zone", ZONES)
def test_a_number_of_any_length_is_its_time_or_is_refused(zone: str, kind: str, unit: str, way: str) -> None:
    written = texts(unit)
    expected = [outcome(text, kind, unit, zone) for text in written]
    found = [
        value.partition(":")[0].partition(".")[2] if isinstance(value, str) else value
        for value in READ[way](written, kind, unit, zone)
    ]
    assert list(zip(written, found, strict=True)) == list(zip(written, expected, strict=True))
