"""The acceptance table of format `protobuf`: (syntax, declarations, column type, bytes of the message, what column a holds).

What is refused stands as `Dead(code)`; RESOLVE: the field cannot fill the column, whatever the value.
"""

import struct
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from tests.contract.decode_cases import Dead

RANGE, INEXACT, SYNTAX, WIRE, ENUM = (
    Dead(f"protobuf.{code}") for code in ("range", "inexact", "syntax", "wire", "enum")
)
TRUNCATED, UTF8, REQUIRED, LIMIT = (
    Dead(f"protobuf.{code}") for code in ("truncated", "utf8", "required", "limit")
)
RESOLVE = Dead("protobuf.resolve")


def varint(value: int) -> bytes:
    left = value % 2**64
    found = bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])


def zigzag(value: int) -> bytes:
    return varint((value << 1) ^ (value >> 63))


def tag(number: int, wire: int) -> bytes:
    return varint(number << 3 | wire)


def number(value: int, field: int = 1) -> bytes:
    return tag(field, 0) + varint(value)


def sized(data: bytes | str, field: int = 1) -> bytes:
    found = data.encode() if isinstance(data, str) else data
    return tag(field, 2) + varint(len(found)) + found


def float32(value: float, field: int = 1) -> bytes:
    return tag(field, 5) + struct.pack("<f", value)


def float64(value: float, field: int = 1) -> bytes:
    return tag(field, 1) + struct.pack("<d", value)


def fixed32(value: int, field: int = 1) -> bytes:
    return tag(field, 5) + (value % 2**32).to_bytes(4, "little")


def fixed64(value: int, field: int = 1) -> bytes:
    return tag(field, 1) + (value % 2**64).to_bytes(8, "little")


def seconds(whole: int, nanos: int = 0) -> bytes:
    return number(whole, 1) + number(nanos, 2)


def unscaled(octets: bytes, scale: int = 0, precision: int = 0) -> bytes:
    return sized(octets) + number(precision, 2) + number(scale, 3)


SHARED = """
message Point { SIGN int32 x = 1; SIGN string y = 2; }
message Chain { SIGN int32 x = 1; SIGN Chain c = 2; }
enum Color { RED = 0; BLUE = 5; NEGATIVE = -2; }
"""
IMPORTS = 'import "confluent/type/decimal.proto";\n' + "".join(
    f'import "google/{name}.proto";\n'
    for name in ("protobuf/timestamp", "protobuf/duration", "protobuf/wrappers", "type/date")
)
STAMP, SPAN, DAY = (
    "google.protobuf.Timestamp a = 1;",
    "google.protobuf.Duration a = 1;",
    "google.type.Date a = 1;",
)
DECIMAL = "confluent.type.Decimal a = 1;"
LEVELS = 64

