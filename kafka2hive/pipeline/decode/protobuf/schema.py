"""A writer's schema as values; messages and enums refer to each other by full name, so that they may be recursive."""

from collections.abc import Mapping
from dataclasses import dataclass

VARINT, FIXED64, LENGTH, START, END, FIXED32 = range(6)
"""Wire types."""

WIRE_OF = {
    **dict.fromkeys(("int32", "int64", "uint32", "uint64", "sint32", "sint64", "bool", "enum"), VARINT),
    **dict.fromkeys(("fixed64", "sfixed64", "double"), FIXED64),
    **dict.fromkeys(("fixed32", "sfixed32", "float"), FIXED32),
    **dict.fromkeys(("string", "bytes", "message"), LENGTH),
    "group": START,
}
"""Of every kind of field."""


@dataclass(frozen=True, slots=True)
class Field:
    """`kind`: a key of WIRE_OF. `label`: `optional` (its presence is known), `implicit`, `required`, or `repeated`.

    `type`: the full name of its message or enum, else empty. `oneof`: the name of the oneof it is a member of, else empty.
    """

    number: int
    name: str
    kind: str
    label: str
    type: str = ""
    oneof: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """`fields` ascend by their numbers. `is_entry`: the message of a map's entries."""

    name: str
    fields: tuple[Field, ...]
    is_entry: bool = False


@dataclass(frozen=True, slots=True)
class Enum:
    """`values`: numbers and names as they are declared; of two names of one number the first counts.

    `closed`: there are no other numbers.
    """

    name: str
    values: tuple[tuple[int, str], ...]
    closed: bool


@dataclass(frozen=True, slots=True)
class Declared:
    """A message type in the order of its file, and those that are declared within it."""

    name: str
    is_entry: bool
    inner: tuple["Declared", ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """`declared`: of the schema's own file."""

    messages: Mapping[str, Message]
    enums: Mapping[str, Enum]
    declared: tuple[Declared, ...]


def text_of(field: Field) -> str:
    """The type in a reason's words."""
    kind = f"{field.kind} {field.type}" if field.type else field.kind
    return f"repeated {kind}" if field.label == "repeated" else kind
