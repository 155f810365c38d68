"""What each semantic type becomes in each column, written by hand from docs/decoding.md, not from the decoder.

`COLUMNS` are a Hive type and the column's unit. A case has the type of Kafka Connect's schema, a value as its JSON converter
writes it, and what it becomes in the columns that take it; in all other columns it is a dead letter.
"""

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

COLUMNS = [
    ("int", None),
    ("bigint", None),
    ("double", None),
    ("decimal(22,2)", None),
    ("string", None),
    ("binary", None),
    ("boolean", None),
    ("date", None),
    ("date", "d"),
    ("date", "ms"),
    ("timestamp", None),
    ("timestamp", "d"),
    ("timestamp", "s"),
    ("timestamp", "ms"),
    ("timestamp", "us"),
    ("timestamp", "ns"),
    ("array<bigint>", None),
    ("map<string,string>", None),
    ("struct<scale:int,value:binary>", None),
]


@dataclass(frozen=True)
class Case:
    name: str
    kind: str
    value: Any
    becomes: dict[str, Any]
    parameters: dict[str, str] = field(default_factory=dict)
    fields: tuple[dict[str, Any], ...] = ()

    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": self.kind, "optional": True, "name": self.name, "version": 1}
        if self.parameters:
            schema["parameters"] = self.parameters
        if self.fields:
            schema["fields"] = list(self.fields)
        return schema


def expected_in(becomes: dict[str, Any], kind: str, unit: str | None) -> Any:
    """Return the value in a column of this type and unit, or None for a dead letter; `date *` stands for every unit."""
    return becomes.get(f"{kind} {unit}" if unit else kind, becomes.get(f"{kind} *"))


def numbers(number: int, in_int: bool = True) -> dict[str, Any]:
    unchanged = {"bigint": number, "double": float(number), "decimal(22,2)": Decimal(f"{number}.00")}
    return unchanged | ({"int": number} if in_int else {})


def moments(number: int, moment: datetime) -> dict[str, Any]:
    """An instant: all columns of timestamps, and dates whose unit is one of instants."""
    return numbers(number, in_int=False) | {"timestamp *": moment, "date ms": moment.date()}


DAY = date(2022, 1, 8)
MIDNIGHT = datetime(2022, 1, 8)
DAYS = numbers(19_000) | {"date *": DAY, "timestamp *": MIDNIGHT}
NOVEMBER = datetime(2024, 11, 19, 7, 6, 40)
BYTES = b"\x30\x39"
"""12345 as an unscaled number."""

NOON = {"string": "12:00:00"}

