"""The acceptance table of format `avro` once more, by other means: fastavro reads the bytes, plain rules fill the columns.

Shares no code with the decoder. Logical types are taken out of the schema that fastavro reads with, so that it gives
what stands in the message; unions hold no two types that fastavro gives in one Python type.
"""

import io
import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import fastavro
import pyarrow as pa

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS: dict[str, Fraction] = {"millis": Fraction(1000), "micros": Fraction(1), "nanos": Fraction(1, 1000)}


class No(Exception):
    """Refused."""


class Reference:
    """Reads messages of one schema (a record) into columns of the same names."""

    def __init__(self, schema: Any, columns: pa.Schema, zone: str) -> None:
        self._parsed = fastavro.parse_schema(without_logical(schema))
        self._types = {field["name"]: field["type"] for field in schema["fields"]}
        self._columns = columns
        self._zone = ZoneInfo(zone)
        self.fits = all(_fits(self._types[c.name], c.type) for c in columns if c.name in self._types)

    def row(self, message: bytes) -> list[Any] | None:
        """None: refused. fastavro is lenient: what the decoder refuses as no Avro, it may read all the same."""
        source = io.BytesIO(message)
        try:
            found: Any = fastavro.schemaless_reader(source, self._parsed, None)
            if source.tell() != len(message):
                return None
            return [
                self._value(found.get(c.name), self._types.get(c.name, "null"), c.type) for c in self._columns
            ]
        except (No, EOFError, IndexError, ValueError, OverflowError, MemoryError, TypeError, struct.error):
            return None

    def _value(self, value: Any, written: Any, dtype: pa.DataType) -> Any:
        if isinstance(written, list):
            written = next((branch for branch in written if is_of(value, branch)), "null")
            if not _fits(written, dtype):
                raise No
        kind, logical = _kind(written), _logical(written)
        if kind == "null":
            return None
        if kind == "array":
            return [self._value(inner, written["items"], dtype.value_type) for inner in value]
        if kind == "map":
            return [
                (key, self._value(inner, written["values"], dtype.item_type)) for key, inner in value.items()
            ]
        if kind == "record":
            types = {field["name"]: field["type"] for field in written["fields"]}
            return {f.name: self._value(value.get(f.name), types.get(f.name, "null"), f.type) for f in dtype}
        if pa.types.is_timestamp(dtype):
            return self._moment(value, logical)
        if pa.types.is_date(dtype):
            return date(1970, 1, 1) + timedelta(days=value)
        if pa.types.is_decimal(dtype):
            whole = int.from_bytes(value, "big", signed=True) if isinstance(value, bytes) else value
            if value == b"":
                raise No
            scaled = Fraction(whole, 10 ** (written.get("scale", 0) if logical else 0)) * 10**dtype.scale
            if scaled.denominator != 1 or abs(scaled) >= 10**dtype.precision:
                raise No
            return Decimal(f"{scaled.numerator}e-{dtype.scale}")
        if pa.types.is_integer(dtype):
            if not -(2 ** (dtype.bit_width - 1)) <= value < 2 ** (dtype.bit_width - 1):
                raise No
            return value
        if pa.types.is_floating(dtype):
            return _real(value, dtype)
        if pa.types.is_string(dtype) and isinstance(value, bytes):
            return value.decode() if kind == "bytes" else _uuid(value.hex())
        if pa.types.is_binary(dtype) and isinstance(value, str):
            return value.encode()
        return value

    def _moment(self, value: int, logical: str) -> datetime:
        kind, _, unit = logical.rpartition("-")
        micros = value * _UNITS[unit]
        if micros != int(micros):
            raise No
        instant = EPOCH + timedelta(microseconds=int(micros))
        there = instant if kind.startswith("local") else instant.astimezone(self._zone)
        return there.replace(tzinfo=None)


def _real(value: float, dtype: pa.DataType) -> float:
    found: float = (
        float(value) if pa.types.is_float64(dtype) else struct.unpack("<f", struct.pack("<f", value))[0]
    )
    if isinstance(value, int) and Fraction(found) != value:
        raise No
    if found != value and value == value:
        raise No
    return found


def _uuid(digits: str) -> str:
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _kind(written: Any) -> str:
    return str(written["type"] if isinstance(written, dict) else written)


def _logical(written: Any) -> str:
    return str(written.get("logicalType", "")) if isinstance(written, dict) else ""


_PYTHON = {
    "boolean": bool,
    "int": int,
    "long": int,
    "float": float,
    "double": float,
    "string": str,
    "enum": str,
}
_PYTHON |= {"bytes": bytes, "fixed": bytes, "array": list, "map": dict, "record": dict, "null": type(None)}


def is_of(value: Any, branch: Any) -> bool:
    return type(value) is _PYTHON[_kind(branch)]


def _fits(written: Any, dtype: pa.DataType) -> bool:
    """The table of docs/decoding.md."""
    if isinstance(written, list):
        fitting = [branch for branch in written if _fits(branch, dtype)]
        return any(_kind(branch) != "null" for branch in fitting) or len(fitting) == len(written)
    kind, logical = _kind(written), _logical(written)
    if kind == "null":
        return True
    if kind == "array":
        return pa.types.is_list(dtype) and _fits(written["items"], dtype.value_type)
    if kind == "map":
        return pa.types.is_map(dtype) and _fits(written["values"], dtype.item_type)
    if kind == "record":
        types = {field["name"]: field["type"] for field in written["fields"]}
        return pa.types.is_struct(dtype) and all(_fits(types.get(f.name, "null"), f.type) for f in dtype)
    if kind in ("int", "long"):
        number = pa.types.is_floating(dtype) or pa.types.is_decimal(dtype)
        return (
            pa.types.is_integer(dtype)
            or (number and not logical)
            or (pa.types.is_date(dtype) and logical == "date")
            or (pa.types.is_timestamp(dtype) and "timestamp" in logical)
        )
    if logical == "decimal":
        return bool(pa.types.is_decimal(dtype))
    wanted = {
        "boolean": ["bool"],
        "float": ["float", "double"],
        "double": ["float", "double"],
        "string": ["string", "binary"],
        "bytes": ["string", "binary"],
        "enum": ["string"],
        "fixed": ["string", "binary"] if logical == "uuid" else ["binary"],
    }
    return str(dtype) in wanted[kind]


def without_logical(schema: Any) -> Any:
    if isinstance(schema, list):
        return [without_logical(inner) for inner in schema]
    if isinstance(schema, dict):
        return {key: without_logical(inner) for key, inner in schema.items() if key != "logicalType"}
    return schema
