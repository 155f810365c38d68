"""Read messages by a plan in plain Python, one at a time: slow and strict. Only this decoder refuses messages."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

import pyarrow as pa

from kafka2hive.config.keys.json_path import path_text
from kafka2hive.decode.avro import plan
from kafka2hive.decode.avro.cursor import AvroCursor
from kafka2hive.decode.avro.plan import Shape
from kafka2hive.decode.avro.texts import Write, writers
from kafka2hive.decode.contract.sources import Source, labels, names_in_table
from kafka2hive.decode.contract.spec import OTHER_JSON, Changes
from kafka2hive.decode.framing.numbers import BinaryRefusal, beyond, decimal, integer_taker, moment, real
from kafka2hive.decode.values.json_spelling import of_column
from kafka2hive.model.wall_clock import DAY, EARLIEST, LATEST
from kafka2hive.plugins import Reason

Skip = Callable[[AvroCursor], object]
"""Skips one value. Raises BinaryRefusal."""

Read = Callable[[AvroCursor], Any]
"""Reads one value into what pyarrow.array accepts. Raises BinaryRefusal."""

_FIRST_DAY, _LAST_DAY = EARLIEST // DAY, LATEST // DAY
_SCALARS: dict[str, Skip] = {
    "null": lambda cursor: None,
    "boolean": AvroCursor.boolean,
    "int": lambda cursor: cursor.whole(32),
    "long": lambda cursor: cursor.whole(64),
    "float": lambda cursor: cursor.take(4),
    "double": lambda cursor: cursor.take(8),
    "bytes": AvroCursor.octets,
    "string": AvroCursor.text,
}


def skips(shapes: Sequence[Shape]) -> list[Skip]:
    """Return for each shape in a plan's table the function that skips a value of it; the functions call each other by number."""
    table: list[Skip] = []  # shared by all functions; it is complete before any of them is called
    table += [_skip(kind, numbers, table) for kind, numbers in shapes]
    return table


def _skip(kind: str, numbers: tuple[int, ...], table: list[Skip]) -> Skip:
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind == "fixed":
        return lambda cursor: cursor.take(numbers[0])
    if kind == "enum":
        return lambda cursor: cursor.index(numbers[0], "symbol")
    return partial({"array": _array, "map": _map, "union": _union, "record": _record}[kind], numbers, table)


def _array(numbers: tuple[int, ...], table: list[Skip], cursor: AvroCursor) -> None:
    skip = table[numbers[0]]
    cursor.blocks(lambda _: skip(cursor))


def _map(numbers: tuple[int, ...], table: list[Skip], cursor: AvroCursor) -> None:
    skip = table[numbers[0]]

    def entry(_: int) -> None:
        cursor.text()
        skip(cursor)

    cursor.blocks(entry)


def _union(numbers: tuple[int, ...], table: list[Skip], cursor: AvroCursor) -> None:
    table[numbers[cursor.index(len(numbers), "branch")]](cursor)


def _record(numbers: tuple[int, ...], table: list[Skip], cursor: AvroCursor) -> None:
    before = cursor.at
    cursor.open()
    for number in numbers:
        table[number](cursor)
    cursor.close()
    cursor.count(before)


def scalar(value: plan.Value, dtype: pa.DataType, zone: str) -> Read:
    """Return the function that reads a value which is not an array, map, record or union."""
    match value:
        case plan.Null():
            return lambda cursor: None
        case plan.AvroBoolean():
            return AvroCursor.boolean
        case plan.AvroWhole(bits):
            take = integer_taker("avro", dtype)
            return lambda cursor: take(cursor.whole(bits))
        case plan.AvroMoment():
            return _moment(value, dtype, zone)
        case plan.AvroDay():
            return _day(dtype)
        case plan.AvroReal(bits):
            return lambda cursor: real("avro", cursor.real(bits), dtype)
        case plan.AvroText():
            return (lambda cursor: cursor.text().encode()) if pa.types.is_binary(dtype) else AvroCursor.text
        case plan.AvroOctets(size):
            return partial(AvroCursor.take, size=size) if size is not None else AvroCursor.octets
        case plan.AvroUnscaled(size, scale):
            return _unscaled(size, scale, dtype)
        case plan.Uuid():
            return lambda cursor: str(UUID(bytes=cursor.take(16)))
        case plan.AvroSymbol(symbols):
            return lambda cursor: symbols[cursor.index(len(symbols), "symbol")]
    raise AssertionError(value)


