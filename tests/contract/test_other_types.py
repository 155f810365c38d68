"""Keys of columns by which Avro's and Protobuf's values of another type fill them, in both decoders."""

import math
import struct
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys import ChangeLog, Column, RecordPart
from kafka2hive.config.keys.leeway import PLAIN_WORDS, Leeway, NumberMarks
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.plugins import Decoder
from kafka2hive.task.record_columns import HeaderColumns, RawKeyColumns
from tests.contract import avro_ways, protobuf_ways
from tests.contract.loose_cases import FIRST, LAST
from tests.contract.protobuf_cases import number, sized
from tests.contract.test_avro_against_fastavro import encoded
from tests.harness.outcomes import first_values

TYPE, RANGE, INEXACT = ".type", ".range", ".inexact"
SYMBOLS = {"type": "enum", "name": "E", "symbols": ["YES", "no", "MAYBE"]}
NULLABLE = ["null", "string"]


def logical(kind: str, name: str) -> dict[str, str]:
    return {"type": kind, "logicalType": name}


def of_connect(kind: str, name: str) -> dict[str, str]:
    return {"type": kind, "connect.name": name}


@dataclass(frozen=True)
class Case:
    """A column and its key, a writer's type, and what the column has of each value: a value, or the end of a letter's code."""

    name: str
    type: str
    leeway: Leeway
    writer: Any
    values: list[tuple[Any, Any]]
    changed: dict[str, int]
    unit: str | None = None
    zone: str = "UTC"