_WHOLE = ("tinyint", "smallint", "int", "bigint")
COLUMNS = ["boolean", *_WHOLE, "float", "double", "decimal(9,2)", "string", "binary", "date", "timestamp"]
COLUMNS += ["array<int>", "array<string>", "map<string,int>", "struct<x:int>", "struct<none:int>"]
_ONE = dict.fromkeys(_WHOLE, 1) | {"float": 1.0, "double": 1.0, "decimal(9,2)": Decimal("1.00")}
_ZERO = dict.fromkeys(_WHOLE, 0) | {"float": 0.0, "double": 0.0, "decimal(9,2)": Decimal("0.00")}
_INTEGERS = {
    "int32": number(1),
    "int64": number(1),
    "uint32": number(1),
    "uint64": number(1),
    "sint32": number(2),
    "sint64": number(2),
    "fixed32": fixed32(1),
    "fixed64": fixed64(1),
    "sfixed32": fixed32(1),
    "sfixed64": fixed64(1),
}
_POINT = {"struct<x:int>": {"x": 1}, "struct<none:int>": {"none": None}}
_EPOCH = datetime(1970, 1, 1, 1)  # of the tests' zone
_TAKES: list[tuple[str, bytes, dict[str, Any], dict[str, Any]]] = [
    # declarations, message, what each column holds, and what it holds of an empty message of proto3
    *((f"{kind} a = 1;", data, _ONE, _ZERO) for kind, data in _INTEGERS.items()),
    ("bool a = 1;", number(1), {"boolean": True}, {"boolean": False}),
    ("float a = 1;", float32(1.5), {"float": 1.5, "double": 1.5}, {"float": 0.0, "double": 0.0}),
    ("double a = 1;", float64(1.5), {"float": 1.5, "double": 1.5}, {"float": 0.0, "double": 0.0}),
    ("string a = 1;", sized("é"), {"string": "é", "binary": "é".encode()}, {"string": "", "binary": b""}),
    ("bytes a = 1;", sized("é"), {"string": "é", "binary": "é".encode()}, {"string": "", "binary": b""}),
    (
        "Color a = 1;",
        number(5),
        dict.fromkeys(_WHOLE, 5) | {"string": "BLUE"},
        dict.fromkeys(_WHOLE, 0) | {"string": "RED"},
    ),
    ("Point a = 1;", sized(number(1)), _POINT, dict.fromkeys(_POINT)),
    (
        STAMP,
        sized(seconds(0, 1000)),
        {"timestamp": datetime(1970, 1, 1, 1, 0, 0, 1), "struct<none:int>": {"none": None}},
        {"timestamp": None, "struct<none:int>": None},
    ),
    (
        SPAN,
        sized(seconds(-1, -500_000_000)),
        {"decimal(9,2)": Decimal("-1.50"), "struct<none:int>": {"none": None}},
        {"decimal(9,2)": None, "struct<none:int>": None},
    ),
    (
        DAY,
        sized(number(2020) + number(2, 2) + number(29, 3)),
        {"date": date(2020, 2, 29), "struct<none:int>": {"none": None}},
        {"date": None, "struct<none:int>": None},
    ),
    (
        DECIMAL,
        sized(unscaled(b"\x04\xd2", 2, 4)),
        {"decimal(9,2)": Decimal("12.34"), "struct<none:int>": {"none": None}},
        {"decimal(9,2)": None, "struct<none:int>": None},
    ),
    ("repeated int32 a = 1;", sized(b"\1\2") + number(3), {"array<int>": [1, 2, 3]}, {"array<int>": []}),
    ("repeated string a = 1;", sized("x") + sized(""), {"array<string>": ["x", ""]}, {"array<string>": []}),
    (
        "map<string, int32> a = 1;",
        sized(sized("k") + number(1, 2)),
        {"map<string,int>": [("k", 1)]},
        {"map<string,int>": []},
    ),
]
_NULL_WRAPPED = {"google.protobuf.Int64Value a = 1;": _ONE, "google.protobuf.Int32Value a = 1;": _ONE}
_TAKES += [
    (
        text,
        sized(number(1)),
        takes | {"struct<none:int>": {"none": None}},
        dict.fromkeys([*takes, "struct<none:int>"]),
    )
    for text, takes in _NULL_WRAPPED.items()
]

_OF_ANY = {"struct<x:int>": {"x": None}}  # a message without that field

Case = tuple[str, str, str, bytes, Any]
KIND_CASES: list[Case] = [
    (
        "proto3",
        text,
        column,
        data,
        takes.get(column, _OF_ANY.get(column, RESOLVE) if "." in text else RESOLVE),
    )
    for text, data, takes, _ in _TAKES
    for column in COLUMNS
]
ABSENT_CASES: list[Case] = [
    ("proto3", text, column, b"", absent) for text, _, _, empty in _TAKES for column, absent in empty.items()
]


def cases(syntax: str, text: str, column: str, *found: tuple[bytes, Any]) -> list[Case]:
    return [(syntax, text, column, data, expected) for data, expected in found]


def three(text: str, column: str, *found: tuple[bytes, Any]) -> list[Case]:
    return cases("proto3", text, column, *found)


def two(text: str, column: str, *found: tuple[bytes, Any]) -> list[Case]:
    return cases("proto2", text, column, *found)


