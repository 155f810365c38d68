"""The semantic types of Kafka Connect and Debezium, and how each fills a column: exactly, or not at all.

The record's schema decides how its value is read; the column's `unit` and `decimals` are for records whose schema does not
say. The table in docs/decoding.md is generated from this module.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Literal

import pyarrow as pa

from kafka2hive.decode.values.connect_decimals import NAME as DECIMAL
from kafka2hive.model.wall_clock import NAIVE


class Kind(Enum):
    """What a value means."""

    DAY = "a number of days since 1970"
    INSTANT = "a number of units of time since 1970"
    TIME_OF_DAY = "a number of units of time since midnight"
    YEAR = "a year"
    DURATION = "a number of units of time"
    ISO_TIMESTAMP = "a timestamp as ISO text"
    ISO_DATE = "a date as ISO text"
    TEXT = "text"
    BYTES = "bytes"
    DECIMAL = "a decimal"
    STRUCTURE = "several values"


@dataclass(frozen=True, slots=True)
class SemanticType:
    """What a semantic type means. `unit`: that of numbers of time."""

    kind: Kind
    unit: str = ""


VARIABLE_DECIMAL = "io.debezium.data.VariableScaleDecimal"

CLOCK_UNITS: dict[str, Literal["ms", "us", "ns"]] = {
    "org.apache.kafka.connect.data.Time": "ms",
    "io.debezium.time.Time": "ms",
    "io.debezium.time.MicroTime": "us",
    "io.debezium.time.NanoTime": "ns",
}
"""The units of numbers since midnight."""

SEMANTIC_TYPES = {
    DECIMAL: SemanticType(Kind.DECIMAL),
    "org.apache.kafka.connect.data.Date": SemanticType(Kind.DAY, "d"),
    "org.apache.kafka.connect.data.Timestamp": SemanticType(Kind.INSTANT, "ms"),
    "io.debezium.time.Date": SemanticType(Kind.DAY, "d"),
    **{name: SemanticType(Kind.TIME_OF_DAY, unit) for name, unit in CLOCK_UNITS.items()},
    "io.debezium.time.Timestamp": SemanticType(Kind.INSTANT, "ms"),
    "io.debezium.time.MicroTimestamp": SemanticType(Kind.INSTANT, "us"),
    "io.debezium.time.NanoTimestamp": SemanticType(Kind.INSTANT, "ns"),
    "io.debezium.time.ZonedTimestamp": SemanticType(Kind.ISO_TIMESTAMP),
    "io.debezium.time.IsoTimestamp": SemanticType(Kind.ISO_TIMESTAMP),
    "io.debezium.time.IsoDate": SemanticType(Kind.ISO_DATE),
    "io.debezium.time.ZonedTime": SemanticType(Kind.TEXT),
    "io.debezium.time.IsoTime": SemanticType(Kind.TEXT),
    "io.debezium.time.Interval": SemanticType(Kind.TEXT),
    "io.debezium.time.Year": SemanticType(Kind.YEAR),
    "io.debezium.time.MicroDuration": SemanticType(Kind.DURATION, "us"),
    "io.debezium.time.NanoDuration": SemanticType(Kind.DURATION, "ns"),
    "io.debezium.data.Json": SemanticType(Kind.TEXT),
    "io.debezium.data.Xml": SemanticType(Kind.TEXT),
    "io.debezium.data.Uuid": SemanticType(Kind.TEXT),
    "io.debezium.data.Enum": SemanticType(Kind.TEXT),
    "io.debezium.data.EnumSet": SemanticType(Kind.TEXT),
    "io.debezium.data.Ltree": SemanticType(Kind.TEXT),
    "io.debezium.data.Tsvector": SemanticType(Kind.TEXT),
    "io.debezium.data.Bits": SemanticType(Kind.BYTES),
    VARIABLE_DECIMAL: SemanticType(Kind.STRUCTURE),
}
"""The meaning of each semantic type. A type that is not listed is read by its primitive type alone."""

TIMES = frozenset({"s", "ms", "us", "ns"})
"""The units of a column whose values are instants."""


class Filling(Enum):
    """How a value of a semantic type fills a column."""

    AS_WRITTEN = "as written"
    """The column takes what its own type takes: a number unchanged, a text unchanged."""
    EPOCH = "converted by its own unit"
    UNSCALED = "converted by its own scale"
    CLOCK = "converted to its text"
    MISMATCH = "dead letter"


def filling(semantic_type: SemanticType, dtype: pa.DataType, unit: str | None) -> Filling:
    """Return how values of this type fill a column. `unit` is the column's.

    An instant fills a column of dates only if the map's unit says that the column takes instants: the time of day is lost.
    """
    kind = semantic_type.kind
    if dtype == NAIVE:
        if kind in (Kind.DAY, Kind.INSTANT):
            return Filling.EPOCH
        return Filling.AS_WRITTEN if kind is Kind.ISO_TIMESTAMP else Filling.MISMATCH
    if pa.types.is_date32(dtype):
        if kind is Kind.DAY or (kind is Kind.INSTANT and unit in TIMES):
            return Filling.EPOCH
        return Filling.AS_WRITTEN if kind is Kind.ISO_DATE else Filling.MISMATCH
    if pa.types.is_string(dtype) and kind is Kind.TIME_OF_DAY:
        return Filling.CLOCK
    if pa.types.is_decimal128(dtype) and kind is Kind.DECIMAL:
        return Filling.UNSCALED
    return Filling.AS_WRITTEN if _takes_unchanged(kind, dtype) else Filling.MISMATCH


def _takes_unchanged(kind: Kind, dtype: pa.DataType) -> bool:
    """Return whether a column that is no time takes the number, text or bytes as they are."""
    match kind:
        case Kind.TEXT | Kind.ISO_TIMESTAMP | Kind.ISO_DATE:
            return bool(pa.types.is_string(dtype))
        case Kind.BYTES:
            return bool(pa.types.is_binary(dtype) or pa.types.is_string(dtype))
        case Kind.DECIMAL:
            return bool(pa.types.is_binary(dtype) or pa.types.is_string(dtype) or _is_number(dtype))
        case Kind.STRUCTURE:
            return bool(pa.types.is_struct(dtype))
    return _is_number(dtype)


def _is_number(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_decimal128(dtype))
