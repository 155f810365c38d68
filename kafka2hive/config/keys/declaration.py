"""Declare keys of the map: name, description and bounds are annotations of the field that holds the value."""

import dataclasses
import re
import typing
from collections.abc import Callable, Sized
from dataclasses import MISSING, dataclass
from functools import cache
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin

from kafka2hive.config.keys.units import (
    DURATION_PATTERN,
    SIZE_PATTERN,
    WINDOW_PATTERN,
    Window,
    duration_text,
    parse_duration,
    parse_size,
    parse_window,
    size_text,
    window_text,
)


class _Unset(str):
    __slots__ = ()


UNSET: Final[Any] = _Unset()
"""The value of a `derived` key that is not in the map, until `config.build` decides it from other keys."""


@dataclass(frozen=True, slots=True)
class FurtherKeys:
    """The field holds, as pairs, all keys that have no field. The key `first` is required and of type `type`.

    `others` describes the other keys.
    """

    first: str
    type: Any
    doc: str
    others: str


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """How a value is written in the map. `read` raises ValueError with what it expects; `write` returns a default's text."""

    read: Callable[[object], object]
    schema: dict[str, object]
    write: Callable[[Any], object] = str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Bounds of a number, of the length of a string or list (`shortest`), or of a string (`pattern`, described by `expected`)."""

    above: int | None = None
    at_least: int | None = None
    at_most: int | None = None
    shortest: int | None = None
    pattern: str = ""
    expected: str = ""

    def fault(self, value: Any) -> str:
        """Return what is wrong with a value of the right type, or an empty string if it is valid."""
        if self.above is not None and not value > self.above:
            return f"input should be greater than {self.above}"
        if self.at_least is not None and not value >= self.at_least:
            return f"input should be greater than or equal to {self.at_least}"
        if self.at_most is not None and not value <= self.at_most:
            return f"input should be less than or equal to {self.at_most}"
        if self.shortest is not None and len(value) < self.shortest:
            return _too_short(value, self.shortest)
        if self.pattern and not re.fullmatch(self.pattern, value):
            return self.expected
        return ""


@dataclass(frozen=True, slots=True)
class Key(Bounds):
    """The description of a key for the documents and for editors, in Markdown; by default the section's docstring.

    Only editors show `more`, because the page has a section for it. `otherwise` describes the default, and `written` the
    type, if the field does not show them. `example` is a value in YAML, which errors show if the value has another form;
    each list and mapping has one. `name` is the key's name if it differs from the field's. A `derived` key that the map
    leaves out gets a value that depends on other keys.

    `change` decides what a reload of the map does with another value: IN_PLACE, or the reason why it needs a restart. None
    leaves the decision to the keys of the section, or to the key that holds the section.
    """

    doc: str = ""
    more: str = ""
    written: str = ""
    otherwise: str = ""
    example: str = ""
    name: str = ""
    derived: bool = False
    change: str | None = None


IN_PLACE = ""
"""The decision that a reload carries a changed key out, without a restart."""


def _too_short(value: Sized, shortest: int) -> str:
    if shortest == 1:
        return "must not be empty"
    return f"must have at least {shortest} {'characters' if isinstance(value, str) else 'items'}"


class FractionNumber(float):
    """A number with a decimal point in the map, and the `text` of it, whose digits a double may not hold."""

    text: str

    def __new__(cls, text: str) -> "FractionNumber":
        number = super().__new__(cls, text)
        number.text = text
        return number


def _property_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError("expected a string, a number or true/false")


_SIZE_SCHEMA: dict[str, object] = {
    "anyOf": [{"type": "string", "pattern": SIZE_PATTERN}, {"type": "integer", "minimum": 1}],
    "examples": ["128MiB"],
}
_WINDOW_SCHEMA: dict[str, object] = {"type": "string", "pattern": WINDOW_PATTERN, "examples": ["01:00-06:00"]}
_DURATION_SCHEMA: dict[str, object] = {"type": "string", "pattern": DURATION_PATTERN, "examples": ["60s"]}

Size = Annotated[int, Form(parse_size, _SIZE_SCHEMA, size_text), Bounds(above=0)]
Duration = Annotated[float, Form(parse_duration, _DURATION_SCHEMA, duration_text), Bounds(above=0)]
DailyWindow = Annotated[Window, Form(parse_window, _WINDOW_SCHEMA, window_text)]
PropertyText = Annotated[str, Form(_property_text, {"type": ["string", "number", "boolean"]})]
Properties = tuple[tuple[str, PropertyText], ...]
"""Properties of Kafka, Hadoop or Spark: a mapping in the map, pairs in the value."""

Mark = TypeVar("Mark")


@dataclass(frozen=True, slots=True)
class DeclaredKey:
    """A key: its `name` in the map, its `field`; `default` is MISSING if the key is required."""

    name: str
    field: str
    type: Any
    default: Any
    key: Key

    @property
    def is_required(self) -> bool:
        return self.default is MISSING


@cache
def declared_keys(section: type) -> dict[str, DeclaredKey]:
    """Return the keys of a section by their names in the map, in the order of the fields."""
    hints = typing.get_type_hints(section, include_extras=True)
    declared = {}
    for field in dataclasses.fields(section):
        for key in marks(hints[field.name], Key):
            default = UNSET if key.derived else field.default
            name = key.name or field.name
            declared[name] = DeclaredKey(
                name=name, field=field.name, type=hints[field.name], default=default, key=key
            )
    return declared


@dataclass(frozen=True, slots=True)
class DeclaredFurtherKeys:
    """A field marked with FurtherKeys: its name `field`, and the key `first`, which is required."""

    field: str
    type: Any
    first: str
    first_type: Any
    doc: str
    others: str


@cache
def further_keys(section: type) -> DeclaredFurtherKeys | None:
    """Return the field for further keys, None if the section has none."""
    for name, hint in typing.get_type_hints(section, include_extras=True).items():
        for mark in marks(hint, FurtherKeys):
            return DeclaredFurtherKeys(
                field=name,
                type=hint,
                first=mark.first,
                first_type=mark.type,
                doc=mark.doc,
                others=mark.others,
            )
    return None


def marks(hint: Any, kind: type[Mark]) -> list[Mark]:
    """Return the annotations of one kind."""
    parts = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return [mark for mark in parts if isinstance(mark, kind)]


def key_names(section: type) -> list[str]:
    """Return the names of all keys that are declared."""
    further = further_keys(section)
    return [*([further.first] if further else []), *declared_keys(section)]
