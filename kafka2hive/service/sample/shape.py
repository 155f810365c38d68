"""What stood at each place of the sampled JSON documents. Pure."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from kafka2hive.pipeline.decode.exact.json_values import Refused
from kafka2hive.pipeline.decode.exact.takers import taker
from kafka2hive.pipeline.wall_clock import NAIVE

_DAY, _TIME = taker(pa.date32(), "UTC"), taker(NAIVE, "UTC")
_MAY_BE_A_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(slots=True)
class Shape:
    """The values seen at one place. `kinds`: boolean, whole, fraction, string, date, timestamp, object, array.

    `low` and `high`: of the whole numbers; `thousands`: all of them are whole thousands.
    `members`: of the objects. `elements`: of all arrays together.
    """

    nulls: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    low: int = 0
    high: int = 0
    thousands: bool = True
    members: "dict[str, Shape]" = field(default_factory=dict)
    elements: "Shape | None" = None

    @property
    def filled(self) -> int:
        """Values other than null."""
        return self.kinds.total()

    def add(self, value: Any) -> None:
        if value is None:
            self.nulls += 1
            return
        kind = _kind(value)
        if kind == "whole":
            self.low = min(value, self.low) if self.kinds[kind] else value
            self.high = max(value, self.high) if self.kinds[kind] else value
            self.thousands = self.thousands and value % 1000 == 0
        elif kind == "object":
            for key, inner in value.items():
                self.members.setdefault(key, Shape()).add(inner)
        elif kind == "array":
            self.elements = self.elements or Shape()
            for inner in value:
                self.elements.add(inner)
        self.kinds[kind] += 1


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "whole"
        case float():
            return "fraction"
        case str():
            return kind_of_text(value)
        case dict():
            return "object"
        case _:
            return "array"


def kind_of_text(text: str) -> str:
    if _MAY_BE_A_DAY.match(text):
        for kind, take in (("date", _DAY), ("timestamp", _TIME)):
            try:
                take(text, "")
            except Refused:
                continue
            return kind
    return "string"


def united(shapes: Iterable[Shape]) -> Shape:
    """One shape of the values of all of them."""
    whole = Shape()
    for shape in shapes:
        if shape.kinds["whole"]:
            seen = whole.kinds["whole"]
            whole.low = min(whole.low, shape.low) if seen else shape.low
            whole.high = max(whole.high, shape.high) if seen else shape.high
        whole.thousands = whole.thousands and shape.thousands
        whole.nulls += shape.nulls
        whole.kinds += shape.kinds
        inner = [s for s in (whole.elements, shape.elements) if s is not None]
        whole.elements = united(inner) if inner else None
        for key, member in shape.members.items():
            mine = whole.members.get(key)
            whole.members[key] = member if mine is None else united((mine, member))
    return whole