QUOTED = Leeway(quoted="accept")
WHOLE = Leeway(whole="accept")
STRINGS = [
    Case(
        "string to bigint",
        "bigint",
        Leeway(quoted="accept", empty="null"),
        NULLABLE,
        [
            ("12", 12),
            (None, None),
            ("-7", -7),
            ("", None),
            ("1.0", TYPE),
            (" 1", TYPE),
            ("x", TYPE),
            ("9223372036854775808", RANGE),
        ],
        {"quoted": 2, "empty": 1},
    ),
    Case(
        "string to tinyint, whole",
        "tinyint",
        Leeway(quoted="accept", whole="accept"),
        "string",
        [("1", 1), ("1.0", 1), ("1e2", 100), ("1e3", RANGE), ("1.5", TYPE)],
        {"quoted": 3, "whole": 2},
    ),
    Case(
        "string to double",
        "double",
        Leeway(quoted="accept", non_finite="keep"),
        "string",
        [
            ("1.5", 1.5),
            ("1e3", 1000.0),
            ("Infinity", math.inf),
            ("-inf", -math.inf),
            ("1.", TYPE),
            ("9007199254740993", INEXACT),
            ("1e999", RANGE),
        ],
        {"quoted": 2, "non_finite": 2},
    ),
    Case(
        "string to decimal",
        "decimal(9,2)",
        Leeway(quoted="accept", non_finite="null", empty="null"),
        NULLABLE,
        [
            ("1234.50", Decimal("1234.50")),
            ("7", Decimal("7.00")),
            ("NaN", None),
            ("", None),
            ("0.001", INEXACT),
            ("12345678", RANGE),
            ("1,5", TYPE),
        ],
        {"quoted": 2, "non_finite": 1, "empty": 1},
    ),
    Case(
        "string to decimal, with marks",
        "decimal(9,2)",
        Leeway(numbers=NumberMarks(",", ".")),
        "string",
        [
            ("1,234.50", Decimal("1234.50")),
            ("12", Decimal("12.00")),
            ("1,23", TYPE),
            ("+1", TYPE),
            ("", TYPE),
        ],
        {"numbers": 2},
    ),
    Case(
        "string to bigint, with marks",
        "bigint",
        Leeway(numbers=NumberMarks(".", ","), whole="accept", empty="null"),
        "string",
        [("1.234", 1234), ("1.234,0", 1234), ("12", 12), ("", None), ("1.5", TYPE), ("1,5", TYPE)],
        {"numbers": 3, "whole": 1, "empty": 1},
    ),
    Case(
        "string to boolean, quoted",
        "boolean",
        QUOTED,
        "string",
        [("true", True), ("false", False), ("TRUE", TYPE), ("1", TYPE)],
        {"quoted": 2},
    ),
    Case(
        "string to boolean, by words",
        "boolean",
        Leeway(booleans=PLAIN_WORDS, empty="null"),
        NULLABLE,
        [("yes", True), ("0", False), ("true", True), ("", None), (None, None), ("2", TYPE)],
        {"booleans": 3, "empty": 1},
    ),
    Case(
        "string to boolean, by own words",
        "boolean",
        Leeway(booleans=PLAIN_WORDS.__class__(("J",), ("N",))),
        "string",
        [("J", True), ("N", False), ("true", TYPE)],
        {"booleans": 2},
    ),
    Case(
        "string to timestamp",
        "timestamp",
        Leeway(beyond="clamp", empty="null"),
        "string",
        [
            ("2013-01-01T05:00:00Z", datetime(2013, 1, 1, 6)),
            ("infinity", LAST),
            ("-infinity", FIRST),
            ("10000-01-01T00:00:00", LAST),
            ("", None),
            ("x", ".timestamp"),
        ],
        {"beyond": 3, "empty": 1},
        zone="Europe/Berlin",
    ),
    Case(
        "string to date",
        "date",
        Leeway(beyond="null"),
        "string",
        [
            ("2013-01-01", date(2013, 1, 1)),
            ("infinity", None),
            ("0044-03-15 BC", None),
            ("2013-02-30", ".date"),
        ],
        {"beyond": 2},
    ),
    Case(
        "string to date, by a pattern",
        "date",
        Leeway(time_pattern=("d.M.yyyy",), empty="null"),
        "string",
        [("1.2.2013", date(2013, 2, 1)), ("", None), ("1.13.2013", ".date")],
        {"empty": 1},
    ),
    Case(
        "string to a number of time",
        "timestamp",
        Leeway(quoted="accept", beyond="clamp"),
        "string",
        [
            ("1356998400000", datetime(2013, 1, 1)),
            ("9223372036825200000", LAST),
            ("infinity", LAST),
            ("9223372036854775808", RANGE),
            ("x", TYPE),
        ],
        {"quoted": 2, "beyond": 2},
        unit="ms",
    ),
]
REALS = [
    Case(
        "double to bigint",
        "bigint",
        Leeway(whole="accept", non_finite="null"),
        "double",
        [
            (1.0, 1),
            (-0.0, 0),
            (2.0**62, 2**62),
            (-(2.0**63), -(2**63)),
            (2.0**63, RANGE),
            (1.5, INEXACT),
            (math.nan, None),
            (-math.inf, None),
        ],
        {"whole": 4, "non_finite": 2},
    ),
    Case(
        "double to tinyint",
        "tinyint",
        WHOLE,
        "double",
        [(127.0, 127), (128.0, RANGE), (-129.0, RANGE), (math.nan, RANGE), (math.inf, RANGE)],
        {"whole": 1},
    ),
    Case(
        "double to decimal",
        "decimal(38,2)",
        Leeway(whole="accept", non_finite="null"),
        "double",
        [
            (12.0, Decimal("12.00")),
            (2.0**80, Decimal(f"{2**80}.00")),
            (1e36, RANGE),
            (2.5, INEXACT),
            (math.nan, None),
        ],
        {"whole": 2, "non_finite": 1},
    ),
    Case(
        "double to a number of time",
        "timestamp",
        Leeway(whole="accept", beyond="null", non_finite="null"),
        "double",
        [(1.0, datetime(1970, 1, 1, 1, 0, 1)), (1e12, None), (1e19, RANGE), (1.5, INEXACT), (math.inf, None)],
        {"whole": 2, "beyond": 1, "non_finite": 1},
        unit="s",
        zone="Europe/Berlin",
    ),
    Case(
        "double to double",
        "double",
        Leeway(non_finite="null"),
        "double",
        [(1.5, 1.5), (math.nan, None), (math.inf, None), (-math.inf, None)],
        {"non_finite": 3},
    ),
    Case(
        "double to float",
        "float",
        Leeway(non_finite="null"),
        "double",
        [(1.5, 1.5), (math.nan, None), (0.1, INEXACT)],
        {"non_finite": 1},
    ),
]
LONGS = [
    Case(
        "long to boolean",
        "boolean",
        Leeway(booleans=PLAIN_WORDS),
        "long",
        [(1, True), (0, False), (2, TYPE), (-1, TYPE)],
        {"booleans": 2},
    ),
    Case(
        "long with a unit",
        "timestamp",
        Leeway(beyond="clamp"),
        "long",
        [(0, datetime(1970, 1, 1, 1)), (2**63 - 1, LAST), (-(2**63), FIRST)],
        {"beyond": 2},
        unit="ms",
        zone="Europe/Berlin",
    ),
    Case(
        "long of days",
        "date",
        Leeway(beyond="null"),
        "long",
        [(1, date(1970, 1, 2)), (2**40, None)],
        {"beyond": 1},
        unit="d",
        zone="Europe/Berlin",
    ),
    Case(
        "long of nanoseconds",
        "timestamp",
        Leeway(beyond="clamp"),
        "long",
        [(1000, datetime(1970, 1, 1, 0, 0, 0, 1)), (1001, INEXACT), (2**63 - 1, INEXACT)],
        {},
        unit="ns",
    ),
]
ONLY_AVRO = [
    Case(
        "enum to boolean",
        "boolean",
        Leeway(booleans=PLAIN_WORDS),
        SYMBOLS,
        [("YES", True), ("no", False), ("MAYBE", TYPE)],
        {"booleans": 2},
    ),
    Case(
        "float to int",
        "int",
        WHOLE,
        ["float", "null"],
        [(16777216.0, 16777216), (None, None), (0.5, INEXACT)],
        {"whole": 1},
    ),
    Case(
        "timestamp-micros, PostgreSQL's infinity",
        "timestamp",
        Leeway(beyond="clamp"),
        ["null", logical("long", "timestamp-micros")],
        [
            (9223372036825200000, LAST),
            (-9223372036832400000, FIRST),
            (0, datetime(1970, 1, 1, 1)),
            (None, None),
        ],
        {"beyond": 2},
        zone="Europe/Berlin",
    ),
    Case(
        "MicroTimestamp of Debezium",
        "timestamp",
        Leeway(beyond="null"),
        of_connect("long", "io.debezium.time.MicroTimestamp"),
        [(9223372036825200000, None), (1_000_000, datetime(1970, 1, 1, 0, 0, 1))],
        {"beyond": 1},
    ),
    Case(
        "ZonedTimestamp of Debezium",
        "timestamp",
        Leeway(beyond="clamp"),
        of_connect("string", "io.debezium.time.ZonedTimestamp"),
        [("infinity", LAST), ("2013-01-01T00:00:00Z", datetime(2013, 1, 1))],
        {"beyond": 1},
    ),
    Case(
        "Date of Debezium",
        "date",
        Leeway(beyond="clamp"),
        of_connect("int", "io.debezium.time.Date"),
        [(2147483647, date(9999, 12, 31)), (-2147483648, date(1, 1, 1)), (0, date(1970, 1, 1))],
        {"beyond": 2},
    ),
    Case(
        "date",
        "date",
        Leeway(beyond="null"),
        logical("int", "date"),
        [(2932896, date(9999, 12, 31)), (2932897, None)],
        {"beyond": 1},
        zone="America/New_York",
    ),
    Case(
        "local-timestamp-millis",
        "timestamp",
        Leeway(beyond="clamp"),
        logical("long", "local-timestamp-millis"),
        [(253402300799999, datetime(9999, 12, 31, 23, 59, 59, 999000)), (253402300800000, LAST)],
        {"beyond": 1},
        zone="Europe/Berlin",
    ),
    Case(
        "a type that no key concerns",
        "bigint",
        Leeway(quoted="accept", whole="accept", empty="null"),
        "long",
        [(5, 5)],
        {},
    ),
    Case(
        "a union that the column's type fills",
        "bigint",
        QUOTED,
        ["string", "long"],
        [(5, 5), ("5", TYPE)],
        {},
    ),
]
AVRO_CASES = STRINGS + REALS + LONGS + ONLY_AVRO


