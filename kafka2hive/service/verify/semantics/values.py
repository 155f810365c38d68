"""The list of semantic types that the audit has for itself, and the value that each makes in a column."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any, Literal
from zoneinfo import ZoneInfo

import pyarrow as pa

from kafka2hive.config.keys.masks import Mask

ColumnKind = Literal["timestamp", "date", "decimal", "integer", "string"]
Kind = Literal["instant", "wall clock", "day", "unscaled", "number", "text", "other"]
_FIRST_YEAR = 1930
"""Earlier instants are not judged, because sources of time zones differ in them."""
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_NANOSECONDS = {"d": 86_400_000_000_000, "s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


@dataclass(frozen=True, slots=True)
class ValueType:
    """What a schema says about a value. `fills` are the kinds of columns that take it.

    `size`: the nanoseconds in one unit of a time, or the scale of an unscaled number.
    """

    name: str
    kind: Kind
    fills: frozenset[ColumnKind] = frozenset()
    size: int = 0


@dataclass(frozen=True, slots=True)
class RecordValue:
    """A value in a record: a number, a text, bytes, or the members by their names; None if it is null or absent.

    A value without a `type` is not judged.
    """

    value: Any
    type: ValueType | None = None

    def members(self) -> Mapping[str, "RecordValue"]:
        return self.value if isinstance(self.value, dict) else {}


@dataclass(frozen=True, slots=True)
class JudgedColumn:
    """A column of the table. `paths`: where its value may be in a record, or in an image of the database's row.

    `takes_others`: texts and floats may fill it. `mask`: what the row has instead of the value.
    """

    name: str
    type: pa.DataType
    kind: ColumnKind
    paths: tuple[tuple[str, ...], ...]
    unit: str | None
    truncates: bool
    may_be_beyond: bool
    takes_others: bool = False
    mask: Mask | None = None


_NUMBERS: frozenset[ColumnKind] = frozenset({"decimal", "integer"})
_MOMENTS: frozenset[ColumnKind] = frozenset({"timestamp", "date"})
_INTEGER: frozenset[ColumnKind] = frozenset({"integer"})
_DECIMAL: frozenset[ColumnKind] = frozenset({"decimal"})
_TIMESTAMP: frozenset[ColumnKind] = frozenset({"timestamp"})
_DATE: frozenset[ColumnKind] = frozenset({"date"})

DECIMAL = "org.apache.kafka.connect.data.Decimal"
_CONNECT_INSTANTS = {
    "org.apache.kafka.connect.data.Timestamp": "ms",
    "io.debezium.time.Timestamp": "ms",
    "io.debezium.time.MicroTimestamp": "us",
    "io.debezium.time.NanoTimestamp": "ns",
}
_CONNECT_DAYS = ("org.apache.kafka.connect.data.Date", "io.debezium.time.Date")
_CONNECT_NO_MOMENTS = (
    "org.apache.kafka.connect.data.Time",
    "io.debezium.time.Time",
    "io.debezium.time.MicroTime",
    "io.debezium.time.NanoTime",
    "io.debezium.time.Year",
    "io.debezium.time.MicroDuration",
    "io.debezium.time.NanoDuration",
)
CONNECT = {
    **{
        name: ValueType(name, "instant", _MOMENTS | _NUMBERS, _NANOSECONDS[unit])
        for name, unit in _CONNECT_INSTANTS.items()
    },
    **{name: ValueType(name, "day", _MOMENTS | _NUMBERS) for name in _CONNECT_DAYS},
    **{name: ValueType(name, "number", _NUMBERS) for name in _CONNECT_NO_MOMENTS},
}
"""Kafka Connect's and Debezium's types of whole numbers."""

_AVRO_UNITS = {"millis": "ms", "micros": "us", "nanos": "ns"}
AVRO = {
    ("int", "date"): ValueType("date", "day", _DATE | _INTEGER),
    ("int", "time-millis"): ValueType("time-millis", "number", _INTEGER),
    ("long", "time-micros"): ValueType("time-micros", "number", _INTEGER),
    **{
        ("long", f"{prefix}timestamp-{word}"): ValueType(
            f"{prefix}timestamp-{word}",
            "wall clock" if prefix else "instant",
            _TIMESTAMP | _INTEGER,
            _NANOSECONDS[unit],
        )
        for prefix in ("", "local-")
        for word, unit in _AVRO_UNITS.items()
    },
}
"""Avro's logical types of numbers, by the type that has them."""
UUID = ValueType("uuid", "text", frozenset({"string"}))

