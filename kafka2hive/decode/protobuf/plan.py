"""The plan that the exact and the compiled decoder follow: what to do with each field of a message.

A plan follows the writer's schema along the paths of columns. Fields that no column takes are skipped by their shape, an
entry of the plan's table, so recursive types need no recursive plan. native/src/protobuf/words.rs reads the names and fields
of these classes.
"""

from dataclasses import dataclass

from kafka2hive.config.keys.leeway import UnknownEnum


@dataclass(frozen=True, slots=True)
class ProtobufBoolean:
    pass


@dataclass(frozen=True, slots=True)
class ProtobufWhole:
    """Converts an integer type (`int32` .. `sfixed64`) to an integer, or to a float or decimal that holds it exactly."""

    kind: str


@dataclass(frozen=True, slots=True)
class ProtobufMoment:
    """Converts an integer that counts from 1970 UTC to a timestamp or date: number * factor // divisor microseconds."""

    kind: str
    factor: int
    divisor: int


@dataclass(frozen=True, slots=True)
class ProtobufReal:
    """Converts a float or a double (`bits` 32 or 64) to either type if that holds it exactly."""

    bits: int


@dataclass(frozen=True, slots=True)
class ProtobufText:
    """Converts a string, or bytes that must be UTF-8, to text or binary."""


@dataclass(frozen=True, slots=True)
class ProtobufOctets:
    """Converts any bytes to binary."""


@dataclass(frozen=True, slots=True)
class ProtobufSymbol:
    """Converts an enum to the name of its number; `values` (number, name) ascend. `unknown`: see Leeway."""

    values: tuple[tuple[int, str], ...]
    unknown: UnknownEnum = "refuse"


@dataclass(frozen=True, slots=True)
class Ordinal:
    """Converts an enum to an integer. `known` has the enum's numbers, ascending; it is empty if the enum is open."""

    known: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stamp:
    """Converts google.protobuf.Timestamp to a timestamp."""


@dataclass(frozen=True, slots=True)
class ProtobufSpan:
    """Converts google.protobuf.Duration to a decimal of seconds."""


@dataclass(frozen=True, slots=True)
class ProtobufUnscaled:
    """Converts confluent.type.Decimal, an unscaled number and its scale, to a decimal."""


@dataclass(frozen=True, slots=True)
class ProtobufDay:
    """Converts google.type.Date to a date."""


@dataclass(frozen=True, slots=True)
class Wrapped:
    """Converts a message of google/protobuf/wrappers.proto as `value` does its only field; `default` is as in Slot."""

    value: "Value"
    wire: int
    default: bytes


@dataclass(frozen=True, slots=True)
class ProtobufRow:
    """Converts a message to a struct; the columns of `level` are the struct's fields."""

    level: "ProtobufLevel"


@dataclass(frozen=True, slots=True)
class JsonForm:
    """A type that becomes JSON. `style`: how a message is spelled, see texts.py. `symbols`: an enum's numbers and names."""

    kind: str
    style: str = ""
    fields: tuple["JsonField", ...] = ()
    symbols: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class JsonField:
    """A field that becomes JSON. `form`: the number of its type's form in the plan's table, for a map that of its entries."""

    slot: "Slot"
    form: int


@dataclass(frozen=True, slots=True)
class ProtobufJson:
    """Converts all values of a field to JSON text. `is_sorted`: keys are sorted."""

    field: JsonField
    is_sorted: bool


Value = (
    ProtobufBoolean
    | ProtobufWhole
    | ProtobufMoment
    | ProtobufReal
    | ProtobufText
    | ProtobufOctets
    | ProtobufSymbol
    | Ordinal
    | Stamp
    | ProtobufSpan
    | ProtobufUnscaled
    | ProtobufDay
    | Wrapped
    | ProtobufRow
    | ProtobufJson
)


@dataclass(frozen=True, slots=True)
class Entry:
    """The entries of a map: the key's type, and the value as in Slot."""

    key: str
    value: Value
    wire: int
    default: bytes


@dataclass(frozen=True, slots=True)
class Slot:
    """A field of a message.

    `columns`: the numbers of the columns that take the field, and how they are filled. `inner`: leads on to columns within the
    field. A field with neither is skipped. `label`: as in ProtobufField, or `map`, whose columns take an Entry. `wire`: the wire
    type of one value.
    `default`: the payload of an absent field whose label is `implicit`. `oneof`: the number of its oneof, or -1.
    """

    number: int
    name: str
    label: str
    wire: int
    default: bytes
    oneof: int
    shape: int
    columns: tuple[tuple[int, "Value | Entry"], ...]
    inner: "ProtobufLevel | None"


@dataclass(frozen=True, slots=True)
class ProtobufLevel:
    """A message on the path to columns, or a message that becomes a struct. `slots`: all its fields, ascending by number.

    `absent`: numbers of the struct's fields that are NULL in every message.
    """

    slots: tuple[Slot, ...]
    absent: tuple[int, ...]


Shape = tuple[str, tuple[tuple[int, bool, int], ...]]
"""A field's type; for a message or group also its fields: number, whether it is repeated, number of its shape."""


@dataclass(frozen=True, slots=True)
class ProtobufPlan:
    """`forms`: of types that become JSON texts. `whole`: the columns that take the whole message."""

    root: ProtobufLevel
    shapes: tuple[Shape, ...]
    forms: tuple[JsonForm, ...] = ()
    whole: tuple[tuple[int, ProtobufJson], ...] = ()