def expected(format: str, values: list[tuple[Any, Any]]) -> list[str]:
    """As texts, because NaN equals nothing."""
    codes = [
        f"{format}{want}" if isinstance(want, str) and want.startswith(".") else want for _, want in values
    ]
    return [repr(code) for code in codes]


def check(format: str, case: Case, made: Decoder, changes: Changes, messages: list[bytes]) -> None:
    found = [repr(value) for value in first_values(made, messages)]
    assert found == expected(format, case.values)
    assert dict(changes.take()) == case.changed
    for message, one in zip(messages, found, strict=True):
        assert [repr(value) for value in first_values(made, [message])] == [one]


@pytest.mark.parametrize("way", avro_ways.WAYS)
@pytest.mark.parametrize("case", AVRO_CASES, ids=lambda case: case.name)
def test_a_value_of_avro_comes_out_as_the_table_says_and_is_counted(case: Case, way: str) -> None:
    schema, changes = pa.schema([("a", parse_hive_type(case.type))]), Changes()
    written = avro_ways.record(b="long", a=case.writer)
    made = avro_ways.WAYS[way](
        schema,
        case.zone,
        [Source(("a",), case.unit, case.leeway)],
        writers=avro_ways.written(written),
        changes=changes,
    )
    check("avro", case, made, changes, encoded(written, [{"a": value, "b": 1} for value, _ in case.values]))