def _unscaled(size: int | None, scale: int, dtype: pa.DataType) -> Read:
    def read(cursor: AvroCursor) -> Decimal:
        unscaled = cursor.octets() if size is None else cursor.take(size)
        if not unscaled:
            raise BinaryRefusal("avro.syntax", "a decimal of no bytes")
        return decimal("avro", int.from_bytes(unscaled, "big", signed=True), scale, dtype)

    return read


def _day(dtype: pa.DataType) -> Read:
    def read(cursor: AvroCursor) -> int:
        days = cursor.whole(32)
        if not _FIRST_DAY <= days <= _LAST_DAY:
            raise beyond("avro", f"day {days} since 1970", dtype)
        return days

    return read


def _moment(value: plan.AvroMoment, dtype: pa.DataType, zone: str) -> Read:
    ratio = value.factor, value.divisor
    return lambda cursor: moment(
        format="avro",
        number=cursor.whole(value.bits),
        ratio=ratio,
        dtype=dtype,
        zone=zone,
        instant=value.instant,
    )


_Fill = Callable[[AvroCursor, list[Any]], None]
"""Reads a value, and puts the values of the columns that take it or a part of it into the row. Raises BinaryRefusal."""


class AvroExactDecoder:
    """Decodes messages of one writer's schema."""

    def __init__(
        self,
        avro_plan: plan.AvroPlan,
        schema: pa.Schema,
        zone: str,
        sources: Sequence[Source],
        changes: Changes,
    ) -> None:
        """`changes`: counts the values that become JSON texts."""
        self._schema = schema
        self._zone = zone
        self._skips = skips(avro_plan.shapes)
        self._columns = names_in_table(schema.names, sources)
        self._labels = labels(schema.names, sources)
        self._changes = changes
        self._writers = {is_sorted: writers(avro_plan.forms, is_sorted) for is_sorted in (False, True)}
        self._root = self._node(avro_plan.root, ())
        self._whole = [
            (number, self._read(value, schema.field(number).type)) for number, value in avro_plan.whole
        ]

    def decode(self, message: bytes, start: int) -> list[Any] | Reason:
        """Return the row's values in the schema's order, or why the message is refused. The record begins at byte `start`."""
        cursor = AvroCursor(message, start)
        row: list[Any] = [None] * len(self._labels)
        try:
            self._root(cursor, row)
            if cursor.at != len(message):
                raise BinaryRefusal(
                    "avro.syntax", f"{len(message) - cursor.at} bytes are left after the message's record"
                )
            for number, read in self._whole:
                row[number] = self._read_whole(number, read, AvroCursor(message, start))
        except BinaryRefusal as refusal:
            return refusal.reason(cursor.at)
        return row

    def _read_whole(self, number: int, read: Read, cursor: AvroCursor) -> Any:
        try:
            return read(cursor)
        except BinaryRefusal as refusal:
            raise refusal.of_column(self._columns[number], self._labels[number]) from None

    def _node(self, node: plan.Node, path: tuple[str, ...]) -> _Fill:
        match node:
            case plan.AvroLevel(targets):
                steps = [self._target(target, (*path, target.name)) for target in targets]
                return partial(_level, steps)
            case plan.Fork(branches):
                return partial(_fork, [self._node(branch, path) for branch in branches])
            case plan.Unfit(why):
                return partial(_unfit, why)
            case plan.Null():
                return lambda cursor, row: None

    def _target(self, target: plan.Target, path: tuple[str, ...]) -> _Fill:
        takers = [
            (number, self._labels[number], self._read(value, self._schema.field(number).type))
            for number, value in target.columns
        ]
        inner = self._node(target.inner, path) if target.inner else None
        skip = self._skips[target.shape]
        field = f"field {path_text(path)}"

        def fill(cursor: AvroCursor, row: list[Any]) -> None:
            start = cursor.at
            for number, label, read in takers:
                cursor.at = start
                try:
                    row[number] = read(cursor)
                except BinaryRefusal as refusal:
                    raise refusal.of_column(self._columns[number], label) from None
            if inner is not None:
                cursor.at = start
                inner(cursor, row)
            elif not takers:
                try:
                    skip(cursor)
                except BinaryRefusal as refusal:
                    raise refusal.within(field) from None

        return fill

    def _read(self, value: plan.Value, dtype: pa.DataType) -> Read:
        match value:
            case plan.AvroElements(element):
                return partial(_elements, self._read(element, dtype.value_type))
            case plan.Entries(item):
                return partial(_entries, self._read(item, dtype.item_type))
            case plan.AvroRow(steps, _):
                return partial(_row, [self._step(step, dtype) for step in steps])
            case plan.Choice(branches):
                return partial(_choice, [self._read(branch, dtype) for branch in branches])
            case plan.Unfit(why):
                return partial(_unfit, why)
            case plan.Skip(shape):
                return self._skips[shape]
            case plan.AvroRaw(shape):
                return partial(_raw, self._skips[shape])
            case plan.AvroJson(form, is_sorted):
                return partial(_json, self._writers[is_sorted][form], self._changes)
        return scalar(value, dtype, self._zone)

    def _step(self, step: plan.Step, dtype: pa.DataType) -> tuple[str, bool, Read]:
        """Return the field's name, whether the struct takes it, and the function that reads it."""
        return (
            step.name,
            step.to >= 0,
            self._read(step.value, dtype.field(step.to).type if step.to >= 0 else dtype),
        )


