"""One scalar of a message into one column: cells of the acceptance table, each a few lines."""

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from math import isfinite, isnan, nan
from typing import Any
from uuid import UUID

import pyarrow as pa

from kafka2hive.pipeline.decode.avro import plan
from kafka2hive.pipeline.decode.avro.cursor import Cursor
from kafka2hive.pipeline.decode.registered.numbers import beyond, decimal, floating, moment, whole
from kafka2hive.pipeline.decode.registered.refused import Refused
from kafka2hive.pipeline.wall_clock import DAY, EARLIEST, LATEST

Read = Callable[[Cursor], Any]
"""Past one value: what pyarrow.array understands. Raises Refused."""

_FIRST_DAY, _LAST_DAY = EARLIEST // DAY, LATEST // DAY


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


def _whole(bits: int, dtype: pa.DataType) -> Read:
    if pa.types.is_decimal128(dtype):
        return lambda cursor: decimal("avro", cursor.whole(bits), 0, dtype)
    if pa.types.is_floating(dtype):
        return lambda cursor: floating("avro", cursor.whole(bits), dtype)
    return lambda cursor: whole("avro", cursor.whole(bits), dtype)


def _real(bits: int, dtype: pa.DataType) -> Read:
    def read(cursor: Cursor) -> float:
        number = cursor.real(bits)
        return floating("avro", number, dtype) if isfinite(number) else nan if isnan(number) else number

    return read


def _unscaled(size: int | None, scale: int, dtype: pa.DataType) -> Read:
    def read(cursor: Cursor) -> Decimal:
        found = cursor.octets() if size is None else cursor.take(size)
        if not found:
            raise Refused("avro.syntax", "a decimal of no bytes")
        return decimal("avro", int.from_bytes(found, "big", signed=True), scale, dtype)

    return read


def _day(dtype: pa.DataType) -> Read:
    def read(cursor: Cursor) -> int:
        days = cursor.whole(32)
        if not _FIRST_DAY <= days <= _LAST_DAY:
            raise beyond("avro", f"day {days} since 1970", dtype)
        return days

    return read


def _moment(value: plan.Moment, dtype: pa.DataType, zone: str) -> Read:
    ratio = value.factor, value.divisor
    return lambda cursor: moment(
        format="avro",
        number=cursor.whole(value.bits),
        ratio=ratio,
        dtype=dtype,
        zone=zone,
        instant=value.instant,
    )