TOP, LOW = 2**63 - 1, -(2**63)
CHAINED = "struct<x:int,c:struct<x:int>>"
VALUE_CASES: list[Case] = [
    # numbers: in the range of their kind and of the column
    *three("int32 a = 1;", "bigint", (number(-1), -1), (number(-(2**31)), -(2**31)), (number(2**31), RANGE)),
    *three("int32 a = 1;", "bigint", (number(2**32 - 1), RANGE), (number(-(2**31) - 1), RANGE)),
    *three("int64 a = 1;", "bigint", (number(LOW), LOW), (number(TOP), TOP)),
    *three("int64 a = 1;", "tinyint", (number(-128), -128), (number(-129), RANGE), (number(128), RANGE)),
    *three("uint32 a = 1;", "bigint", (number(2**32 - 1), 2**32 - 1), (number(2**32), RANGE)),
    *three("uint32 a = 1;", "int", (number(2**31), RANGE)),
    *three("uint64 a = 1;", "bigint", (number(TOP), TOP), (number(2**63), RANGE)),
    *three("uint64 a = 1;", "decimal(20,0)", (number(2**64 - 1), Decimal(2**64 - 1))),
    *three("uint64 a = 1;", "double", (number(2**63), 2.0**63), (number(2**64 - 1), INEXACT)),
    *three("fixed64 a = 1;", "decimal(20,0)", (fixed64(2**64 - 1), Decimal(2**64 - 1))),
    *three("fixed64 a = 1;", "bigint", (fixed64(2**63), RANGE)),
    *three("sfixed64 a = 1;", "bigint", (fixed64(-1), -1)),
    *three("sfixed32 a = 1;", "bigint", (fixed32(-1), -1)),
    *three("fixed32 a = 1;", "bigint", (fixed32(-1), 2**32 - 1)),
    *three("sint32 a = 1;", "bigint", (number(2**32 - 1), -(2**31)), (number(2**32), RANGE)),
    *three("sint64 a = 1;", "bigint", (number(2**64 - 1), LOW)),
    *three("int64 a = 1;", "double", (number(2**53), 2.0**53), (number(2**53 + 1), INEXACT)),
    *three("int64 a = 1;", "float", (number(2**24 + 1), INEXACT)),
    *three(
        "int64 a = 1;", "decimal(9,2)", (number(9_999_999), Decimal("9999999.00")), (number(10**7), RANGE)
    ),
    *three("bool a = 1;", "boolean", (number(0), False), (number(2), RANGE), (number(-1), RANGE)),
    *three(
        "double a = 1;",
        "float",
        (float64(0.1), INEXACT),
        (float64(1e300), RANGE),
        (float64(float("inf")), float("inf")),
    ),
    *three("double a = 1;", "double", (float64(-0.0), -0.0), (float64(float("nan")), float("nan"))),
    *three("float a = 1;", "float", (float32(float("-inf")), float("-inf"))),
    # numbers need not be in their shortest form; they have at most ten bytes and 64 bits
    *three(
        "int64 a = 1;",
        "bigint",
        (b"\x08\x81\x00", 1),
        (b"\x88\x00\x07", 7),
        (b"\x08" + b"\x81" + b"\x80" * 8 + b"\0", 1),
    ),
    *three(
        "int64 a = 1;",
        "bigint",
        (b"\x08" + b"\xff" * 9 + b"\2", SYNTAX),
        (b"\x08" + b"\x80" * 10 + b"\0", SYNTAX),
    ),
    *three("string a = 1;", "string", (b"\x0a\x81\x00x", "x"), (b"\x0a\x81\x80\x80\x80\x80\x00x", SYNTAX)),
    # text
    *three(
        "string a = 1;",
        "string",
        (sized(""), ""),
        (sized("\0\U0001f600"), "\0\U0001f600"),
        (sized(b"\xff"), UTF8),
    ),
    *three("string a = 1;", "binary", (sized(b"\xff"), UTF8)),
    *three("bytes a = 1;", "binary", (sized(b"\xff"), b"\xff")),
    *three("bytes a = 1;", "string", (sized(b"\xed\xa0\x80"), UTF8)),
    *two("optional string a = 1;", "string", (sized(b"\xff"), UTF8)),
    # enums: open in proto3, closed in proto2
    *three("Color a = 1;", "string", (number(-2), "NEGATIVE"), (number(7), ENUM), (number(2**31), RANGE)),
    *three("Color a = 1;", "int", (number(7), 7), (number(-2), -2)),
    *two("optional Color a = 1;", "int", (number(7), ENUM), (number(5), 5), (b"", None)),
    *two("optional Color a = 1;", "string", (number(7), ENUM), (number(5), "BLUE"), (b"", None)),
    *two("repeated Color a = 1;", "array<string>", (number(5) + sized(b"\0\5"), ["BLUE", "RED", "BLUE"])),
    # presence
    *three("optional int32 a = 1;", "int", (b"", None), (number(0), 0)),
    *two("optional int32 a = 1 [default = 7];", "int", (b"", None), (number(0), 0)),
    *two("required int32 a = 1;", "int", (b"", REQUIRED), (number(0), 0)),
    *two("optional int32 a = 1; required int32 b = 2;", "int", (b"", REQUIRED), (number(0, 2), None)),
    *three("oneof o { int32 a = 1; string b = 2; Point c = 3; }", "int", (b"", None), (number(0), 0)),
    *three(
        "oneof o { int32 a = 1; string b = 2; Point c = 3; }",
        "int",
        (number(1) + sized("x", 2), None),
        (sized("x", 2) + number(1), 1),
    ),
    *three(
        "oneof o { Point a = 1; string b = 2; }",
        "struct<x:int,y:string>",
        (sized(number(1)) + sized("x", 2) + sized(sized("y", 2)), {"x": 0, "y": "y"}),
    ),
    *three(
        "oneof o { Point a = 1; string b = 2; }",
        "struct<x:int>",
        (sized(b"\x08") + sized("x", 2), TRUNCATED),
        (sized(number(1)) + sized(b"\xff", 2), UTF8),
    ),
    # what stands twice: the last value, and two messages become one
    *three("int32 a = 1;", "int", (number(1) + number(2), 2), (number(2**31) + number(2), RANGE)),
    *three(
        "Point a = 1;",
        "struct<x:int,y:string>",
        (sized(number(1)) + sized(sized("y", 2)), {"x": 1, "y": "y"}),
    ),
    *three(
        "Point a = 1;",
        "struct<x:int,y:string>",
        (sized(number(1) + sized("z", 2)) + sized(number(2)), {"x": 2, "y": "z"}),
    ),
    *three("Point a = 1;", "struct<x:int>", (sized(b"\x08") + sized(b"\1"), TRUNCATED)),
    *three(
        "Chain a = 1;",
        CHAINED,
        (sized(sized(number(1), 2)) + sized(sized(number(2), 2)), {"x": 0, "c": {"x": 2}}),
    ),
    *three(STAMP, "timestamp", (sized(number(1)) + sized(number(1000, 2)), datetime(1970, 1, 1, 1, 0, 1, 1))),
    *three(
        "google.protobuf.Int64Value a = 1;",
        "int",
        (sized(b""), 0),
        (sized(number(1)) + sized(b""), 1),
        (sized(number(1) + number(2)), 2),
    ),
    # repeated: packed and not, as they come
    *three(
        "repeated int32 a = 1;",
        "array<int>",
        (sized(b""), []),
        (number(1) + sized(b"\2") + number(3), [1, 2, 3]),
    ),
    *three("repeated int32 a = 1 [packed = false];", "array<int>", (sized(b"\1\2"), [1, 2])),
    *three(
        "repeated int32 a = 1;",
        "array<int>",
        (sized(b"\1\x80"), TRUNCATED),
        (sized(b"\1" + varint(2**31)), RANGE),
    ),
    *three(
        "repeated fixed32 a = 1;",
        "array<bigint>",
        (sized(b"\1\0\0\0\2\0\0\0") + fixed32(3), [1, 2, 3]),
        (sized(b"\1\0\0"), TRUNCATED),
    ),
    *three("repeated double a = 1;", "array<double>", (sized(struct.pack("<2d", 1.5, -2.0)), [1.5, -2.0])),
    *three("repeated bool a = 1;", "array<boolean>", (sized(b"\1\0"), [True, False]), (sized(b"\2"), RANGE)),
    *three(
        "repeated Point a = 1;",
        "array<struct<x:int,y:string>>",
        (sized(b"") + sized(number(1)), [{"x": 0, "y": ""}, {"x": 1, "y": ""}]),
    ),
    *three(
        "repeated int32 a = 1; int32 b = 2;", "array<int>", (number(1) + number(9, 2) + number(2), [1, 2])
    ),
    *three(f"repeated {STAMP}", "array<timestamp>", (sized(b""), [_EPOCH])),
    # maps
    *three(
        "map<string, int32> a = 1;",
        "map<string,int>",
        (sized(b""), [("", 0)]),
        (sized(number(2, 2) + sized("k")), [("k", 2)]),
    ),
    *three(
        "map<string, int32> a = 1;",
        "map<string,int>",
        (sized(sized("k") + number(1, 2)) + sized(sized("k") + number(2, 2)), [("k", 2)]),
    ),
    *three(
        "map<string, int32> a = 1;",
        "map<string,int>",
        (sized(sized("k") + sized("l") + number(1, 2) + number(3, 2)), [("l", 3)]),
    ),
    *three(
        "map<string, int32> a = 1;",
        "map<string,int>",
        (sized(sized(b"\xff")), UTF8),
        (sized(sized("k") + sized("x", 2)), WIRE),
    ),
    *three(
        "map<sint32, Color> a = 1;",
        "map<string,string>",
        (sized(number(1) + number(5, 2)), [("-1", "BLUE")]),
        (sized(b""), [("0", "RED")]),
    ),
    *three(
        "map<bool, Point> a = 1;",
        "map<string,struct<x:int>>",
        (sized(number(1)), [("true", {"x": 0})]),
        (sized(sized(number(7), 2)), [("false", {"x": 7})]),
    ),
    *three(
        "map<fixed64, bytes> a = 1;",
        "map<string,binary>",
        (sized(fixed64(2**64 - 1)), [(str(2**64 - 1), b"")]),
    ),
    *three(
        "map<string, google.protobuf.Timestamp> a = 1;",
        "map<string,timestamp>",
        (sized(sized("k")), [("k", _EPOCH)]),
    ),
    *three("map<string, int32> a = 1;", "map<string,int>", (sized(sized("k") + number(1, 9)), SYNTAX)),
    # well-known types
    *three(
        STAMP,
        "timestamp",
        (sized(b""), _EPOCH),
        (sized(seconds(0, 1)), INEXACT),
        (sized(seconds(0, 10**9)), RANGE),
        (sized(seconds(0, -1)), RANGE),
    ),
    *three(
        STAMP,
        "timestamp",
        (sized(seconds(253402300799)), RANGE),
        (sized(seconds(253402297199, 999_999_000)), datetime(9999, 12, 31, 23, 59, 59, 999999)),
    ),
    *three(
        STAMP,
        "timestamp",
        (sized(seconds(TOP)), RANGE),
        (sized(seconds(-1, 500_000_000)), datetime(1970, 1, 1, 0, 59, 59, 500000)),
        (sized(seconds(0, 2**31)), RANGE),
    ),
    *three(STAMP, "struct<seconds:bigint,nanos:int>", (sized(seconds(5, 7)), {"seconds": 5, "nanos": 7})),
    *three(
        SPAN,
        "decimal(21,9)",
        (sized(seconds(315_576_000_000, 1)), Decimal("315576000000.000000001")),
        (sized(b""), Decimal("0E-9")),
    ),
    *three(
        SPAN,
        "decimal(21,9)",
        (sized(seconds(315_576_000_001)), RANGE),
        (sized(seconds(1, -1)), RANGE),
        (sized(seconds(-1, 1)), RANGE),
    ),
    *three(
        SPAN,
        "decimal(9,2)",
        (sized(seconds(1, 1)), INEXACT),
        (sized(seconds(10**7)), RANGE),
        (sized(seconds(0, -10_000_000)), Decimal("-0.01")),
    ),
    # its bytes are a number in two's complement, its scale is its own, and its precision does not matter
    *three(
        DECIMAL,
        "decimal(9,2)",
        (sized(unscaled(b"\xff", 2)), Decimal("-0.01")),
        (sized(unscaled(b"\0\0\0\0\xff", 2)), Decimal("2.55")),
        (sized(unscaled(b"\xff" * 20 + b"\x80", 2)), Decimal("-1.28")),
        (sized(sized(b"\x7b")), Decimal("123.00")),
        (sized(unscaled(b"\x7b", -4)), Decimal("1230000.00")),
        (sized(unscaled(b"\x7b", 2, 1)), Decimal("1.23")),
        (sized(unscaled((123 * 10**9).to_bytes(6, "big"), 9)), Decimal("123.00")),
        (sized(unscaled(b"\0", 1000)), Decimal("0.00")),
        (sized(unscaled(b"\0", -1000)), Decimal("0.00")),
    ),
    *three(
        DECIMAL,
        "decimal(9,2)",
        (sized(unscaled(b"\1", 3)), INEXACT),
        (sized(unscaled(b"\1", 1000)), INEXACT),
        (sized(unscaled(b"\x7b", -5)), RANGE),
        (sized(unscaled(b"\1", -1000)), RANGE),
        (sized(unscaled((10**9).to_bytes(5, "big"), 2)), RANGE),
        (sized(unscaled((10**9 - 1).to_bytes(5, "big"), 2)), Decimal("9999999.99")),
        (sized(unscaled(b"\0", 1001)), RANGE),
        (sized(unscaled(b"\0", -(2**31))), RANGE),
        (sized(unscaled(b"\0", 2**31)), RANGE),
        (sized(unscaled(b"\0", 0, 2**32)), RANGE),
        (sized(b""), RANGE),
        (sized(unscaled(b"", 2)), RANGE),
        (sized(number(1)), WIRE),
    ),
    *three(
        DECIMAL,
        "decimal(38,18)",
        (
            sized(unscaled((10**38 - 1).to_bytes(16, "big"), 18)),
            Decimal("99999999999999999999.999999999999999999"),
        ),
        (
            sized(unscaled((-(10**38) + 1).to_bytes(16, "big", signed=True), 18)),
            Decimal("-99999999999999999999.999999999999999999"),
        ),
        (sized(unscaled((10**38).to_bytes(16, "big"), 18)), RANGE),
        (sized(unscaled((10**40).to_bytes(18, "big"), 20)), RANGE),
        (
            sized(unscaled((10**39).to_bytes(17, "big"), 20)),
            Decimal("10000000000000000000.000000000000000000"),
        ),
    ),
    *three(
        DECIMAL,
        "decimal(9,2)",
        (sized(sized(b"\1")) + sized(number(1, 3)), Decimal("0.10")),
        (sized(sized(b"\1") + sized(b"\2") + number(1, 3) + number(2, 3)), Decimal("0.02")),
        (sized(unscaled(b"\1") + sized("x", 9)), Decimal("1.00")),
    ),
    *three(
        DECIMAL,
        "struct<value:binary,precision:bigint,scale:int>",
        (sized(unscaled(b"\1", 2, 3)), {"value": b"\1", "precision": 3, "scale": 2}),
        (sized(b""), {"value": b"", "precision": 0, "scale": 0}),
    ),
    *three(f"repeated {DECIMAL}", "array<decimal(9,2)>", (sized(unscaled(b"\1", 1)), [Decimal("0.10")])),
    *three(
        DAY,
        "date",
        (sized(b""), RANGE),
        (sized(number(2021) + number(2, 2) + number(29, 3)), RANGE),
        (sized(number(10_000) + number(1, 2) + number(1, 3)), RANGE),
    ),
    *three(
        "google.protobuf.StringValue a = 1;",
        "string",
        (sized(b""), ""),
        (sized(sized("x")), "x"),
        (sized(sized(b"\xff")), UTF8),
        (sized(number(1)), WIRE),
    ),
    *three("google.protobuf.BytesValue a = 1;", "binary", (sized(sized(b"\xff")), b"\xff")),
    *three("google.protobuf.BoolValue a = 1;", "boolean", (sized(number(1)), True), (sized(b""), False)),
    *three("google.protobuf.DoubleValue a = 1;", "double", (sized(float64(1.5)), 1.5), (sized(b""), 0.0)),
    *three("google.protobuf.FloatValue a = 1;", "float", (sized(float32(1.5)), 1.5)),
    *three(
        "google.protobuf.UInt64Value a = 1;", "decimal(20,0)", (sized(number(2**64 - 1)), Decimal(2**64 - 1))
    ),
    *three(
        "google.protobuf.UInt32Value a = 1;",
        "bigint",
        (sized(number(2**32 - 1)), 2**32 - 1),
        (sized(number(2**32)), RANGE),
    ),
    # the wire: groups, unknown fields, and what cannot be
    *two(
        "optional group A = 1 { optional int32 x = 1; }",
        "struct<x:int>",
        (b"\x0b" + number(1) + b"\x0c", {"x": 1}),
        (b"\x0b" + number(1), TRUNCATED),
    ),
    *two(
        "optional group A = 1 { optional int32 x = 1; }",
        "struct<x:int>",
        (sized(number(1)), WIRE),
        (b"\x0b" + number(1) + b"\x14", SYNTAX),
        (b"\x0b\x0c\x0b" + number(2) + b"\x0c", {"x": 2}),
    ),
    *two(
        "repeated group A = 1 { optional int32 x = 1; }",
        "array<struct<x:int>>",
        (b"\x0b\x0c\x0b" + number(2) + b"\x0c", [{"x": None}, {"x": 2}]),
    ),
    *three(
        "int32 a = 1;", "int", (number(9, 8) + sized("x", 9) + fixed32(1, 10) + fixed64(1, 11) + number(1), 1)
    ),
    *three(
        "int32 a = 1;",
        "int",
        (tag(8, 3) + number(1, 1) + tag(9, 3) + tag(9, 4) + tag(8, 4) + number(1), 1),
        (tag(8, 3) + tag(9, 4), SYNTAX),
    ),
    *three(
        "int32 a = 1;",
        "int",
        (sized("x"), WIRE),
        (fixed32(1), WIRE),
        (tag(1, 4), WIRE),
        (tag(2, 4), SYNTAX),
        (b"\x0e", SYNTAX),
        (b"\x0f", SYNTAX),
    ),
    *three(
        "int32 a = 1;",
        "int",
        (b"\x00", SYNTAX),
        (b"\x80\x80\x80\x80\x10\x00", SYNTAX),
        (b"\xff\xff\xff\xff\x1f", SYNTAX),
        (tag(2**29 - 1, 0) + b"\1", 0),
    ),
    *three(
        "int32 a = 1;",
        "int",
        (b"\x08", TRUNCATED),
        (b"\x08\x80", TRUNCATED),
        (b"\x12\x05x", TRUNCATED),
        (b"\x15\0\0", TRUNCATED),
        (b"\x88", TRUNCATED),
    ),
    *three(
        "string a = 1;",
        "string",
        (b"\x0a\x05x", TRUNCATED),
        (b"\x0a\xff\xff\xff\xff\x0fx", TRUNCATED),
        (number(1), WIRE),
    ),
    # depth
    *three(
        "Chain a = 1;",
        "struct<none:int>",
        (
            (lambda f: f(f, LEVELS - 1))(
                lambda f, n: sized(f(f, n - 1), 1 if n == LEVELS - 1 else 2) if n else b""
            ),
            {"none": None},
        ),
    ),
    *three(
        "Chain a = 1;",
        "struct<none:int>",
        (
            (lambda f: f(f, LEVELS))(lambda f, n: sized(f(f, n - 1), 1 if n == LEVELS else 2) if n else b""),
            LIMIT,
        ),
    ),
    *three(
        "int32 a = 1;",
        "int",
        (tag(8, 3) * (LEVELS - 1) + tag(8, 4) * (LEVELS - 1), 0),
        (tag(8, 3) * LEVELS + tag(8, 4) * LEVELS, LIMIT),
    ),
]

