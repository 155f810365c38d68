"""Google's own library as the reference: a schema with everything in it, random messages, and what they hold."""

import random
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from kafka2hive.decode.schemas.protobuf import descriptors
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.model.writer_schema import WriterSchema
from tests.contract.protobuf_ways import written

KINDS = {
    **dict.fromkeys(("int32", "sint32", "sfixed32"), "int"),
    **dict.fromkeys(("int64", "sint64", "sfixed64", "uint32", "fixed32"), "bigint"),
    **dict.fromkeys(("uint64", "fixed64"), "decimal(20,0)"),
    "float": "float",
    "double": "double",
    "bool": "boolean",
    "string": "string",
    "bytes": "binary",
    "Color": "string",
    "Leaf": "struct<n:int,name:string,more:array<int>>",
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.Duration": "decimal(38,9)",
    "confluent.type.Decimal": "decimal(38,9)",
    "google.protobuf.StringValue": "string",
    "google.protobuf.Int64Value": "bigint",
    "google.type.Date": "date",
}
"""Types of fields, and columns that hold every value of them."""

KEYS = ("int32", "sint64", "fixed64", "bool", "string")


def _fields(syntax: str) -> list[tuple[str, str]]:
    """Declarations and column types; the field's name is f and its number."""
    found: list[tuple[str, str]] = []
    for kind, column in KINDS.items():
        number = 3 * len(found) + 1
        if syntax == "proto2":
            found.append((f"optional {kind} f{number} = {number};", column))
        else:
            found.append((f"{kind} f{number} = {number};", column))
            found.append((f"optional {kind} f{number + 3} = {number + 3};", column))
    for kind, column in KINDS.items():
        number = 3 * len(found) + 1
        found.append((f"repeated {kind} f{number} = {number};", f"array<{column}>"))
    for at, (kind, column) in enumerate(KINDS.items()):
        number = 3 * len(found) + 1
        found.append((f"map<{KEYS[at % len(KEYS)]}, {kind}> f{number} = {number};", f"map<string,{column}>"))
    if syntax == "proto2":
        number = 3 * len(found) + 1
        group = f"optional group F{number} = {number} {{ optional int32 n = 1; repeated string s = 2; }}"
        found.append((group, "struct<n:int,s:array<string>>"))
        found.append((f"required int32 f{number + 3} = {number + 3};", "int"))
    return found


def _oneof(first: int) -> str:
    members = [f"{kind} f{first + at} = {first + at};" for at, kind in enumerate(("int32", "string", "Leaf"))]
    return f"oneof choice {{ {' '.join(members)} }}"


ONEOF = 1000


@cache
def schema(syntax: str) -> WriterSchema:
    """Message 0 is All."""
    sign = "optional" if syntax == "proto2" else ""
    imports = 'import "confluent/type/decimal.proto";' + "".join(
        f'import "google/{n}.proto";'
        for n in ("protobuf/timestamp", "protobuf/duration", "protobuf/wrappers", "type/date")
    )
    leaf = f"message Leaf {{ {sign} int32 n = 1; {sign} string name = 2; repeated int32 more = 3; {sign} Leaf l = 4; }}"
    every = " ".join(text for text, _ in _fields(syntax))
    return written(
        f'syntax = "{syntax}"; package t; {imports} message All {{ {every} {_oneof(ONEOF)} }} {leaf} '
        "enum Color { RED = 0; GREEN = 1; BLUE = -5; }"
    )


@cache
def message_class(syntax: str) -> Any:
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(descriptors(schema(syntax))).file:
        pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.All"))


def columns(syntax: str, dice: random.Random) -> pa.Schema:
    """Most fields of All, in any order."""
    names = [(text.split(" = ")[0].split()[-1].lower(), column) for text, column in _fields(syntax)]
    names += [(f"f{ONEOF}", "int"), (f"f{ONEOF + 1}", "string"), (f"f{ONEOF + 2}", KINDS["Leaf"])]
    dice.shuffle(names)
    kept = [one for one in names if dice.random() < 0.8] or names[:1]
    return pa.schema([(name, parse_hive_type(column)) for name, column in kept])


_INTEGERS = {1: 64, 2: 64, 3: 32, 4: 64, 6: 64, 7: 32, 13: 32, 15: 32, 16: 64, 17: 32, 18: 64, 5: 32}
_UNSIGNED = {4, 6, 7, 13}


def random_value(dice: random.Random, field: Any) -> Any:
    match field.type:
        case 8:
            return dice.random() < 0.5
        case 9:
            return dice.choice(("", "x", "é", "\0", "Straße", "x" * 200))
        case 12:
            return dice.randbytes(dice.choice((0, 1, 5, 200)))
        case 14:
            return dice.choice([value.number for value in field.enum_type.values])
        case 1 | 2:
            return dice.choice((0.0, -0.0, 1.5, float("inf"), float("-inf"), float("nan"), dice.random()))
        case kind:
            bits, low = _INTEGERS[kind], 0 if kind in _UNSIGNED else -1
            size = dice.choice((1, 7, 8, 31, bits)) - (0 if kind in _UNSIGNED else 1)
            return dice.choice((dice.getrandbits(size) if size else 0, low * dice.getrandbits(size or 1), 0))


