"""Avro values as JSON texts: what columns with `json: text` hold of records, arrays, maps and everything else."""

from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

from kafka2hive.decode.avro.cursor import AvroCursor
from kafka2hive.decode.avro.plan import Form
from kafka2hive.decode.framing.numbers import BinaryRefusal
from kafka2hive.decode.schemas.avro import (
    Array,
    AvroEnum,
    AvroMap,
    AvroPrimitive,
    AvroSchema,
    ConnectType,
    Decimal,
    Fixed,
    Record,
    Type,
    Union,
)
from kafka2hive.decode.semantics.types import SEMANTIC_TYPES, Kind
from kafka2hive.decode.values import json_spelling as spelling

Write = Callable[[AvroCursor], str]
"""Reads one value, and returns its JSON. Raises BinaryRefusal."""

LONGEST_DECIMAL = 512
"""Limit of a decimal's bytes."""
_NANOS = {"millis": 10**6, "micros": 10**3, "nanos": 1}


class AvroForms:
    """The forms of a schema's types, in a table, so that types may be recursive."""

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema
        self._numbers: dict[Type, int] = {}
        self.table: list[Form] = []

    def number(self, writer_type: Type) -> int:
        """Return the number of a type's form. The number is reserved first, because a recursive type leads back to it."""
        if writer_type in self._numbers:
            return self._numbers[writer_type]
        number = self._numbers[writer_type] = len(self.table)
        self.table.append(("null", (), ()))
        self.table[number] = self._form(self._schema.definition(writer_type))
        return number

    def _form(self, definition: Type) -> Form:
        match definition:
            case AvroPrimitive("bytes", Decimal(_, scale)):
                return "decimal", (-1, scale), ()
            case AvroPrimitive("bytes", ConnectType(name, int(scale))) if _is_decimal(name):
                return "decimal", (-1, scale), ()
            case AvroPrimitive("bytes"):
                return "bytes", (-1,), ()
            case AvroPrimitive("int", "date"):
                return "date", (), ()
            case AvroPrimitive(kind, str(logical)) if kind != "string":
                what, _, unit = logical.rpartition("-")
                bits = 32 if kind == "int" else 64
                if what == "time":
                    return "time", (bits, _NANOS[unit]), ()
                return "timestamp", (_NANOS[unit], int(what == "timestamp")), ()
            case AvroPrimitive(kind):
                return kind, (), ()
            case Fixed(_, size, Decimal(_, scale)):
                return "decimal", (size, scale), ()
            case Fixed(_, size, logical):
                return ("uuid", (), ()) if logical == "uuid" else ("bytes", (size,), ())
            case AvroEnum(_, symbols):
                return "enum", (), symbols
            case Array(items):
                return "array", (self.number(items),), ()
            case AvroMap(values):
                return "map", (self.number(values),), ()
            case Union(branches):
                return "union", tuple(map(self.number, branches)), ()
            case Record(_, fields):
                return "record", tuple(self.number(f.type) for f in fields), tuple(f.name for f in fields)
        raise AssertionError(definition)


def _is_decimal(name: str) -> bool:
    semantic_type = SEMANTIC_TYPES.get(name)
    return semantic_type is not None and semantic_type.kind is Kind.DECIMAL


def writers(forms: Sequence[Form], is_sorted: bool) -> list[Write]:
    """Return for each form the function that writes a value of it; the functions call each other by number."""
    table: list[Write] = []
    table += [_writer(form, table, is_sorted) for form in forms]
    return table