STAMPS = Case(
    "google.protobuf.Timestamp",
    "timestamp",
    Leeway(beyond="clamp"),
    "google.protobuf.Timestamp",
    [
        ((0, 0), datetime(1970, 1, 1, 1)),
        ((2**62, 0), LAST),
        ((-(2**62), 0), FIRST),
        ((0, 1), INEXACT),
        ((0, -1), RANGE),
        ((253402300800, 1), LAST),
    ],
    {"beyond": 3},
    zone="Europe/Berlin",
)
WRAPPED = Case(
    "google.protobuf.StringValue",
    "bigint",
    Leeway(quoted="accept", empty="null"),
    "google.protobuf.StringValue",
    [("12", 12), ("", None), ("x", TYPE)],
    {"quoted": 1, "empty": 1},
)


def of_protobuf(writer: Any, value: Any) -> bytes:
    """Return a message whose field 1 has the value."""
    if value is None:
        return b""
    match writer:
        case "double":
            return b"\x09" + struct.pack("<d", value)
        case "long":
            return number(value)
        case "google.protobuf.Timestamp":
            seconds, nanos = value
            return sized(number(seconds) + number(nanos, 2), 1)
        case "google.protobuf.StringValue":
            return sized(sized(value.encode(), 1), 1)
    return sized(value.encode(), 1)


@pytest.mark.parametrize("way", protobuf_ways.WAYS)
@pytest.mark.parametrize("case", [*STRINGS, *REALS, *LONGS, STAMPS, WRAPPED], ids=lambda case: case.name)
def test_a_value_of_protobuf_comes_out_as_the_table_says_and_is_counted(case: Case, way: str) -> None:
    schema, changes = pa.schema([("a", parse_hive_type(case.type))]), Changes()
    writer = "string" if case.writer == NULLABLE else case.writer
    kind = {"string": "optional string", "double": "optional double", "long": "optional int64"}.get(
        writer, writer
    )
    text = (
        'syntax = "proto3"; import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";'
        f" message M {{ {kind} a = 1; }}"
    )
    made = protobuf_ways.WAYS[way](
        schema,
        case.zone,
        [Source(("a",), case.unit, case.leeway)],
        writers=protobuf_ways.Registry(id1=protobuf_ways.written(text)),
        changes=changes,
    )
    messages = [protobuf_ways.head(1, 0) + of_protobuf(writer, value) for value, _ in case.values]
    check("protobuf", case, made, changes, messages)