def _raw(skip: Skip, cursor: AvroCursor) -> bytes:
    start = cursor.at
    skip(cursor)
    return cursor.message[start : cursor.at]


def _json(write: Write, changes: Changes, cursor: AvroCursor) -> str | None:
    changes.add(OTHER_JSON, 1)
    return of_column(write(cursor))


def _level(steps: Sequence[_Fill], cursor: AvroCursor, row: list[Any]) -> None:
    before = cursor.at
    cursor.open()
    for step in steps:
        step(cursor, row)
    cursor.close()
    cursor.count(before)


def _fork(branches: Sequence[_Fill], cursor: AvroCursor, row: list[Any]) -> None:
    branches[cursor.index(len(branches), "branch")](cursor, row)


def _unfit(why: str, cursor: AvroCursor, row: object = None) -> None:
    """Refuse a branch that fits no column. Serves as a Read and as a _Fill, so `row` is optional."""
    raise BinaryRefusal("avro.type", why)


def _choice(branches: Sequence[Read], cursor: AvroCursor) -> Any:
    return branches[cursor.index(len(branches), "branch")](cursor)


def _elements(element: Read, cursor: AvroCursor) -> list[Any]:
    elements: list[Any] = []

    def take(number: int) -> None:
        try:
            elements.append(element(cursor))
        except BinaryRefusal as refusal:
            raise refusal.within(f"[{number}]") from None

    cursor.blocks(take)
    return elements


def _entries(item: Read, cursor: AvroCursor) -> list[tuple[str, Any]]:
    entries: dict[str, Any] = {}

    def take(_: int) -> None:
        key = cursor.text()
        if key in entries:
            raise BinaryRefusal("avro.duplicate", "a key repeats in the map").within(f".{key}")
        try:
            entries[key] = item(cursor)
        except BinaryRefusal as refusal:
            raise refusal.within(f".{key}") from None

    cursor.blocks(take)
    return list(entries.items())


def _row(steps: Sequence[tuple[str, bool, Read]], cursor: AvroCursor) -> dict[str, Any]:
    before = cursor.at
    cursor.open()
    fields: dict[str, Any] = {}
    for name, is_wanted, read in steps:
        try:
            value = read(cursor)
        except BinaryRefusal as refusal:
            raise refusal.within(f".{name}") from None
        if is_wanted:
            fields[name] = value
    cursor.close()
    cursor.count(before)
    return fields