CASES = [
    Case("io.debezium.time.Date", "int32", 19_000, DAYS),
    Case("org.apache.kafka.connect.data.Date", "int32", 19_000, DAYS),
    Case("io.debezium.time.Timestamp", "int64", 1_732_000_000_000, moments(1_732_000_000_000, NOVEMBER)),
    Case(
        "org.apache.kafka.connect.data.Timestamp",
        "int64",
        1_732_000_000_000,
        moments(1_732_000_000_000, NOVEMBER),
    ),
    Case(
        "io.debezium.time.MicroTimestamp",
        "int64",
        1_732_000_000_000_001,
        moments(1_732_000_000_000_001, NOVEMBER.replace(microsecond=1)),
    ),
    Case(
        "io.debezium.time.NanoTimestamp",
        "int64",
        1_732_000_000_000_002_000,
        # not a whole double
        moments(1_732_000_000_000_002_000, NOVEMBER.replace(microsecond=2)) | {"double": None},
    ),
    Case("io.debezium.time.Time", "int32", 43_200_000, numbers(43_200_000) | NOON),
    Case("org.apache.kafka.connect.data.Time", "int32", 43_200_000, numbers(43_200_000) | NOON),
    Case("io.debezium.time.MicroTime", "int64", 43_200_000_000, numbers(43_200_000_000, in_int=False) | NOON),
    Case(
        "io.debezium.time.NanoTime",
        "int64",
        43_200_000_000_000,
        numbers(43_200_000_000_000, in_int=False) | NOON,
    ),
    Case("io.debezium.time.Year", "int32", 2024, numbers(2024)),
    Case("io.debezium.time.MicroDuration", "int64", 1_000_000, numbers(1_000_000)),
    Case("io.debezium.time.NanoDuration", "int64", 1_000_000, numbers(1_000_000)),
    Case(
        "io.debezium.time.ZonedTimestamp",
        "string",
        "2024-11-19T08:06:40+01:00",
        {"string": "2024-11-19T08:06:40+01:00", "timestamp *": NOVEMBER},
    ),
    Case(
        "io.debezium.time.IsoTimestamp",
        "string",
        "2024-11-19T07:06:40Z",
        {"string": "2024-11-19T07:06:40Z", "timestamp *": NOVEMBER},
    ),
    Case("io.debezium.time.IsoDate", "string", "2022-01-08", {"string": "2022-01-08", "date *": DAY}),
    Case("io.debezium.time.ZonedTime", "string", "10:15:30Z", {"string": "10:15:30Z"}),
    Case("io.debezium.time.IsoTime", "string", "10:15:30Z", {"string": "10:15:30Z"}),
    Case("io.debezium.time.Interval", "string", "P1Y2M3DT4H5M6S", {"string": "P1Y2M3DT4H5M6S"}),
    # each of these texts is also a number, base64, or a date
    Case("io.debezium.data.Json", "string", "1234", {"string": "1234"}),
    Case("io.debezium.data.Xml", "string", "2022-01-08", {"string": "2022-01-08"}),
    Case(
        "io.debezium.data.Uuid",
        "string",
        "12345678-1234-1234-1234-123456789012",
        {"string": "12345678-1234-1234-1234-123456789012"},
    ),
    Case("io.debezium.data.Enum", "string", "abcd", {"string": "abcd"}, {"allowed": "abcd,efgh"}),
    Case("io.debezium.data.EnumSet", "string", "abcd", {"string": "abcd"}, {"allowed": "abcd,efgh"}),
    Case("io.debezium.data.Ltree", "string", "1.2", {"string": "1.2"}),
    Case("io.debezium.data.Tsvector", "string", "'a':1", {"string": "'a':1"}),
    Case("io.debezium.data.Bits", "bytes", "MDk=", {"string": "MDk=", "binary": BYTES}, {"length": "16"}),
    Case(
        "org.apache.kafka.connect.data.Decimal",
        "bytes",
        "MDk=",
        {"decimal(22,2)": Decimal("123.45"), "string": "MDk=", "binary": BYTES},
        {"scale": "2"},
    ),
    Case(
        "org.apache.kafka.connect.data.Decimal",
        "bytes",
        "MDk=",
        {"string": "MDk=", "binary": BYTES},
        {"scale": "3"},
    ),
    Case(
        "org.apache.kafka.connect.data.Decimal",
        "bytes",
        "MDk=",
        {"decimal(22,2)": Decimal("12345.00"), "string": "MDk=", "binary": BYTES},
        {"scale": "0"},
    ),
    Case(
        "org.apache.kafka.connect.data.Decimal",
        "bytes",
        "MDk=",
        {"decimal(22,2)": Decimal("1234500.00"), "string": "MDk=", "binary": BYTES},
        {"scale": "-2"},
    ),
    Case(
        "io.debezium.data.VariableScaleDecimal",
        "struct",
        {"scale": 2, "value": "MDk="},
        {"struct<scale:int,value:binary>": {"scale": 2, "value": BYTES}},
        fields=({"type": "int32", "field": "scale"}, {"type": "bytes", "field": "value"}),
    ),
]

AVRO_KINDS = {"int32": "int", "int64": "long", "string": "string", "bytes": "bytes"}


def avro_becomes(case: Case) -> dict[str, Any]:
    """What the same value becomes in Avro, whose converter writes `connect.name`, without a logical type of Avro.

    Avro's strings fill only strings and, as UTF-8, binary; its bytes only binary and decimals of a known scale.
    """
    if case.kind == "string":
        return {"string": case.value, "binary": case.value.encode()}
    if case.kind == "bytes":
        kept = {kind: value for kind, value in case.becomes.items() if kind != "string"}
        if case.parameters.get("scale", "").startswith("-"):
            del kept["decimal(22,2)"]
        return kept
    return case.becomes