def test_several_columns_have_their_keys_and_one_message_its_first_reason() -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64()), ("c", pa.string())])
    written = avro_ways.record(a="string", b="double", c="string")
    leeways = (Leeway(quoted="accept", default="9", empty="null"), WHOLE, Leeway())
    sources = [Source((name,), None, leeway) for name, leeway in zip("abc", leeways, strict=True)]
    changes = Changes()
    made = make_decoder(
        DecoderSpec("avro", schema, "UTC", sources, writers=avro_ways.written(written), changes=changes)
    )
    rows = [("1", 2.0), ("", 3.0), ("x", 1.5)]
    decoded = made.decode(
        pa.array(encoded(written, [{"a": a, "b": b, "c": "t"} for a, b in rows]), pa.binary())
    )
    assert decoded.rows.to_pylist() == [{"a": 1, "b": 2, "c": "t"}, {"a": 9, "b": 3, "c": "t"}]
    assert [(reason.code, reason.column) for reason in decoded.reasons] == [("avro.type", "a")]
    assert dict(changes.take()) == {"default": 1, "empty": 1, "quoted": 1, "whole": 2}


def test_the_image_of_a_change_log_takes_them_too() -> None:
    row = {
        "type": "record",
        "name": "Row",
        "fields": [{"name": "n", "type": "string"}, {"name": "t", "type": "long"}],
    }
    envelope = avro_ways.record(before=["null", row], after=["null", "Row"], op="string")
    schema = pa.schema([("n", pa.int64()), ("t", pa.timestamp("us")), ("__op", pa.string())])
    sources = [Source(("n",), None, QUOTED), Source(("t",), "us", Leeway(beyond="clamp")), Source(("__op",))]
    changes = Changes()
    spec = DecoderSpec(
        "avro",
        schema,
        sources=sources,
        writers=avro_ways.written(envelope),
        change_log=ChangeLog.DEBEZIUM,
        changes=changes,
    )
    value = {"before": None, "after": {"n": "12", "t": 9223372036825200000}, "op": "c"}
    assert avro_ways.outcomes(make_decoder(spec), encoded(envelope, [value])) == [[12, LAST, "c"]]
    assert dict(changes.take()) == {"beyond": 1, "quoted": 1}


TEXTS = [
    ("bigint", None, Leeway(whole="accept", empty="null"), {b"12": 12, b"1.0": 1, b"": None, b"1.5": TYPE}),
    ("boolean", None, Leeway(booleans=PLAIN_WORDS, empty="null"), {b"yes": True, b"": None, b"2": TYPE}),
    (
        "decimal(9,2)",
        None,
        Leeway(numbers=NumberMarks(".", ",")),
        {b"1.234,5": Decimal("1234.50"), b"1.5": TYPE},
    ),
    ("double", None, Leeway(non_finite="null"), {b"NaN": None, b"1.5": 1.5, b"x": TYPE}),
    (
        "timestamp",
        None,
        Leeway(beyond="clamp"),
        {b"infinity": LAST, b"2013-01-01T00:00": datetime(2013, 1, 1)},
    ),
    (
        "timestamp",
        "ms",
        Leeway(beyond="null", whole="accept"),
        {b"9223372036825200000": None, b"0.0": datetime(1970, 1, 1)},
    ),
]


@pytest.mark.parametrize(("dtype", "unit", "leeway", "values"), TEXTS, ids=[f"{t[0]}, {t[1]}" for t in TEXTS])
def test_headers_and_raw_keys_take_them(
    dtype: str, unit: str | None, leeway: Leeway, values: dict[bytes, Any]
) -> None:
    texts = [None, *values, b"\xff"]
    for family in ("header", "key"):
        changes = Changes()
        if family == "header":
            column = Column("a", dtype, ("h",), unit, RecordPart.HEADER, leeway)
            made = HeaderColumns([column], "UTC", changes).read(
                [None if text is None else [("h", text)] for text in texts]
            )
        else:
            column = Column("a", dtype, (), unit, RecordPart.KEY, leeway)
            made = RawKeyColumns([column], "UTC", changes).read(pa.array(texts, pa.binary()))
        columns, refused = made
        codes = {place: reason.code for place, reason in refused.items()}
        found = [codes.get(place, value) for place, value in enumerate(columns["a"].to_pylist())]
        wanted = [f"{family}{want}" if want == TYPE else want for want in values.values()]
        assert found == [None, *wanted, f"{family}.utf8"]
        kinds = {kind for kind, _ in changes.take()}
        assert kinds and "quoted" not in kinds
