"""Past values that no column takes, which must be right all the same."""

from collections.abc import Callable, Sequence
from functools import partial

from kafka2hive.pipeline.decode.protobuf.cursor import Cursor, Range, values_at
from kafka2hive.pipeline.decode.protobuf.plan import Shape
from kafka2hive.pipeline.decode.protobuf.schema import WIRE_OF

Skip = Callable[[Cursor, Range], object]
"""Past the payload of one value. Raises Refused."""


def skips(shapes: Sequence[Shape]) -> list[Skip]:
    """For each shape of a plan's table the function that goes past it; they call each other by number."""
    table: list[Skip] = []
    for kind, fields in shapes:
        if kind in ("message", "group"):
            table.append(_message(fields, shapes, table))
        else:
            table.append(partial(_scalar, kind))
    return table


def _scalar(kind: str, cursor: Cursor, place: Range) -> None:
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

    def skip(cursor: Cursor, place: Range) -> None:
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