STAMPS = {"bigint": 1_732_000_000_000, "timestamp *": NOVEMBER}
MICROS = {"bigint": 1_732_000_000_000_000, "timestamp *": NOVEMBER}
NANOS = {"bigint": 1_732_000_000_000_000_000, "timestamp *": NOVEMBER}
TIME = {"int": 43_200_000, "bigint": 43_200_000}
TIMES = {"time-millis": TIME | NOON, "time-micros": TIME | {"string": "00:00:43.200"}}
UUID_TEXT = "12345678-1234-1234-1234-123456789012"
UUID_BYTES = bytes.fromhex(UUID_TEXT.replace("-", ""))
LOGICAL_CASES: list[tuple[dict[str, Any], Any, dict[str, Any]]] = [
    ({"type": "int", "logicalType": "date"}, 19_000, {"int": 19_000, "bigint": 19_000, "date *": DAY}),
    ({"type": "int", "logicalType": "time-millis"}, 43_200_000, TIMES["time-millis"]),
    ({"type": "long", "logicalType": "time-micros"}, 43_200_000, TIMES["time-micros"]),
    ({"type": "long", "logicalType": "timestamp-millis"}, 1_732_000_000_000, STAMPS),
    ({"type": "long", "logicalType": "timestamp-micros"}, 1_732_000_000_000_000, MICROS),
    ({"type": "long", "logicalType": "timestamp-nanos"}, 1_732_000_000_000_000_000, NANOS),
    ({"type": "long", "logicalType": "local-timestamp-millis"}, 1_732_000_000_000, STAMPS),
    ({"type": "long", "logicalType": "local-timestamp-micros"}, 1_732_000_000_000_000, MICROS),
    ({"type": "long", "logicalType": "local-timestamp-nanos"}, 1_732_000_000_000_000_000, NANOS),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        BYTES,
        {"decimal(22,2)": Decimal("123.45")},
    ),
    ({"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 3}, BYTES, {}),
    (
        {"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 4},
        BYTES,
        {"decimal(22,2)": Decimal("12345.00"), "binary": None},
    ),
    (
        {"type": "string", "logicalType": "uuid"},
        UUID_TEXT,
        {"string": UUID_TEXT, "binary": UUID_TEXT.encode()},
    ),
    (
        {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"},
        UUID_BYTES,
        {"string": UUID_TEXT, "binary": UUID_BYTES},
    ),
    (
        {"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"},
        bytes(range(12)),
        {"binary": bytes(range(12))},
    ),
]
"""Avro's logical types: the schema, a value, and what it becomes. A logical type has its own unit and scale."""

UNIT_OF_SEVEN = {
    "date d": date(1970, 1, 8),
    "date ms": date(1970, 1, 1),
    "timestamp d": datetime(1970, 1, 8),
    "timestamp s": datetime(1970, 1, 1, 0, 0, 7),
    "timestamp ms": datetime(1970, 1, 1, 0, 0, 0, 7_000),
    "timestamp us": datetime(1970, 1, 1, 0, 0, 0, 7),
}
"""A wrapped 7 is a number, which has the column's unit; 7 nanoseconds are no whole microsecond."""
SECONDS = b"\x08\x80\xf2\xf0\xb9\x06"
"""Field 1: 1732000000."""
PROTOBUF_CASES: list[tuple[str, bytes, dict[str, Any]]] = [
    ("google.protobuf.Timestamp", SECONDS, {"timestamp *": NOVEMBER}),
    ("google.protobuf.Duration", b"\x08\x05", {"decimal(22,2)": Decimal("5.00")}),
    ("google.type.Date", b"\x08\xe6\x0f\x10\x01\x18\x08", {"date *": DAY}),
    ("confluent.type.Decimal", b"\x0a\x02\x30\x39\x18\x02", {"decimal(22,2)": Decimal("123.45")}),
    ("confluent.type.Decimal", b"\x0a\x02\x30\x39\x18\x03", {}),
    ("google.protobuf.StringValue", b"\x0a\x011", {"string": "1", "binary": b"1"}),
    ("google.protobuf.BytesValue", b"\x0a\x011", {"string": "1", "binary": b"1"}),
    ("google.protobuf.BoolValue", b"\x08\x01", {"boolean": True}),
    ("google.protobuf.DoubleValue", b"\x09" + bytes(6) + b"\xf8\x3f", {"double": 1.5}),
    ("google.protobuf.FloatValue", b"\x0d\x00\x00\xc0\x3f", {"double": 1.5}),
    *(
        (f"google.protobuf.{kind}Value", b"\x08\x07", numbers(7) | UNIT_OF_SEVEN)
        for kind in ("Int64", "UInt64", "Int32", "UInt32")
    ),
    ("google.type.TimeOfDay", b"\x08\x05", {"string": "05:00:00"}),
    ("google.type.DateTime", b"\x08\xe6\x0f", {}),
    ("google.type.Money", b"\x10\x05", {}),
]
"""Protobuf's well-known types: the bytes of the message, and what it becomes; a struct takes any message."""