TIMESTAMP = ValueType("google.protobuf.Timestamp", "instant", _TIMESTAMP, 1)
"""In nanoseconds."""
DURATION = ValueType("google.protobuf.Duration", "unscaled", _DECIMAL, 9)
"""In nanoseconds, too: seconds at a scale of 9."""
DAY = ValueType("google.type.Date", "day", _DATE)


def number(name: str) -> ValueType:
    """Return the type of a number of which its schema says no more: the column's unit counts."""
    return ValueType(name, "number", _NUMBERS | _MOMENTS)


def ordinal(name: str) -> ValueType:
    return ValueType(name, "number", _INTEGER)


def unscaled(name: str, scale: int) -> ValueType:
    return ValueType(name, "unscaled", _DECIMAL, scale)


def other(name: str) -> ValueType:
    """Return the type of a value that fills no column that is judged."""
    return ValueType(name, "other")


def expected(column: JudgedColumn, given: RecordValue, zone: ZoneInfo) -> Any:
    """Return the value that the row must have, a text if it must have no row; None if this list does not say."""
    of_value = given.type
    if of_value is None or given.value is None or (column.kind == "string" and of_value != UUID):
        return None
    if column.takes_others and isinstance(given.value, str | float):
        return _of_other(column, given.value)
    if column.kind not in of_value.fills:
        return f"no {column.kind}: {of_value.name}"
    if of_value.kind == "other":
        return None
    if column.kind in _MOMENTS:
        return _moment(column, of_value, given.value, zone)
    if column.kind == "decimal":
        scale = of_value.size if of_value.kind == "unscaled" else 0
        return Decimal(given.value).scaleb(-scale, _EXACT)
    return given.value


def _of_other(column: JudgedColumn, value: str | float) -> Any:
    """Return what a text of digits, or a float that is a whole number, makes in a column of numbers; otherwise None."""
    if column.kind not in ("integer", "decimal") or (isinstance(value, float) and not value.is_integer()):
        return None
    if isinstance(value, str) and not (value.isascii() and value.removeprefix("-").isdecimal()):
        return None
    return int(value) if column.kind == "integer" else Decimal(int(value))


def _moment(
    column: JudgedColumn, of_value: ValueType, count: int, zone: ZoneInfo
) -> datetime | date | str | None:
    kind, size, name, unit = of_value.kind, of_value.size, of_value.name, column.unit
    loses_time = column.kind == "date" and kind == "instant"  # which only a unit of instants allows
    if (kind == "number" and unit is None) or (loses_time and unit in (None, "d")):
        return f"no {column.kind}: {name}"
    if kind == "number" and unit is not None:
        kind, size = ("day" if unit == "d" else "instant"), _NANOSECONDS[unit]
    try:
        if kind == "day":
            moment = datetime(1970, 1, 1) + timedelta(days=count)
        else:
            micros, finer = divmod(count * size, 1_000)
            if finer and not column.truncates and column.kind == "timestamp":
                return f"finer than a microsecond: {name}"
            moment = datetime(1970, 1, 1) + timedelta(microseconds=micros)
            if kind == "instant":
                if moment.year < _FIRST_YEAR:
                    return None
                moment = moment.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)
    except OverflowError:
        if column.may_be_beyond:
            last = datetime.max if count > 0 else datetime.min
            return last.date() if column.kind == "date" else last
        return f"beyond the years 1 to 9999: {name}"
    return moment.date() if column.kind == "date" else moment
