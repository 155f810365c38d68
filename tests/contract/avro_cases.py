"""The acceptance table of format `avro` as data: (writer's type, column type, bytes of the value, what the column holds).

What is refused stands as `Dead(code)`; RESOLVE: the writer's type cannot fill the column, whatever the value.
"""

import struct
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from tests.contract.decode_cases import Dead

TYPE, RANGE, INEXACT, SYNTAX = (Dead(f"avro.{code}") for code in ("type", "range", "inexact", "syntax"))
TRUNCATED, UTF8, DUPLICATE, LIMIT = (
    Dead(f"avro.{code}") for code in ("truncated", "utf8", "duplicate", "limit")
)
RESOLVE = Dead("avro.resolve")


def number(value: int) -> bytes:
    """A zigzag varint."""
    left = (value << 1) ^ (value >> 63)
    found = bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return number(len(data)) + data


def float32(value: float) -> bytes:
    return struct.pack("<f", value)


def float64(value: float) -> bytes:
    return struct.pack("<d", value)


def logical(kind: str, name: str, /, **more: object) -> dict[str, object]:
    return {"type": kind, "logicalType": name, **more}


FIXED = {"type": "fixed", "name": "F", "size": 2}
ENUM = {"type": "enum", "name": "E", "symbols": ["A", "Bé"]}
DECIMAL = logical("bytes", "decimal", precision=60, scale=3)
FIXED_DECIMAL = logical("fixed", "decimal", precision=4, scale=1, name="F", size=2)
UUID = logical("fixed", "uuid", name="U", size=16)
PAIR = {
    "type": "record",
    "name": "P",
    "fields": [{"name": "z", "type": "string"}, {"name": "x", "type": "long"}],
}
EMPTY = {"type": "record", "name": "Nothing", "fields": []}
CHAIN = {
    "type": "record",
    "name": "C",
    "fields": [{"name": "x", "type": "int"}, {"name": "c", "type": ["null", "C"]}],
}
ENDLESS = {"type": "record", "name": "C", "fields": [{"name": "c", "type": "C"}]}
INTS = {"type": "array", "items": "int"}
NULLS = {"type": "array", "items": "null"}
MAP = {"type": "map", "values": "int"}
LEVELS = 64


def is_converted(kind: Any, dtype: str) -> bool:
    """Whether messages are read as another type than the column's, and the whole column is converted afterwards."""
    return (
        dtype == "string" and isinstance(kind, dict) and str(kind.get("logicalType", "")).startswith("time-")
    )


COLUMNS = [
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "decimal(9,2)",
    "string",
    "binary",
]
COLUMNS += ["date", "timestamp", "array<int>", "map<string,int>", "struct<x:int>"]
_ONE = {"tinyint": 1, "smallint": 1, "int": 1, "bigint": 1}
_TAKES: list[tuple[Any, bytes, dict[str, Any]]] = [
    ("null", b"", dict.fromkeys(COLUMNS)),
    ("boolean", b"\1", {"boolean": True}),
    ("int", number(1), _ONE | {"float": 1.0, "double": 1.0, "decimal(9,2)": Decimal("1.00")}),
    ("long", number(1), _ONE | {"float": 1.0, "double": 1.0, "decimal(9,2)": Decimal("1.00")}),
    ("float", float32(1.5), {"float": 1.5, "double": 1.5}),
    ("double", float64(1.5), {"float": 1.5, "double": 1.5}),
    ("string", text("é"), {"string": "é", "binary": "é".encode()}),
    ("bytes", text("é"), {"string": "é", "binary": "é".encode()}),
    (FIXED, b"ab", {"binary": b"ab"}),
    (ENUM, number(1), {"string": "Bé"}),
    (DECIMAL, text(b"\x05\xdc"), {"decimal(9,2)": Decimal("1.50")}),
    (FIXED_DECIMAL, b"\xff\xf1", {"decimal(9,2)": Decimal("-1.50")}),
    (logical("string", "uuid"), text("x"), {"string": "x", "binary": b"x"}),
    (UUID, bytes(range(16)), {"string": "00010203-0405-0607-0809-0a0b0c0d0e0f", "binary": bytes(range(16))}),
    (logical("fixed", "duration", name="D", size=12), b"x" * 12, {"binary": b"x" * 12}),
    (logical("int", "date"), number(1), _ONE | {"date": date(1970, 1, 2)}),
    (logical("int", "time-millis"), number(1), _ONE | {"string": "00:00:00.001"}),
    (logical("long", "time-micros"), number(1), _ONE | {"string": "00:00:00.000001"}),
    (
        logical("long", "timestamp-millis"),
        number(1),
        _ONE | {"timestamp": datetime(1970, 1, 1, 1, 0, 0, 1000)},
    ),
    (logical("long", "timestamp-micros"), number(1), _ONE | {"timestamp": datetime(1970, 1, 1, 1, 0, 0, 1)}),
    (
        logical("long", "local-timestamp-millis"),
        number(1),
        _ONE | {"timestamp": datetime(1970, 1, 1, 0, 0, 0, 1000)},
    ),
    (
        logical("long", "local-timestamp-micros"),
        number(1),
        _ONE | {"timestamp": datetime(1970, 1, 1, 0, 0, 0, 1)},
    ),
    (INTS, number(1) + number(1) + b"\0", {"array<int>": [1]}),
    (MAP, number(1) + text("k") + number(1) + b"\0", {"map<string,int>": [("k", 1)]}),
    (PAIR, text("z") + number(1), {"struct<x:int>": {"x": 1}}),
    (CHAIN, number(1) + b"\0", {"struct<x:int>": {"x": 1}}),
]
KIND_CASES: list[tuple[Any, str, bytes, Any]] = [
    (written, dtype, data, takes.get(dtype, RESOLVE)) for written, data, takes in _TAKES for dtype in COLUMNS
]