def fill(dice: random.Random, message: Any, share: float, depth: int = 0) -> None:
    for field in message.DESCRIPTOR.fields:
        if not field.is_required and dice.random() > share:
            continue
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            key, value = field.message_type.fields_by_number[1], field.message_type.fields_by_number[2]
            for _ in range(dice.randint(0, 3)):
                to = getattr(message, field.name)
                if value.message_type is not None:
                    _some(dice, to[random_value(dice, key)], depth)
                else:
                    to[random_value(dice, key)] = random_value(dice, value)
        elif field.is_repeated:
            for _ in range(dice.randint(0, 3)):
                if field.message_type is not None:
                    _some(dice, getattr(message, field.name).add(), depth)
                else:
                    getattr(message, field.name).append(random_value(dice, field))
        elif field.message_type is not None:
            getattr(message, field.name).SetInParent()
            _some(dice, getattr(message, field.name), depth)
        else:
            setattr(message, field.name, random_value(dice, field))


def _some(dice: random.Random, message: Any, depth: int) -> None:
    match message.DESCRIPTOR.full_name:
        case "google.protobuf.Timestamp":
            message.seconds, message.nanos = dice.randint(-(10**10), 10**11), 1000 * dice.randrange(10**6)
        case "google.protobuf.Duration":
            sign = dice.choice((-1, 1))
            message.seconds, message.nanos = sign * dice.randint(0, 10**11), sign * dice.randrange(10**9)
        case "confluent.type.Decimal":
            number = dice.randint(-(10**20), 10**20)
            message.value = number.to_bytes(dice.randint(9, 18), "big", signed=True)
            message.scale = dice.randint(0, 9)
        case "google.type.Date":
            message.year, message.month, message.day = (
                dice.randint(1, 9999),
                dice.randint(1, 12),
                dice.randint(1, 28),
            )
        case _ if depth < 3:
            fill(dice, message, 0.5, depth + 1)


def encoded(syntax: str, dice: random.Random, count: int) -> list[bytes]:
    messages = []
    for _ in range(count):
        message = message_class(syntax)()
        fill(dice, message, dice.choice((0.1, 0.5, 1.0)))
        messages.append(message.SerializeToString())
    return messages


def row(syntax: str, columns: pa.Schema, zone: str, body: bytes) -> list[Any] | None:
    """What Google's library reads, in the columns' terms. None: it refuses the message."""
    message = message_class(syntax)()
    try:
        message.ParseFromString(body)
    except DecodeError:
        return None
    return [_held(message, field, zone) for field in columns]


def _held(message: Any, column: pa.Field, zone: str) -> Any:
    field = message.DESCRIPTOR.fields_by_name[column.name]
    value, dtype = getattr(message, field.name), column.type
    if pa.types.is_map(dtype):
        of = field.message_type.fields_by_number[2]
        pairs = [(_key(key), _single(value[key], of, dtype.item_type, zone)) for key in value]
        return sorted(pairs, key=lambda pair: pair[0])
    if field.is_repeated:
        return [_single(one, field, dtype.value_type, zone) for one in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _single(value, field, dtype, zone)


def _key(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _single(value: Any, field: Any, dtype: pa.DataType, zone: str) -> Any:
    if field.enum_type is not None:
        return field.enum_type.values_by_number[value].name
    name = field.message_type.full_name if field.message_type is not None else ""
    match name:
        case "":
            return Decimal(value) if pa.types.is_decimal(dtype) else value
        case "google.protobuf.Timestamp":
            instant = datetime(1970, 1, 1) + timedelta(
                seconds=value.seconds, microseconds=value.nanos // 1000
            )
            return instant.replace(tzinfo=ZoneInfo("UTC")).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        case "google.protobuf.Duration":
            return Decimal(value.seconds * 10**9 + value.nanos).scaleb(-9)
        case "confluent.type.Decimal":
            billionths = int.from_bytes(value.value, "big", signed=True) * Fraction(10) ** (9 - value.scale)
            return Decimal(f"{billionths}E-9")
        case "google.type.Date":
            return date(value.year, value.month, value.day)
        case "google.protobuf.StringValue" | "google.protobuf.Int64Value":
            return value.value
    return {inner.name: _held(value, inner, zone) for inner in dtype}


def in_order(found: Any) -> Any:
    """The row with its maps' entries in the order of their keys: Google's library has none."""
    if isinstance(found, list):
        if found and all(isinstance(one, tuple) for one in found):
            return sorted(((key, in_order(value)) for key, value in found), key=lambda pair: pair[0])
        return [in_order(one) for one in found]
    if isinstance(found, dict):
        return {key: in_order(value) for key, value in found.items()}
    return found
