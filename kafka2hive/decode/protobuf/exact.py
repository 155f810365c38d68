"""Read messages by a plan in plain Python, one at a time: slow and strict. Only this decoder refuses messages.

A message may come in several pieces: if a singular field occurs twice, the last value wins; messages are merged.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from kafka2hive.config.keys.json_path import path_text
from kafka2hive.decode.contract.sources import Source, labels, names_in_table
from kafka2hive.decode.contract.spec import OTHER_JSON, Changes
from kafka2hive.decode.framing.numbers import BinaryRefusal
from kafka2hive.decode.protobuf import plan
from kafka2hive.decode.protobuf.cursor import ProtobufCursor, Range, small_message
from kafka2hive.decode.protobuf.payloads import Gatherer, skips
from kafka2hive.decode.protobuf.texts import JsonWriter
from kafka2hive.decode.protobuf.values import Read, default_value, key_text, scalar
from kafka2hive.decode.schemas.protobuf import WIRE_OF
from kafka2hive.decode.values.json_spelling import of_column
from kafka2hive.plugins import Reason

_Fill = Callable[[ProtobufCursor, Sequence[Range], list[Any]], None]
"""Reads a message on the path to columns, and fills these columns in the row. Raises BinaryRefusal."""


class ProtobufExactDecoder:
    """Decodes messages of one type."""

    def __init__(
        self,
        protobuf_plan: plan.ProtobufPlan,
        schema: pa.Schema,
        zone: str,
        sources: Sequence[Source],
        changes: Changes | None = None,
    ) -> None:
        """`changes`: counts the values that the sources' leeway changes."""
        self._schema = schema
        self._zone = zone
        self._changes = changes or Changes()
        self._skips = skips(protobuf_plan.shapes)
        self._columns = names_in_table(schema.names, sources)
        self._labels = labels(schema.names, sources)
        self._writers = {
            is_sorted: JsonWriter(protobuf_plan.forms, is_sorted, self._skips) for is_sorted in (False, True)
        }
        self._root = self._level(protobuf_plan.root, ())
        self._whole = [(number, self._json(value)) for number, value in protobuf_plan.whole]

    def decode(self, message: bytes, start: int) -> list[Any] | Reason:
        """Return the row's values in the schema's order, or why the message is refused. Its fields begin at byte `start`."""
        cursor = ProtobufCursor(message, start)
        row: list[Any] = [None] * len(self._labels)
        try:
            self._root(cursor, [(start, len(message))], row)
            for number, read in self._whole:
                try:
                    row[number] = read(ProtobufCursor(message, start), [(start, len(message))])
                except BinaryRefusal as refusal:
                    raise refusal.of_column(self._columns[number], self._labels[number]) from None
        except BinaryRefusal as refusal:
            return refusal.reason(cursor.at)
        return row

    def _level(self, level: plan.ProtobufLevel, path: tuple[str, ...]) -> _Fill:
        def label(slot: plan.Slot) -> str:
            if len(slot.columns) == 1:
                return f"column {self._labels[slot.columns[0][0]]}"
            return f"field {path_text((*path, slot.name))}"

        gather = Gatherer(level, self._skips, label)
        takers_of_slots = [
            [
                (number, self._labels[number], self._taker(slot, value, self._schema.field(number).type))
                for number, value in slot.columns
            ]
            for slot in level.slots
        ]
        inner = [self._level(slot.inner, (*path, slot.name)) if slot.inner else None for slot in level.slots]

        def fill(cursor: ProtobufCursor, ranges: Sequence[Range], row: list[Any]) -> None:
            cursor.enter()
            for places, takers, fill_inner in zip(
                gather(cursor, ranges), takers_of_slots, inner, strict=True
            ):
                for number, column, take in takers:
                    try:
                        row[number] = take(cursor, places)
                    except BinaryRefusal as refusal:
                        raise refusal.of_column(self._columns[number], column) from None
                if fill_inner is not None and places:
                    fill_inner(cursor, places, row)
            cursor.leave()

        return fill

    def _taker(self, slot: plan.Slot, value: plan.Value | plan.Entry, dtype: pa.DataType) -> Read:
        """Return the function that makes a column's value of all payloads of a field; there may be no payload."""
        if isinstance(value, plan.ProtobufJson):
            return self._json(value)
        if isinstance(value, plan.Entry):
            return partial(_entries, value, self._read(value.value, dtype.item_type))
        if slot.label in ("repeated", "map"):
            return partial(_elements, self._read(value, dtype.value_type))
        read = self._read(value, dtype)
        if slot.label == "implicit":
            absent = default_value(read, slot.default)
            return lambda cursor, places: read(cursor, places) if places else absent
        return lambda cursor, places: read(cursor, places) if places else None

    def _json(self, value: plan.ProtobufJson) -> Read:
        write = partial(self._writers[value.is_sorted].text, value.field)

        def read(cursor: ProtobufCursor, places: Sequence[Range]) -> str | None:
            text = write(cursor, places)
            taken = None if text is None else of_column(text)
            self._changes.add(OTHER_JSON, int(taken is not None))
            return taken

        return read

    def _read(self, value: plan.Value, dtype: pa.DataType) -> Read:
        if not isinstance(value, plan.ProtobufRow):
            return scalar(value, dtype, self._zone, self._changes)
        gather = Gatherer(value.level, self._skips, lambda slot: f".{slot.name}")
        takers = []
        for place, slot in enumerate(value.level.slots):
            for number, inner in slot.columns:
                field = dtype.field(number)
                takers.append((place, field.name, f".{slot.name}", self._taker(slot, inner, field.type)))

        def read(cursor: ProtobufCursor, ranges: Sequence[Range]) -> dict[str, Any]:
            cursor.enter()
            places = gather(cursor, ranges)
            fields: dict[str, Any] = {}
            for place, name, step, take in takers:
                try:
                    fields[name] = take(cursor, places[place])
                except BinaryRefusal as refusal:
                    raise refusal.within(step) from None
            cursor.leave()
            return fields

        return read


def _elements(read: Read, cursor: ProtobufCursor, places: Sequence[Range]) -> list[Any]:
    elements = []
    for number, place in enumerate(places):
        try:
            elements.append(read(cursor, [place]))
        except BinaryRefusal as refusal:
            raise refusal.within(f"[{number}]") from None
    return elements


def _entries(
    entry: plan.Entry, item: Read, cursor: ProtobufCursor, places: Sequence[Range]
) -> list[tuple[str, Any]]:
    """Read a map's entries; if a key repeats, the last entry wins. Refuse entries with other fields: libraries differ on them."""
    entries: dict[str, Any] = {}
    for place in places:
        parts = small_message(cursor, [place], {1: WIRE_OF[entry.key], 2: entry.wire}, others=False)
        key = key_text(entry.key, cursor, parts[1])
        try:
            entries[key] = item(cursor, parts[2]) if parts[2] else default_value(item, entry.default)
        except BinaryRefusal as refusal:
            raise refusal.within(f".{key}") from None
    return list(entries.items())