VALUE_CASES: list[tuple[Any, str, bytes, Any]] = [
    # numbers: in their shortest form, of no more bits than their type, within the column
    ("int", "tinyint", number(-128), -128),
    ("int", "tinyint", number(128), RANGE),
    ("int", "smallint", number(-32769), RANGE),
    ("long", "int", number(2**31 - 1), 2**31 - 1),
    ("long", "int", number(2**31), RANGE),
    ("long", "bigint", number(2**63 - 1), 2**63 - 1),
    ("long", "bigint", number(-(2**63)), -(2**63)),
    ("long", "bigint", b"\xff" * 9 + b"\2", SYNTAX),
    ("long", "bigint", b"\xff" * 10 + b"\1", SYNTAX),
    ("long", "bigint", b"\x82\x00", SYNTAX),
    ("long", "bigint", b"\x80", TRUNCATED),
    ("long", "bigint", b"", TRUNCATED),
    ("int", "bigint", number(-(2**31)), -(2**31)),
    ("int", "bigint", number(2**31), SYNTAX),
    ("int", "bigint", b"\xff\xff\xff\xff\x1f", SYNTAX),
    ("int", "bigint", b"\xff\xff\xff\xff\xff\1", SYNTAX),
    ("long", "double", number(2**53), 2.0**53),
    ("long", "double", number(2**53 + 1), INEXACT),
    ("long", "double", number(2**63 - 1), INEXACT),
    ("int", "float", number(2**24), 2.0**24),
    ("int", "float", number(2**24 + 1), INEXACT),
    ("long", "decimal(9,2)", number(9_999_999), Decimal("9999999.00")),
    ("long", "decimal(9,2)", number(-10_000_000), RANGE),
    ("boolean", "boolean", b"\0", False),
    ("boolean", "boolean", b"\2", SYNTAX),
    # floats: NaN and the infinities are values; a double in a float column must be a float
    ("double", "double", float64(float("inf")), float("inf")),
    ("double", "float", float64(float("-inf")), float("-inf")),
    ("double", "double", float64(-0.0), -0.0),
    ("double", "float", float64(0.1), INEXACT),
    ("double", "float", float64(1e300), RANGE),
    ("double", "float", float64(1e-300), INEXACT),
    ("float", "double", float32(0.1), 0.10000000149011612),
    ("float", "float", float32(1e-45), 1.401298464324817e-45),
    ("double", "double", float64(1.0)[:7], TRUNCATED),
    # text and bytes
    ("string", "string", text(""), ""),
    ("string", "string", text("a\0\U0001f600"), "a\0\U0001f600"),
    ("string", "string", text(b"\xff"), UTF8),
    ("string", "string", text(b"\xed\xa0\x80"), UTF8),
    ("string", "binary", text(b"\xff"), UTF8),
    ("bytes", "string", text(b"\xc0\xaf"), UTF8),
    ("bytes", "binary", text(b"\xff"), b"\xff"),
    ("bytes", "binary", number(-1), SYNTAX),
    ("bytes", "binary", number(-(2**63)), SYNTAX),
    ("bytes", "binary", number(2**62), TRUNCATED),
    ("bytes", "binary", number(3) + b"ab", TRUNCATED),
    (FIXED, "binary", b"a", TRUNCATED),
    (UUID, "string", b"a" * 15, TRUNCATED),
    (ENUM, "string", number(2), SYNTAX),
    (ENUM, "string", number(-1), SYNTAX),
    # decimals
    (DECIMAL, "decimal(9,2)", text(b""), SYNTAX),
    (DECIMAL, "decimal(9,2)", text(b"\0" * 40 + b"\x0a"), Decimal("0.01")),
    (DECIMAL, "decimal(9,2)", text(b"\xff" * 40 + b"\xf6"), Decimal("-0.01")),
    (DECIMAL, "decimal(9,2)", text(b"\x01"), INEXACT),
    (DECIMAL, "decimal(9,2)", text((9_999_999_990).to_bytes(5, "big", signed=True)), Decimal("9999999.99")),
    (DECIMAL, "decimal(9,2)", text((10**10).to_bytes(5, "big", signed=True)), RANGE),
    (DECIMAL, "decimal(9,2)", text(b"\x7f" * 3000), RANGE),
    (
        DECIMAL,
        "decimal(38,3)",
        text((10**38 - 1).to_bytes(16, "big", signed=True)),
        Decimal("9" * 35 + ".999"),
    ),
    (DECIMAL, "decimal(38,3)", text((10**38).to_bytes(16, "big", signed=True)), RANGE),
    (DECIMAL, "decimal(38,38)", text(b"\0"), Decimal("0E-38")),
    (logical("bytes", "decimal", precision=4, scale=5), "binary", text(b"a"), b"a"),
    (logical("bytes", "decimal", precision=4, scale=5), "decimal(9,2)", text(b"a"), RESOLVE),
    (logical("bytes", "decimal", precision=9999, scale=0), "decimal(9,2)", text(b"a"), RESOLVE),
    (logical("fixed", "decimal", precision=5, scale=0, name="F", size=2), "binary", b"ab", b"ab"),
    (logical("fixed", "uuid", name="F", size=2), "string", b"ab", RESOLVE),
    (logical("string", "timestamp-millis"), "string", text("x"), "x"),
    (logical("long", "unheard-of"), "bigint", number(7), 7),
    # days and moments, in Europe/Berlin
    (logical("int", "date"), "date", number(-719162), date(1, 1, 1)),
    (logical("int", "date"), "date", number(-719163), RANGE),
    (logical("int", "date"), "date", number(2932896), date(9999, 12, 31)),
    (logical("int", "date"), "date", number(2932897), RANGE),
    (logical("int", "date"), "date", number(641207454), RANGE),  # its microseconds do not fit 64 bits
    (logical("int", "date"), "date", number(-(2**31)), RANGE),
    (logical("long", "timestamp-millis"), "timestamp", number(1372654800000), datetime(2013, 7, 1, 7)),
    (logical("long", "timestamp-millis"), "timestamp", number(3265192800000), datetime(2073, 6, 20, 16)),
    (logical("long", "timestamp-millis"), "timestamp", number(-1), datetime(1970, 1, 1, 0, 59, 59, 999000)),
    (logical("long", "timestamp-millis"), "timestamp", number(2**63 - 1), RANGE),
    (logical("long", "timestamp-nanos"), "timestamp", number(1_001_000), datetime(1970, 1, 1, 1, 0, 0, 1001)),
    (logical("long", "timestamp-nanos"), "timestamp", number(1_001_001), INEXACT),
    (
        logical("long", "local-timestamp-nanos"),
        "timestamp",
        number(-1000),
        datetime(1969, 12, 31, 23, 59, 59, 999999),
    ),
    (logical("long", "local-timestamp-micros"), "timestamp", number(253402300800000000), RANGE),
    (logical("long", "local-timestamp-micros"), "timestamp", number(-62135596800000000), datetime(1, 1, 1)),
    (logical("long", "timestamp-micros"), "timestamp", number(253402300799999999), RANGE),
    # arrays and maps, in any blocks
    (INTS, "array<int>", b"\0", []),
    (INTS, "array<bigint>", number(2) + b"\2\4" + number(-1) + number(1) + b"\6" + b"\0", [1, 2, 3]),
    (INTS, "array<int>", number(-1) + number(2) + b"\2" + b"\0", SYNTAX),
    (INTS, "array<int>", number(-1) + number(0) + b"\2" + b"\0", SYNTAX),
    (INTS, "array<int>", number(-1) + number(-1) + b"\2" + b"\0", SYNTAX),
    (INTS, "array<int>", number(-(2**63)) + number(1) + b"\2" + b"\0", TRUNCATED),
    (INTS, "array<int>", number(2**62) + b"\2\2", TRUNCATED),
    (INTS, "array<int>", number(1) + b"\2", TRUNCATED),
    (INTS, "array<tinyint>", number(2) + number(1) + number(200) + b"\0", RANGE),
    (NULLS, "array<int>", number(3) + b"\0", [None] * 3),
    (NULLS, "array<int>", number(2**40) + b"\0", LIMIT),
    ({"type": "array", "items": EMPTY}, "array<struct<x:int>>", number(2) + b"\0", [{"x": None}] * 2),
    ({"type": "array", "items": EMPTY}, "array<struct<x:int>>", number(2**40) + b"\0", LIMIT),
    (
        {"type": "array", "items": ["null", "int"]},
        "array<int>",
        number(2) + b"\2\2" + b"\0" + b"\0",
        [1, None],
    ),
    ({"type": "array", "items": "string"}, "array<int>", b"\0", RESOLVE),
    (MAP, "map<string,int>", b"\0", []),
    (MAP, "map<string,int>", number(2) + text("b") + b"\2" + text("a") + b"\4" + b"\0", [("b", 1), ("a", 2)]),
    (MAP, "map<string,int>", number(2) + text("a") + b"\2" + text("a") + b"\2" + b"\0", DUPLICATE),
    (
        MAP,
        "map<string,int>",
        number(1) + text("a") + b"\2" + number(1) + text("a") + b"\4" + b"\0",
        DUPLICATE,
    ),
    (MAP, "map<string,int>", number(1) + text(b"\xff") + b"\2" + b"\0", UTF8),
    # records
    (PAIR, "struct<y:string,x:smallint>", text("z") + number(3), {"y": None, "x": 3}),
    (PAIR, "struct<x:tinyint>", text("z") + number(300), RANGE),
    (PAIR, "struct<x:int>", text(b"\xff") + number(3), UTF8),
    (PAIR, "struct<z:int>", text("z") + number(3), RESOLVE),
    (PAIR, "struct<X:int>", text("z") + number(3), {"X": None}),
    (CHAIN, "struct<x:int,c:struct<x:int>>", b"\2" + b"\2\4" + b"\2\6" + b"\0", {"x": 1, "c": {"x": 2}}),
    (CHAIN, "struct<x:int>", b"\2\2" * (LEVELS - 2) + b"\2\0", {"x": 1}),
    (CHAIN, "struct<x:int>", b"\2\2" * (LEVELS - 1) + b"\2\0", LIMIT),
    (ENDLESS, "struct<x:int>", b"", LIMIT),
    # unions: each branch by its own type
    (["null", "int"], "int", b"\0", None),
    (["null", "int"], "int", b"\2\2", 1),
    (["null", "int"], "int", b"\4\2", SYNTAX),
    (["null", "int"], "int", b"\1\2", SYNTAX),
    (["int", "null"], "int", b"\2", None),
    (["null", "string"], "bigint", b"\0", RESOLVE),
    (["string", "long", "double"], "bigint", b"\2\2", 1),
    (["string", "long", "double"], "bigint", b"\0" + text("1"), TYPE),
    (["string", "long", "double"], "double", b"\4" + float64(1.5), 1.5),
    (["null", INTS, PAIR], "struct<x:int>", b"\4" + text("z") + b"\2", {"x": 1}),
    (["null", INTS, PAIR], "struct<x:int>", b"\2\0", TYPE),
    ([], "int", b"\0", SYNTAX),
]
IGNORED_CASES: list[tuple[Any, bytes, Any]] = [
    (written, data, 7) for written, data, takes in _TAKES if takes
] + [
    ("boolean", b"\2", SYNTAX),
    ("string", text(b"\xff"), UTF8),
    ("bytes", text(b"\xff"), 7),
    ("long", b"\x80\x00", SYNTAX),
    ("int", number(2**31), SYNTAX),
    ("float", b"abc", TRUNCATED),
    (FIXED, b"", TRUNCATED),
    (ENUM, number(2), SYNTAX),
    (["null", "int"], number(2), SYNTAX),
    ([], b"\0", SYNTAX),
    (MAP, number(2) + (text("a") + b"\2") * 2 + b"\0", 7),
    (MAP, number(1) + text(b"\xff") + b"\2" + b"\0", UTF8),
    (INTS, number(-2) + number(2) + b"\2\2" + b"\0", 7),
    (INTS, number(-2) + number(3) + b"\2\2" + b"\0", SYNTAX),
    (NULLS, number(2**40) + b"\0", LIMIT),
    (NULLS, (number(50) + number(-5) + number(0)) * 2 + b"\0", 7),
    (CHAIN, b"\2\2" * (LEVELS - 2) + b"\2\0", 7),
    (CHAIN, b"\2\2" * (LEVELS - 1) + b"\2\0", LIMIT),
    (ENDLESS, b"", LIMIT),
    ("null", b"\0", SYNTAX),
    ("null", b"\2\2", SYNTAX),
]
"""A field that no column takes, before a column `a` that holds 7."""