IGNORED_CASES: list[Case] = [
    (
        syntax,
        f"{text.replace(' a = 1', ' z = 1').replace(' A = 1', ' Z = 1')} {label}int64 a = 20;",
        "bigint",
        data + number(5, 20),
        expected,
    )
    for syntax, text, label, data, expected in [
        ("proto3", "int32 a = 1;", "", number(-1), 5),
        ("proto3", "int32 a = 1;", "", number(2**31), RANGE),
        ("proto3", "int32 a = 1;", "", sized("x"), WIRE),
        ("proto3", "bool a = 1;", "", number(2), RANGE),
        ("proto3", "string a = 1;", "", sized(b"\xff"), UTF8),
        ("proto3", "bytes a = 1;", "", sized(b"\xff"), 5),
        ("proto3", "double a = 1;", "", float64(1), 5),
        ("proto3", "Color a = 1;", "", number(77), 5),
        ("proto3", "repeated int32 a = 1;", "", sized(b"\1\2") + number(3), 5),
        ("proto3", "repeated int32 a = 1;", "", sized(b"\1\x80"), TRUNCATED),
        ("proto3", "Chain a = 1;", "", sized(sized(sized(number(1), 2), 2)), 5),
        ("proto3", "Chain a = 1;", "", sized(sized(sized(fixed32(1), 2), 2)), WIRE),
        ("proto3", "Chain a = 1;", "", sized(sized(b"\x08", 2)), TRUNCATED),
        ("proto3", "map<string, Point> a = 1;", "", sized(sized("k") + sized(sized(b"\xff", 2), 2)), UTF8),
        ("proto2", "optional group A = 1 { optional int32 x = 1; }", "optional ", b"\x0b\x08\x01\x0c", 5),
        (
            "proto2",
            "optional group A = 1 { optional int32 x = 1; }",
            "optional ",
            b"\x0b\x0a\x01\x0c\x0c",
            WIRE,
        ),
    ]
]
