"""A plan carried out in plain Python, one message at a time: slow, strict, and the only one that refuses messages."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from kafka2hive.config.grammars.json_path import path_text
from kafka2hive.pipeline.decode.avro import plan
from kafka2hive.pipeline.decode.avro.cursor import Cursor
from kafka2hive.pipeline.decode.avro.shapes import skips
from kafka2hive.pipeline.decode.avro.values import Read, scalar
from kafka2hive.pipeline.decode.protocol import Reason
from kafka2hive.pipeline.decode.registered.refused import Refused
from kafka2hive.pipeline.decode.sources import Source, labels, own_columns

_Fill = Callable[[Cursor, list[Any]], None]
"""Past a value on the way to the columns, which are filled on it. Raises Refused."""


class ExactDecoder:
    """Reads messages of one writer's schema."""

    def __init__(self, planned: plan.Plan, schema: pa.Schema, zone: str, sources: Sequence[Source]) -> None:
        self._schema = schema
        self._zone = zone
        self._skips = skips(planned.shapes)
        self._columns = own_columns(schema.names, sources)
        self._labels = labels(schema.names, sources)
        self._root = self._way(planned.root, ())

    def decode(self, message: bytes, start: int) -> list[Any] | Reason:
        """The row's values in the schema's order, or why there is no row. The datum begins at byte `start`."""
        cursor = Cursor(message, start)
        row: list[Any] = [None] * len(self._labels)
        try:
            self._root(cursor, row)
            if cursor.at != len(message):
                raise Refused(
                    "avro.syntax", f"{len(message) - cursor.at} bytes are left after the message's record"
                )
        except Refused as refusal:
            return refusal.reason(cursor.at)
        return row

    def _way(self, way: plan.Way, path: tuple[str, ...]) -> _Fill:
        match way:
            case plan.Level(targets):
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

        def fill(cursor: Cursor, row: list[Any]) -> None:
            start = cursor.at
            for number, label, read in takers:
                cursor.at = start
                try:
                    row[number] = read(cursor)
                except Refused as refusal:
                    raise refusal.of_column(self._columns[number], label) from None
            if inner is not None:
                cursor.at = start
                inner(cursor, row)
            elif not takers:
                try:
                    skip(cursor)
                except Refused as refusal:
                    raise refusal.within(ignored) from None

        return fill

    def _read(self, value: plan.Value, dtype: pa.DataType) -> Read:
        match value:
            case plan.Elements(element):
                return partial(_elements, self._read(element, dtype.value_type))
            case plan.Entries(item):
                return partial(_entries, self._read(item, dtype.item_type))
            case plan.Row(steps, _):
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


def _level(steps: Sequence[_Fill], cursor: Cursor, row: list[Any]) -> None:
    before = cursor.at
    cursor.open()
    for step in steps:
        step(cursor, row)
    cursor.close()
    cursor.counted(before)


def _fork(branches: Sequence[_Fill], cursor: Cursor, row: list[Any]) -> None:
    branches[cursor.index(len(branches), "branch")](cursor, row)


def _unfit(why: str, cursor: Cursor, row: object = None) -> None:
    raise Refused("avro.type", why)


def _choice(branches: Sequence[Read], cursor: Cursor) -> Any:
    return branches[cursor.index(len(branches), "branch")](cursor)


def _elements(element: Read, cursor: Cursor) -> list[Any]:
    found: list[Any] = []

    def take(number: int) -> None:
        try:
            found.append(element(cursor))
        except Refused as refusal:
            raise refusal.within(f"[{number}]") from None

    cursor.blocks(take)
    return found


def _entries(item: Read, cursor: Cursor) -> list[tuple[str, Any]]:
    found: dict[str, Any] = {}

    def take(_: int) -> None:
        key = cursor.text()
        if key in found:
            raise Refused("avro.duplicate", "a key stands twice in the map").within(f".{key}")
        try:
            found[key] = item(cursor)
        except Refused as refusal:
            raise refusal.within(f".{key}") from None

    cursor.blocks(take)
    return list(found.items())


def _row(steps: Sequence[tuple[str, bool, Read]], cursor: Cursor) -> dict[str, Any]:
    before = cursor.at
    cursor.open()
    found: dict[str, Any] = {}
    for name, wanted, read in steps:
        try:
            value = read(cursor)
        except Refused as refusal:
            raise refusal.within(f".{name}") from None
        if wanted:
            found[name] = value
    cursor.close()
    cursor.counted(before)
    return found
