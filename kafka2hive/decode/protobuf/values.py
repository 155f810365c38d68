"""Read one value of a message into one column, by the acceptance table."""

from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from typing import Any

import pyarrow as pa

from kafka2hive.decode.contract.spec import UNKNOWN_ENUM, Changes
from kafka2hive.decode.framing.numbers import BinaryRefusal, decimal, integer_taker, moment, real, whole
from kafka2hive.decode.protobuf import plan
from kafka2hive.decode.protobuf.cursor import ProtobufCursor, Range, small_message
from kafka2hive.decode.schemas.protobuf import LENGTH, VARINT

Read = Callable[[ProtobufCursor, Sequence[Range]], Any]
"""Turns a field's payloads into a value that pyarrow.array accepts: the last one into a scalar, all of them into a message."""

MOST_SECONDS = 315_576_000_000
"""Limit of a Duration, 10,000 years."""

LARGEST_SCALE = 1_000
"""Limit of a Decimal's scale, in either direction: beyond it the powers of ten alone would take memory and time."""


def scalar(value: plan.Value, dtype: pa.DataType, zone: str, changes: Changes) -> Read:
    """Return the function that reads a value which does not become a struct."""
    match value:
        case plan.ProtobufBoolean():
            return _last(lambda cursor: cursor.integer("bool") == 1)
        case plan.ProtobufWhole(kind):
            take = integer_taker("protobuf", dtype)
            return _last(lambda cursor: take(cursor.integer(kind)))
        case plan.ProtobufMoment(kind, factor, divisor):
            ratio = factor, divisor
            return _last(
                lambda c: moment(
                    format="protobuf",
                    number=c.integer(kind),
                    ratio=ratio,
                    dtype=dtype,
                    zone=zone,
                    instant=True,
                )
            )
        case plan.ProtobufReal(bits):
            return _last(lambda cursor: real("protobuf", cursor.real(bits), dtype))
        case plan.ProtobufText():
            as_bytes = pa.types.is_binary(dtype)
            return _last((lambda cursor: cursor.text().encode()) if as_bytes else ProtobufCursor.text)
        case plan.ProtobufOctets():
            return _last(ProtobufCursor.octets)
        case plan.ProtobufSymbol(values, "refuse"):
            return _last(partial(_symbol, dict(values)))
        case plan.ProtobufSymbol(values, unknown):
            return partial(_any_symbol, dict(values), unknown == "name", changes)
        case plan.Ordinal(known):
            return _last(partial(_ordinal, frozenset(known), dtype))
        case plan.Stamp():
            return partial(_stamp, dtype, zone)
        case plan.ProtobufSpan():
            return partial(_span, dtype)
        case plan.ProtobufUnscaled():
            return partial(_unscaled, dtype)
        case plan.ProtobufDay():
            return _day
        case plan.Wrapped(inner, wire, default):
            return partial(_wrapped, scalar(inner, dtype, zone, changes), wire, default)
    raise AssertionError(value)


def default_value(read: Read, default: bytes) -> Any:
    """Return the value of an absent field whose presence the schema does not track."""
    return read(ProtobufCursor(default, 0), [(0, len(default))])


def _last(read_one: Callable[[ProtobufCursor], Any]) -> Read:
    def read(cursor: ProtobufCursor, ranges: Sequence[Range]) -> Any:
        value = None
        for place in ranges:
            cursor.go(place)
            value = read_one(cursor)
        return value

    return read


def _symbol(names: dict[int, str], cursor: ProtobufCursor) -> str:
    number = cursor.integer("enum")
    if number not in names:
        raise BinaryRefusal("protobuf.enum", f"the enum has no name for {number}")
    return names[number]


def _any_symbol(
    names: dict[int, str], as_digits: bool, changes: Changes, cursor: ProtobufCursor, ranges: Sequence[Range]
) -> str | None:
    """Read a name, or digits or NULL for an unknown number. Digits cannot be a name, which begins with a letter or `_`."""
    number = _last(lambda inner: inner.integer("enum"))(cursor, ranges)
    if number in names:
        return names[number]
    changes.add(UNKNOWN_ENUM, 1)
    return str(number) if as_digits else None


