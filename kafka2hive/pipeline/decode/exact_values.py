"""One JSON value into one column type: the cells of the acceptance table (docs/decoding.md), each a few lines.

Numbers arrive as their text, so that nothing passes through a double on its way to an integer or a decimal.
"""

import re
from collections.abc import Callable, Container, Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.pipeline.decode.columns import standard_base64
from kafka2hive.pipeline.decode.epochs import UNITS
from kafka2hive.pipeline.decode.timestamps import EARLIEST, LATEST, NAIVE
from kafka2hive.pipeline.decode.wanted import Spelling, as_it_stands
from kafka2hive.pipeline.wall_clock import wall_clock

Take = Callable[
    [Any, str], Any
]  # (JSON value, never null; column and JSON path) -> what pyarrow.array understands

_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?"
    r"(?:Z|([+-])([0-9]{2})(?::?([0-9]{2}))?)?"
)
_DECIMAL = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")
_SHOWN = 60


class Whole(str):
    """The text of a JSON number without fraction and exponent."""

    __slots__ = ()


class Fraction(str):
    """The text of a JSON number with a fraction or an exponent."""

    __slots__ = ()


class Members(list[tuple[str, Any]]):
    """The members of a JSON object as they stand, duplicates too."""

    __slots__ = ()


class Refused(Exception):
    """Why a message goes to the dead letters."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text


def kind_of(value: Any) -> str:
    if isinstance(value, Fraction):
        return f"number {value[:_SHOWN]}"
    names = {Whole: "number", str: "string", bool: "boolean", Members: "object", list: "array"}
    return names.get(type(value), "null")


def _wrong(dtype: pa.DataType, value: Any, path: str) -> Refused:
    return Refused("json.type", f"column {path} expects {hive_type_of(dtype)}, got {kind_of(value)}")


def _range(dtype: pa.DataType, value: str, path: str) -> Refused:
    return Refused("json.range", f"column {path}: {value[:_SHOWN]} is beyond {hive_type_of(dtype)}")


def _inexact(dtype: pa.DataType, value: str, path: str) -> Refused:
    return Refused("json.inexact", f"column {path}: {value[:_SHOWN]} is not exact as {hive_type_of(dtype)}")


def taker(dtype: pa.DataType, zone: str, spelling: Spelling = as_it_stands, unit: str | None = None) -> Take:
    """The function that takes a JSON value into `dtype`, or raises Refused. `unit`: the value is an epoch number."""
    if unit is not None:
        return _epoch(dtype, zone, unit)
    if pa.types.is_integer(dtype):
        return _integer(dtype)
    if pa.types.is_floating(dtype):
        return _floating(dtype)
    if pa.types.is_decimal128(dtype):
        return _decimal(dtype)
    if pa.types.is_boolean(dtype):
        return _plain(dtype, bool)
    if pa.types.is_string(dtype):
        return _plain(dtype, str)
    if pa.types.is_binary(dtype):
        return _binary(dtype)
    if pa.types.is_date32(dtype):
        return _date(dtype)
    if dtype == NAIVE:
        return _timestamp(zone)
    if pa.types.is_list(dtype):
        return _array(dtype, zone, spelling)
    if pa.types.is_map(dtype):
        return _map(dtype, zone, spelling)
    return _struct(dtype, zone, spelling)


def _plain(dtype: pa.DataType, wanted: type) -> Take:
    def take(value: Any, path: str) -> Any:
        if type(value) is not wanted:
            raise _wrong(dtype, value, path)
        return value

    return take


def _integer(dtype: pa.DataType) -> Take:
    limit = 1 << (dtype.bit_width - 1)

    def take(value: Any, path: str) -> int:
        if type(value) is not Whole:
            raise _wrong(dtype, value, path)
        if len(value) > 20:
            raise _range(dtype, value, path)
        number = int(value)
        if not -limit <= number < limit:
            raise _range(dtype, value, path)
        return number

    return take


def _floating(dtype: pa.DataType) -> Take:
    def take(value: Any, path: str) -> float:
        if type(value) not in (Whole, Fraction):
            raise _wrong(dtype, value, path)
        # Arrow parses text straight to the nearest float32; by way of a double it would be rounded twice
        number: float = pa.array([str(value)]).cast(dtype)[0].as_py()
        if number in (float("inf"), float("-inf")):
            raise _range(dtype, value, path)
        if type(value) is Whole and int(number) != int(value):
            raise _inexact(dtype, value, path)
        return number

    return take


def _decimal(dtype: pa.DataType) -> Take:
    def take(value: Any, path: str) -> Decimal:
        match = _DECIMAL.fullmatch(value) if isinstance(value, str) else None
        if match is None or not (match[2] or match[3]):
            raise _wrong(dtype, value, path)
        fraction = match[3] or ""
        spelled = (match[2] + fraction).lstrip("0")
        digits = spelled.rstrip("0")
        if not digits:
            return Decimal(0)
        if len(match[4] or "") > 6:
            raise (_inexact if match[4].startswith("-") else _range)(dtype, value, path)
        exponent = int(match[4] or 0) - len(fraction) + len(spelled) - len(digits)
        if len(digits) + exponent > dtype.precision - dtype.scale:
            raise _range(dtype, value, path)
        if -exponent > dtype.scale:
            raise _inexact(dtype, value, path)
        padded = digits + "0" * (exponent + dtype.scale)
        return Decimal((int(match[1] == "-"), tuple(map(int, padded)), -dtype.scale))

    return take


def _binary(dtype: pa.DataType) -> Take:
    def take(value: Any, path: str) -> bytes:
        if type(value) is not str:
            raise _wrong(dtype, value, path)
        found = standard_base64(value)
        if found is None:
            raise Refused("json.base64", f"column {path} expects standard base64 in a string")
        return found

    return take


def _date(dtype: pa.DataType) -> Take:
    def take(value: Any, path: str) -> date:
        if type(value) is not str:
            raise _wrong(dtype, value, path)
        if _DATE.fullmatch(value) is None:
            raise Refused("json.date", f"column {path} expects YYYY-MM-DD")
        return _day(value, "json.date", path)

    return take


def _day(text: str, code: str, path: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise Refused(code, f"column {path}: no such day: {text}") from error


def _timestamp(zone: str) -> Take:
    def take(value: Any, path: str) -> int:
        if type(value) is not str:
            raise _wrong(NAIVE, value, path)
        match = _TIMESTAMP.fullmatch(value)
        if match is None:
            raise Refused(
                "json.timestamp", f"column {path} expects YYYY-MM-DDThh:mm:ss, fraction and offset optional"
            )
        text, hour, minute, second, fraction, sign, offset_hour, offset_minute = match.groups()
        if int(hour) > 23 or int(minute) > 59 or int(second or 0) > 59:
            raise Refused("json.timestamp", f"column {path}: no such time of day: {value[:_SHOWN]}")
        if int(offset_hour or 0) > 23 or int(offset_minute or 0) > 59:
            raise Refused("json.timestamp", f"column {path}: no such offset: {value[:_SHOWN]}")
        fraction = (fraction or "").rstrip("0")
        if len(fraction) > 6:
            raise _inexact(NAIVE, value, path)
        day = _day(text, "json.timestamp", path)
        seconds = (
            (day - date(1970, 1, 1)).days * 86_400 + int(hour) * 3_600 + int(minute) * 60 + int(second or 0)
        )
        if sign:
            offset = int(offset_hour) * 3_600 + int(offset_minute or 0) * 60
            seconds += offset if sign == "-" else -offset
        micros = seconds * 1_000_000 + int(fraction.ljust(6, "0"))
        if sign or value.endswith("Z"):
            instant = pa.array([micros], pa.timestamp("us", tz="UTC"))
            micros = wall_clock(instant, zone).cast(pa.int64())[0].as_py()
        if not EARLIEST <= micros <= LATEST:
            raise _range(NAIVE, value, path)
        return micros

    return take


def _epoch(dtype: pa.DataType, zone: str, unit: str) -> Take:
    factor, divisor = UNITS[unit]
    of_day = dtype != NAIVE

    def take(value: Any, path: str) -> Any:
        if type(value) is not Whole:
            raise Refused(
                "json.type",
                f"column {path} expects a whole number of {unit} since 1970, got {kind_of(value)}",
            )
        number = int(value) if len(value) <= 20 else LATEST * 1000
        if not EARLIEST - 86_400_000_000 <= number * factor // divisor <= LATEST + 86_400_000_000:
            raise _range(dtype, value, path)
        if not of_day and number * factor % divisor:
            raise _inexact(dtype, value, path)
        instant = pa.array([number * factor // divisor], pa.timestamp("us", tz="UTC"))
        micros = wall_clock(instant, zone).cast(pa.int64())[0].as_py()
        if not EARLIEST <= micros <= LATEST:
            raise _range(dtype, value, path)
        return date(1970, 1, 1) + timedelta(days=micros // 86_400_000_000) if of_day else micros

    return take


def _array(dtype: pa.DataType, zone: str, spelling: Spelling) -> Take:
    element = taker(dtype.value_type, zone, spelling)

    def take(value: Any, path: str) -> list[Any]:
        if type(value) is not list:
            raise _wrong(dtype, value, path)
        return [None if v is None else element(v, f"{path}[{i}]") for i, v in enumerate(value)]

    return take


def _map(dtype: pa.DataType, zone: str, spelling: Spelling) -> Take:
    item = taker(dtype.item_type, zone, spelling)

    def take(value: Any, path: str) -> list[tuple[str, Any]]:
        if type(value) is not Members:
            raise _wrong(dtype, value, path)
        if len({key for key, _ in value}) != len(value):
            raise Refused("json.duplicate", f"column {path}: a key stands twice in the map")
        return [(key, None if v is None else item(v, f"{path}.{key}")) for key, v in value]

    return take


def _struct(dtype: pa.DataType, zone: str, spelling: Spelling) -> Take:
    fields = {spelling(field.name): (field.name, taker(field.type, zone, spelling)) for field in dtype}

    def take(value: Any, path: str) -> dict[str, Any]:
        if type(value) is not Members:
            raise _wrong(dtype, value, path)
        row: dict[str, Any] = {}
        for key, inner in once_each(value, fields, spelling, lambda name: f"column {path}.{name}"):
            name, take_field = fields[key]
            row[name] = None if inner is None else take_field(inner, f"{path}.{name}")
        return row

    return take


def once_each(
    members: Members, wanted: Container[str], spelling: Spelling, what: Callable[[str], str]
) -> Iterator[tuple[str, Any]]:
    """The wanted members of an object, by the key they are wanted by. Refused where two of them are the same one."""
    seen: dict[str, str] = {}
    for name, value in members:
        key = spelling(name)
        if key not in wanted:
            continue
        before = seen.get(key)
        if before == name:
            raise Refused("json.duplicate", f"{what(key)} stands twice in its object")
        if before is not None:
            raise Refused("json.ambiguous", f"{what(key)} could take {before} and {name} of its object")
        seen[key] = name
        yield key, value
