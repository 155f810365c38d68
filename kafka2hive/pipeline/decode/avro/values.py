"""One scalar of a message into one column: cells of the acceptance table, each a few lines."""

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from math import isfinite, isnan, nan
from struct import Struct
from typing import Any
from uuid import UUID

import pyarrow as pa

from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.pipeline.decode.avro import plan
from kafka2hive.pipeline.decode.avro.cursor import Cursor, Refused
from kafka2hive.pipeline.wall_clock import DAY, EARLIEST, LATEST, NAIVE, wall_clock

Read = Callable[[Cursor], Any]
"""Past one value: what pyarrow.array understands. Raises Refused."""

_FLOAT = Struct("<f")
_FIRST_DAY, _LAST_DAY = EARLIEST // DAY, LATEST // DAY
_SHOWN = 10**40


def scalar(value: plan.Value, dtype: pa.DataType, zone: str) -> Read:
    match value:
        case plan.Null():
            return lambda cursor: None
        case plan.Boolean():
            return Cursor.boolean
        case plan.Whole(bits):
            return _whole(bits, dtype)
        case plan.Moment():
            return _moment(value, dtype, zone)
        case plan.Day():
            return _day(dtype)
        case plan.Real(bits):
            return _real(bits, dtype)
        case plan.Text():
            return (lambda cursor: cursor.text().encode()) if pa.types.is_binary(dtype) else Cursor.text
        case plan.Octets(size):
            return partial(Cursor.take, size=size) if size is not None else Cursor.octets
        case plan.Unscaled(size, scale):
            return _unscaled(size, scale, dtype)
        case plan.Uuid():
            return lambda cursor: str(UUID(bytes=cursor.take(16)))
        case plan.Symbol(symbols):
            return lambda cursor: symbols[cursor.index(len(symbols), "symbol")]
    raise AssertionError(value)


def beyond(number: object, dtype: pa.DataType) -> Refused:
    return Refused("avro.range", f"{number} is beyond {hive_type_of(dtype)}")


def _inexact(number: object, dtype: pa.DataType) -> Refused:
    return Refused("avro.inexact", f"{number} is not exact as {hive_type_of(dtype)}")


def _whole(bits: int, dtype: pa.DataType) -> Read:
    if pa.types.is_decimal128(dtype):
        return lambda cursor: _decimal(cursor.whole(bits), 0, dtype)
    if pa.types.is_floating(dtype):
        return lambda cursor: _floating(cursor.whole(bits), dtype)
    limit = 1 << (dtype.bit_width - 1)

    def read(cursor: Cursor) -> int:
        number = cursor.whole(bits)
        if not -limit <= number < limit:
            raise beyond(number, dtype)
        return number

    return read


def _real(bits: int, dtype: pa.DataType) -> Read:
    def read(cursor: Cursor) -> float:
        number = cursor.real(bits)
        return _floating(number, dtype) if isfinite(number) else nan if isnan(number) else number

    return read


def _floating(number: float, dtype: pa.DataType) -> float:
    """Of an int or a finite float. A double in a float column must be a float."""
    if pa.types.is_float64(dtype):
        found = float(number)
    else:
        try:
            found = _FLOAT.unpack(_FLOAT.pack(number))[0]
        except OverflowError as error:
            raise beyond(number, dtype) from error
    if found != number:
        raise _inexact(number, dtype)
    return found


def _unscaled(size: int | None, scale: int, dtype: pa.DataType) -> Read:
    def read(cursor: Cursor) -> Decimal:
        found = cursor.octets() if size is None else cursor.take(size)
        if not found:
            raise Refused("avro.syntax", "a decimal of no bytes")
        return _decimal(int.from_bytes(found, "big", signed=True), scale, dtype)

    return read


def _decimal(unscaled: int, scale: int, dtype: pa.DataType) -> Decimal:
    shown = unscaled if abs(unscaled) < _SHOWN else f"a number of {unscaled.bit_length()} bits"
    if abs(unscaled) >= 10 ** (dtype.precision - dtype.scale + scale):
        raise beyond(f"{shown} (scale {scale})", dtype)
    number, rest = divmod(abs(unscaled) * 10**dtype.scale, 10**scale)
    if rest:
        raise _inexact(f"{shown} (scale {scale})", dtype)
    return Decimal((int(unscaled < 0), tuple(map(int, str(number))), -dtype.scale))


def _day(dtype: pa.DataType) -> Read:
    def read(cursor: Cursor) -> int:
        days = cursor.whole(32)
        if not _FIRST_DAY <= days <= _LAST_DAY:
            raise beyond(f"day {days} since 1970", dtype)
        return days

    return read


def _moment(value: plan.Moment, dtype: pa.DataType, zone: str) -> Read:
    of_day = dtype != NAIVE

    def read(cursor: Cursor) -> int:
        number = cursor.whole(value.bits)
        micros, rest = divmod(number * value.factor, value.divisor)
        if not EARLIEST - DAY <= micros <= LATEST + DAY:
            raise beyond(f"{number} since 1970", dtype)
        if rest and not of_day:
            raise _inexact(f"{number} since 1970", dtype)
        if value.instant:
            instant = pa.array([micros], pa.timestamp("us", tz="UTC"))
            micros = wall_clock(instant, zone).cast(pa.int64())[0].as_py()
        if not EARLIEST <= micros <= LATEST:
            raise beyond(f"{number} since 1970", dtype)
        return micros // DAY if of_day else micros

    return read
