"""The payloads of a message's fields, as exact decoders gather them; fields that nothing takes are checked and skipped."""

from collections.abc import Callable, Sequence
from functools import partial

from kafka2hive.decode.framing.numbers import BinaryRefusal
from kafka2hive.decode.protobuf import plan
from kafka2hive.decode.protobuf.cursor import ProtobufCursor, Range, values_at
from kafka2hive.decode.protobuf.plan import Shape
from kafka2hive.decode.schemas.protobuf import WIRE_OF

Skip = Callable[[ProtobufCursor, Range], object]
"""Skips the payload of one value. Raises BinaryRefusal."""


def skips(shapes: Sequence[Shape]) -> list[Skip]:
    """Return for each shape in a plan's table the function that skips a value of it; the functions call each other by number."""
    table: list[Skip] = []
    for kind, fields in shapes:
        if kind in ("message", "group"):
            table.append(_message(fields, shapes, table))
        else:
            table.append(partial(_scalar, kind))
    return table


def _scalar(kind: str, cursor: ProtobufCursor, place: Range) -> None:
    cursor.go(place)
    match kind:
        case "string":
            cursor.text()
        case "bytes" | "float" | "double":
            cursor.octets()
        case _:
            cursor.integer(kind)


def _message(fields: Sequence[tuple[int, bool, int]], shapes: Sequence[Shape], table: list[Skip]) -> Skip:
    known = {number: (repeated, shape) for number, repeated, shape in fields}

    def skip(cursor: ProtobufCursor, place: Range) -> None:
        cursor.enter()
        cursor.go(place)
        while cursor.at < place[1]:
            number, wire = cursor.tag()
            if number not in known:
                cursor.payload(number, wire)
                continue
            repeated, shape = known[number]
            values = values_at(
                cursor=cursor, number=number, wire=wire, expected=WIRE_OF[shapes[shape][0]], repeated=repeated
            )
            after = cursor.at
            for value in values:
                table[shape](cursor, value)
            cursor.go((after, place[1]))
        cursor.leave()

    return skip


Label = Callable[[plan.Slot], str]
"""Returns the name of a field in the texts of reasons."""


class Gatherer:
    """Reads all fields of a message, and returns for each slot the payloads that count. Fields without a column are checked."""

    def __init__(self, level: plan.ProtobufLevel, skip: Sequence[Skip], label: Label) -> None:
        self._slots = level.slots
        self._skips = skip
        self._label = label
        self._places = {slot.number: place for place, slot in enumerate(level.slots)}

    def __call__(self, cursor: ProtobufCursor, ranges: Sequence[Range]) -> list[list[Range]]:
        payloads: list[list[Range]] = [[] for _ in self._slots]
        for start, end in ranges:
            cursor.go((start, end))
            while cursor.at < end:
                number, wire = cursor.tag()
                place = self._places.get(number)
                if place is None:
                    cursor.payload(number, wire)
                    continue
                slot = self._slots[place]
                try:
                    self._take(cursor, slot, wire, payloads[place])
                    self._clear(cursor, slot, payloads)
                except BinaryRefusal as refusal:
                    raise refusal.within(self._label(slot)) from None
                cursor.end = end
        for slot, places in zip(self._slots, payloads, strict=True):
            if slot.label == "required" and not places:
                raise BinaryRefusal("protobuf.required", "the message has no such field").within(
                    self._label(slot)
                )
        return payloads

    def _take(self, cursor: ProtobufCursor, slot: plan.Slot, wire: int, places: list[Range]) -> None:
        repeated = slot.label in ("repeated", "map")
        new = values_at(cursor=cursor, number=slot.number, wire=wire, expected=slot.wire, repeated=repeated)
        if slot.columns or slot.inner:
            places += new
            return
        # one payload is enough: `required` and oneofs only need to know whether the field occurs
        places[:] = new[-1:]
        self._check(cursor, slot, new)

    def _clear(self, cursor: ProtobufCursor, slot: plan.Slot, payloads: list[list[Range]]) -> None:
        """Drop the other members of the slot's oneof: only the last member counts."""
        if slot.oneof < 0:
            return
        for other, places in zip(self._slots, payloads, strict=True):
            if other.oneof == slot.oneof and other.number != slot.number and places:
                self._check(cursor, other, places)
                places.clear()

    def _check(self, cursor: ProtobufCursor, slot: plan.Slot, places: Sequence[Range]) -> None:
        after = cursor.at
        for place in places:
            self._skips[slot.shape](cursor, place)
        cursor.at = after