def _writer(form: Form, table: list[Write], is_sorted: bool) -> Write:
    kind, numbers, names = form
    if kind in _PLAIN:
        return _PLAIN[kind]
    match kind:
        case "bytes":
            return lambda cursor: spelling.octets(_octets(cursor, numbers[0]))
        case "enum":
            symbols = list(map(spelling.quoted, names))
            return lambda cursor: symbols[cursor.index(len(symbols), "symbol")]
        case "decimal":
            return partial(_decimal, numbers[0], numbers[1])
        case "time":
            return partial(_clock, numbers[0], numbers[1])
        case "timestamp":
            return partial(_moment, numbers[0], bool(numbers[1]))
        case "array":
            return partial(_array, numbers[0], table)
        case "map":
            return partial(_map, numbers[0], table, is_sorted)
        case "union":
            return lambda cursor: table[numbers[cursor.index(len(numbers), "branch")]](cursor)
        case "record":
            return partial(_record, list(zip(names, numbers, strict=True)), table, is_sorted)
    raise AssertionError(kind)


def _day(cursor: AvroCursor) -> str:
    days = cursor.whole(32)
    return _within_range(days, spelling.day(days), "days since 1970")


_PLAIN: dict[str, Write] = {
    "null": lambda cursor: "null",
    "boolean": lambda cursor: "true" if cursor.boolean() else "false",
    "int": lambda cursor: str(cursor.whole(32)),
    "long": lambda cursor: str(cursor.whole(64)),
    "float": lambda cursor: spelling.real(cursor.real(32), 32),
    "double": lambda cursor: spelling.real(cursor.real(64), 64),
    "string": lambda cursor: spelling.quoted(cursor.text()),
    "uuid": lambda cursor: f'"{UUID(bytes=cursor.take(16))}"',
    "date": _day,
}


def _clock(bits: int, factor: int, cursor: AvroCursor) -> str:
    number = cursor.whole(bits)
    return _within_range(number, spelling.clock(number * factor), "of a day")


def _moment(factor: int, is_instant: bool, cursor: AvroCursor) -> str:
    number = cursor.whole(64)
    return _within_range(number, spelling.moment(number * factor, is_instant), "since 1970")


def _octets(cursor: AvroCursor, size: int) -> bytes:
    return cursor.octets() if size < 0 else cursor.take(size)


def _decimal(size: int, scale: int, cursor: AvroCursor) -> str:
    unscaled = _octets(cursor, size)
    if not unscaled:
        raise BinaryRefusal("avro.syntax", "a decimal of no bytes")
    if len(unscaled) > LONGEST_DECIMAL:
        raise BinaryRefusal("avro.range", f"a decimal of {len(unscaled)} bytes")
    return spelling.decimal(int.from_bytes(unscaled, "big", signed=True), scale)


def _within_range(number: int, spelled: str | None, what: str) -> str:
    if spelled is None:
        raise BinaryRefusal("avro.range", f"{number} {what} is out of range")
    return spelled


def _array(item: int, table: list[Write], cursor: AvroCursor) -> str:
    elements: list[str] = []

    def take(number: int) -> None:
        try:
            elements.append(table[item](cursor))
        except BinaryRefusal as refusal:
            raise refusal.within(f"[{number}]") from None

    cursor.blocks(take)
    return spelling.array(elements)


def _map(item: int, table: list[Write], is_sorted: bool, cursor: AvroCursor) -> str:
    entries: dict[str, str] = {}

    def take(_: int) -> None:
        key = cursor.text()
        if key in entries:
            raise BinaryRefusal("avro.duplicate", "a key repeats in the map").within(f".{key}")
        try:
            entries[key] = table[item](cursor)
        except BinaryRefusal as refusal:
            raise refusal.within(f".{key}") from None

    cursor.blocks(take)
    return spelling.json_object(list(entries.items()), is_sorted)


def _record(
    fields: Sequence[tuple[str, int]], table: list[Write], is_sorted: bool, cursor: AvroCursor
) -> str:
    before = cursor.at
    cursor.open()
    members = []
    for name, number in fields:
        try:
            members.append((name, table[number](cursor)))
        except BinaryRefusal as refusal:
            raise refusal.within(f".{name}") from None
    cursor.close()
    cursor.count(before)
    return spelling.json_object(members, is_sorted)