def _ordinal(known: frozenset[int], dtype: pa.DataType, cursor: ProtobufCursor) -> int:
    number = cursor.integer("enum")
    if known and number not in known:
        raise BinaryRefusal("protobuf.enum", f"the closed enum has no {number}")
    return whole("protobuf", number, dtype)


def _numbers(cursor: ProtobufCursor, ranges: Sequence[Range], *kinds: str) -> list[int]:
    """Read the integers in fields 1, 2 .. of a message; an absent one is 0."""
    payloads = small_message(cursor, ranges, dict.fromkeys(range(1, len(kinds) + 1), VARINT))
    numbers = []
    for number, kind in enumerate(kinds, 1):
        value = 0
        for place in payloads[number]:
            cursor.go(place)
            value = cursor.integer(kind)
        numbers.append(value)
    return numbers


def _stamp(dtype: pa.DataType, zone: str, cursor: ProtobufCursor, ranges: Sequence[Range]) -> int:
    seconds, nanos = _numbers(cursor, ranges, "int64", "int32")
    if not 0 <= nanos < 10**9:
        raise BinaryRefusal("protobuf.range", f"{nanos} nanoseconds of a Timestamp")
    return moment(
        format="protobuf",
        number=seconds * 10**9 + nanos,
        ratio=(1, 1000),
        dtype=dtype,
        zone=zone,
        instant=True,
    )


def _span(dtype: pa.DataType, cursor: ProtobufCursor, ranges: Sequence[Range]) -> Any:
    seconds, nanos = _numbers(cursor, ranges, "int64", "int32")
    if abs(nanos) >= 10**9 or abs(seconds) > MOST_SECONDS or seconds * nanos < 0:
        raise BinaryRefusal("protobuf.range", f"a Duration of {seconds} s and {nanos} ns")
    return decimal("protobuf", seconds * 10**9 + nanos, 9, dtype)


def _unscaled(dtype: pa.DataType, cursor: ProtobufCursor, ranges: Sequence[Range]) -> Any:
    """Read a Decimal. Its precision is checked and ignored, because it does not change the value."""
    payloads = small_message(cursor, ranges, {1: LENGTH, 2: VARINT, 3: VARINT})
    octets = _last(ProtobufCursor.octets)(cursor, payloads[1]) or b""
    _last(lambda inner: inner.integer("uint32"))(cursor, payloads[2])
    scale = _last(lambda inner: inner.integer("int32"))(cursor, payloads[3]) or 0
    if not octets:
        raise BinaryRefusal("protobuf.range", "a Decimal without the bytes of a number")
    if abs(scale) > LARGEST_SCALE:
        raise BinaryRefusal("protobuf.range", f"a Decimal of scale {scale}")
    number = int.from_bytes(octets, "big", signed=True) * 10 ** max(-scale, 0)
    return decimal("protobuf", number, max(scale, 0), dtype)


def _day(cursor: ProtobufCursor, ranges: Sequence[Range]) -> date:
    year, month, day = _numbers(cursor, ranges, "int32", "int32", "int32")
    try:
        return date(year, month, day)
    except (ValueError, OverflowError) as error:
        raise BinaryRefusal(
            "protobuf.range", f"no whole day: year {year}, month {month}, day {day}"
        ) from error


def _wrapped(read: Read, wire: int, default: bytes, cursor: ProtobufCursor, ranges: Sequence[Range]) -> Any:
    payloads = small_message(cursor, ranges, {1: wire})[1]
    return read(cursor, payloads) if payloads else default_value(read, default)


def key_text(kind: str, cursor: ProtobufCursor, ranges: Sequence[Range]) -> str:
    """Return a map's key as text: a string, decimal digits, `true` or `false`; without a payload the key's default."""
    if kind == "string":
        text: str | None = _last(ProtobufCursor.text)(cursor, ranges)
        return text or ""
    number = _last(lambda inner: inner.integer(kind))(cursor, ranges) or 0
    return str(number) if kind != "bool" else ("true" if number else "false")
