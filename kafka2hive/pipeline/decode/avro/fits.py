"""Which scalar type of a writer fills which column, and how: the acceptance table of docs/decoding.md."""

import pyarrow as pa

from kafka2hive.pipeline.decode.avro import plan
from kafka2hive.pipeline.decode.avro.schema import Decimal, Enum, Fixed, Plain
from kafka2hive.pipeline.decode.epochs import UNITS
from kafka2hive.pipeline.wall_clock import NAIVE

LARGEST_PRECISION = 1000
"""Digits of a writer's decimal that are still converted."""

_UNIT_OF = {"millis": "ms", "micros": "us", "nanos": "ns"}


def scalar(written: Plain | Fixed | Enum, dtype: pa.DataType, unit: str | None) -> plan.Value | None:
    """None: it does not fill a column of this type."""
    match written:
        case Plain("null"):
            return plan.Null()
        case Plain("boolean") if pa.types.is_boolean(dtype):
            return plan.Boolean()
        case Plain("int" | "long"):
            return _number(written, dtype, unit)
        case Plain("float" | "double" as kind) if pa.types.is_floating(dtype):
            return plan.Real(32 if kind == "float" else 64)
        case Plain("string") if pa.types.is_string(dtype) or pa.types.is_binary(dtype):
            return plan.Text()
        case Plain("bytes", Decimal() as logical):
            return _decimal(None, logical, dtype)
        case Plain("bytes") if pa.types.is_string(dtype):
            return plan.Text()
        case Plain("bytes") if pa.types.is_binary(dtype):
            return plan.Octets(None)
        case Fixed(_, size, Decimal() as logical):
            return _decimal(size, logical, dtype)
        case Fixed(_, _, "uuid") if pa.types.is_string(dtype):
            return plan.Uuid()
        case Fixed(_, size, _) if pa.types.is_binary(dtype):
            return plan.Octets(size)
        case Enum(_, symbols) if pa.types.is_string(dtype):
            return plan.Symbol(symbols)
    return None


def _number(written: Plain, dtype: pa.DataType, unit: str | None) -> plan.Value | None:
    bits = 32 if written.kind == "int" else 64
    if pa.types.is_integer(dtype):
        return plan.Whole(bits)
    if written.logical is None:
        if unit is not None:
            return plan.Moment(bits, *UNITS[unit], instant=unit != "d")
        return plan.Whole(bits) if pa.types.is_floating(dtype) or pa.types.is_decimal128(dtype) else None
    if written.logical == "date":
        return plan.Day() if pa.types.is_date32(dtype) else None
    assert isinstance(written.logical, str)
    kind, _, name = written.logical.rpartition("-")
    if kind == "time" or dtype != NAIVE:
        return None
    return plan.Moment(bits, *UNITS[_UNIT_OF[name]], kind == "timestamp")


def _decimal(size: int | None, logical: Decimal, dtype: pa.DataType) -> plan.Value | None:
    if not pa.types.is_decimal128(dtype) or logical.precision > LARGEST_PRECISION:
        return None
    return plan.Unscaled(size, logical.scale)
