"""What is done with each field of a message: the one plan of both ways to decode.

A plan follows the writer's schema as far as columns lead into it. Fields that no column takes are gone past by their
shape, a row of a table, so that recursive types need no recursive plan.
"""

from dataclasses import dataclass

from kafka2hive.config.keys.columns import UnknownEnum


@dataclass(frozen=True, slots=True)
class ProtobufBoolean:
    pass


@dataclass(frozen=True, slots=True)
class ProtobufWhole:
    """A number of this kind (`int32` .. `sfixed64`) into integers, and where it is exact into floats and decimals."""

    kind: str


@dataclass(frozen=True, slots=True)
class ProtobufMoment:
    """A number that counts from 1970 UTC; microseconds are number * factor // divisor."""

    kind: str
    factor: int
    divisor: int


@dataclass(frozen=True, slots=True)
class ProtobufReal:
    """A float or a double (`bits` 32 or 64) into either, where it is exact."""

    bits: int


@dataclass(frozen=True, slots=True)
class ProtobufText:
    """Bytes that are UTF-8."""


@dataclass(frozen=True, slots=True)
class ProtobufOctets:
    """Any bytes."""


@dataclass(frozen=True, slots=True)
class ProtobufSymbol:
    """An enum into the name of its number; `values` ascend. `unknown`: see Leeway."""

    values: tuple[tuple[int, str], ...]
    unknown: UnknownEnum = "refuse"


@dataclass(frozen=True, slots=True)
class Ordinal:
    """An enum into integers; `known` ascends, and is empty where the enum is open."""

    known: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stamp:
    """google.protobuf.Timestamp into a timestamp."""


@dataclass(frozen=True, slots=True)
class ProtobufSpan:
    """google.protobuf.Duration into a decimal of seconds."""


@dataclass(frozen=True, slots=True)
class ProtobufUnscaled:
    """confluent.type.Decimal into a decimal: its bytes at its own scale."""


@dataclass(frozen=True, slots=True)
class ProtobufDay:
    """google.type.Date into a date."""


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A message of google/protobuf/wrappers.proto into what its only field fills; `default` as a slot's."""

    value: "Value"
    wire: int
    default: bytes


@dataclass(frozen=True, slots=True)
class ProtobufRow:
    """A message into a struct; the columns of `level` are the struct's fields."""

    level: "ProtobufLevel"


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
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A map's entries: the key's kind, and the slot of the value."""

    key: str
    value: Value
    wire: int
    default: bytes


@dataclass(frozen=True, slots=True)
class Slot:
    """A field of a message, taken by each of `columns` (number, how), then looked into; without either gone past.

    `label` as of the schema's field, or `map`, whose columns take an Entry. `wire`: of one value. `default`: the payload of
    the value that an absent implicit field has. `oneof`: the number of its oneof in the message, or -1.
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
    """A message on the way to the columns, or into a struct. `slots`: all its fields, by ascending number.

    `absent`: the struct's fields that are NULL in every message.
    """

    slots: tuple[Slot, ...]
    absent: tuple[int, ...]


Shape = tuple[str, tuple[tuple[int, bool, int], ...]]
"""A kind of field; of a message or group its fields: number, whether repeated, shape."""


@dataclass(frozen=True, slots=True)
class ProtobufPlan:
    root: ProtobufLevel
    shapes: tuple[Shape, ...]
