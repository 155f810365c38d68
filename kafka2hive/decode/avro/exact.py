"""Carry out a plan in plain Python, one message at a time: slow, strict, and the only decoder that refuses messages."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from math import isfinite, isnan, nan
from typing import Any
from uuid import UUID

import pyarrow as pa

from kafka2hive.config.keys.json_path import path_text
from kafka2hive.decode.avro import plan
from kafka2hive.decode.avro.cursor import AvroCursor
from kafka2hive.decode.avro.plan import Shape
from kafka2hive.decode.contract.sources import Source, labels, own_columns
from kafka2hive.decode.framing.numbers import BinaryRefusal, beyond, decimal, floating, moment, whole
from kafka2hive.model.wall_clock import DAY, EARLIEST, LATEST
from kafka2hive.plugins import Reason

Skip = Callable[[AvroCursor], object]
"""Past one value. Raises Refused."""

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
    """For each shape of a plan's table the function that goes past it; they call each other by number."""
    table: list[Skip] = []
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
    cursor.counted(before)


Read = Callable[[AvroCursor], Any]
"""Past one value: what pyarrow.array understands. Raises Refused."""

_FIRST_DAY, _LAST_DAY = EARLIEST // DAY, LATEST // DAY


def scalar(value: plan.Value, dtype: pa.DataType, zone: str) -> Read:
    match value:
        case plan.Null():
            return lambda cursor: None
        case plan.AvroBoolean():
            return AvroCursor.boolean
        case plan.AvroWhole(bits):
            return _whole(bits, dtype)
        case plan.AvroMoment():
            return _moment(value, dtype, zone)
        case plan.AvroDay():
            return _day(dtype)
        case plan.AvroReal(bits):
            return _real(bits, dtype)
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


def _whole(bits: int, dtype: pa.DataType) -> Read:
    if pa.types.is_decimal128(dtype):
        return lambda cursor: decimal("avro", cursor.whole(bits), 0, dtype)
    if pa.types.is_floating(dtype):
        return lambda cursor: floating("avro", cursor.whole(bits), dtype)
    return lambda cursor: whole("avro", cursor.whole(bits), dtype)


def _real(bits: int, dtype: pa.DataType) -> Read:
    def read(cursor: AvroCursor) -> float:
        number = cursor.real(bits)
        return floating("avro", number, dtype) if isfinite(number) else nan if isnan(number) else number

    return read


def _unscaled(size: int | None, scale: int, dtype: pa.DataType) -> Read:
    def read(cursor: AvroCursor) -> Decimal:
        found = cursor.octets() if size is None else cursor.take(size)
        if not found:
            raise BinaryRefusal("avro.syntax", "a decimal of no bytes")
        return decimal("avro", int.from_bytes(found, "big", signed=True), scale, dtype)

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
"""Past a value on the way to the columns, which are filled on it. Raises Refused."""


class AvroExactDecoder:
    """Reads messages of one writer's schema."""

    def __init__(
        self, planned: plan.AvroPlan, schema: pa.Schema, zone: str, sources: Sequence[Source]
    ) -> None:
        self._schema = schema
        self._zone = zone
        self._skips = skips(planned.shapes)
        self._columns = own_columns(schema.names, sources)
        self._labels = labels(schema.names, sources)
        self._root = self._way(planned.root, ())

    def decode(self, message: bytes, start: int) -> list[Any] | Reason:
        """The row's values in the schema's order, or why there is no row. The datum begins at byte `start`."""
        cursor = AvroCursor(message, start)
        row: list[Any] = [None] * len(self._labels)
        try:
            self._root(cursor, row)
            if cursor.at != len(message):
                raise BinaryRefusal(
                    "avro.syntax", f"{len(message) - cursor.at} bytes are left after the message's record"
                )
        except BinaryRefusal as refusal:
            return refusal.reason(cursor.at)
        return row

    def _way(self, way: plan.Way, path: tuple[str, ...]) -> _Fill:
        match way:
            case plan.AvroLevel(targets):
                steps = [self._target(target, (*path, target.name)) for target in targets]
                return partial(_level, steps)
            case plan.Fork(branches):
                return partial(_fork, [self._way(branch, path) for branch in branches])
            case plan.Unfit(why):
                return partial(_unfit, why)
            case plan.Null():
                return lambda cursor, row: None

    def _target(self, target: plan.Target, path: tuple[str, ...]) -> _Fill:
        takers = [
            (number, self._labels[number], self._read(value, self._schema.field(number).type))
            for number, value in target.columns
        ]
        inner = self._way(target.inner, path) if target.inner else None
        skip = self._skips[target.shape]
        ignored = f"field {path_text(path)}"

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
                    raise refusal.within(ignored) from None

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
        return scalar(value, dtype, self._zone)

    def _step(self, step: plan.Step, dtype: pa.DataType) -> tuple[str, bool, Read]:
        return (
            step.name,
            step.to >= 0,
            self._read(step.value, dtype.field(step.to).type if step.to >= 0 else dtype),
        )


def _level(steps: Sequence[_Fill], cursor: AvroCursor, row: list[Any]) -> None:
    before = cursor.at
    cursor.open()
    for step in steps:
        step(cursor, row)
    cursor.close()
    cursor.counted(before)


def _fork(branches: Sequence[_Fill], cursor: AvroCursor, row: list[Any]) -> None:
    branches[cursor.index(len(branches), "branch")](cursor, row)


def _unfit(why: str, cursor: AvroCursor, row: object = None) -> None:
    raise BinaryRefusal("avro.type", why)


def _choice(branches: Sequence[Read], cursor: AvroCursor) -> Any:
    return branches[cursor.index(len(branches), "branch")](cursor)


def _elements(element: Read, cursor: AvroCursor) -> list[Any]:
    found: list[Any] = []

    def take(number: int) -> None:
        try:
            found.append(element(cursor))
        except BinaryRefusal as refusal:
            raise refusal.within(f"[{number}]") from None

    cursor.blocks(take)
    return found


def _entries(item: Read, cursor: AvroCursor) -> list[tuple[str, Any]]:
    found: dict[str, Any] = {}

    def take(_: int) -> None:
        key = cursor.text()
        if key in found:
            raise BinaryRefusal("avro.duplicate", "a key stands twice in the map").within(f".{key}")
        try:
            found[key] = item(cursor)
        except BinaryRefusal as refusal:
            raise refusal.within(f".{key}") from None

    cursor.blocks(take)
    return list(found.items())


def _row(steps: Sequence[tuple[str, bool, Read]], cursor: AvroCursor) -> dict[str, Any]:
    before = cursor.at
    cursor.open()
    found: dict[str, Any] = {}
    for name, wanted, read in steps:
        try:
            value = read(cursor)
        except BinaryRefusal as refusal:
            raise refusal.within(f".{name}") from None
        if wanted:
            found[name] = value
    cursor.close()
    cursor.counted(before)
    return found
