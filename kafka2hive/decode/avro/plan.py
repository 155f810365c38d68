"""The plan by which the exact and the compiled decoder read messages: what to do with each value, from first to last byte.

A plan follows the writer's schema. Values that no column takes are skipped by their shape, which is a row of a table, so
that recursive types need no recursive plan. The classes' names and fields are an interface of native/src/avro/words.rs.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Null:
    """A null, which has no bytes: NULL, also in all columns whose path leads on from here."""


@dataclass(frozen=True, slots=True)
class AvroBoolean:
    pass


@dataclass(frozen=True, slots=True)
class AvroWhole:
    """An int or a long (`bits` 32 or 64) to an integer, or to a float or decimal that holds it exactly."""

    bits: int


@dataclass(frozen=True, slots=True)
class AvroMoment:
    """An int or a long to a timestamp or date: number * factor // divisor microseconds, an instant or a wall clock."""

    bits: int
    factor: int
    divisor: int
    instant: bool


@dataclass(frozen=True, slots=True)
class AvroDay:
    """An int of days since 1970 to a date."""


@dataclass(frozen=True, slots=True)
class AvroReal:
    """A float or a double (`bits` 32 or 64) to either type if that holds it exactly."""

    bits: int


@dataclass(frozen=True, slots=True)
class AvroText:
    """Bytes behind their length, which must be UTF-8, to text or binary."""


@dataclass(frozen=True, slots=True)
class AvroOctets:
    """Any bytes to binary: `size` of them, or behind their length if it is None."""

    size: int | None


@dataclass(frozen=True, slots=True)
class AvroUnscaled:
    """Bytes (`size` as in AvroOctets) that are an unscaled number to a decimal."""

    size: int | None
    scale: int


@dataclass(frozen=True, slots=True)
class Uuid:
    """16 bytes to the text of a UUID."""


@dataclass(frozen=True, slots=True)
class AvroSymbol:
    """An enum to the text of its symbol."""

    symbols: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AvroElements:
    element: "Value"


@dataclass(frozen=True, slots=True)
class Entries:
    item: "Value"


@dataclass(frozen=True, slots=True)
class Step:
    """A field of a record to field number `to` of the struct; -1: no field takes it, and `value` is a Skip."""

    to: int
    value: "Value"
    name: str


@dataclass(frozen=True, slots=True)
class AvroRow:
    """A record to a struct. The struct's fields with the numbers in `absent` are NULL."""

    steps: tuple[Step, ...]
    absent: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """A union to what its branches fill."""

    branches: tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class Unfit:
    """A branch of a union that cannot fill the column: a message that has it is refused."""

    why: str


@dataclass(frozen=True, slots=True)
class Skip:
    """Skips a value. `shape`: the number of its shape in the plan's table."""

    shape: int


Value = (
    Null
    | AvroBoolean
    | AvroWhole
    | AvroMoment
    | AvroDay
    | AvroReal
    | AvroText
    | AvroOctets
    | AvroUnscaled
    | Uuid
    | AvroSymbol
    | AvroElements
    | Entries
    | AvroRow
) | (Choice | Unfit | Skip)


@dataclass(frozen=True, slots=True)
class Target:
    """A field of a record on the way to the columns.

    `columns`: numbers of the columns that take it, and how. `inner`: the way from here to other columns. A field with neither
    is skipped.
    """

    name: str
    shape: int
    columns: tuple[tuple[int, Value], ...]
    inner: "Way | None"


@dataclass(frozen=True, slots=True)
class AvroLevel:
    """A record on the way to the columns."""

    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True)
class Fork:
    """A union on the way to the columns."""

    branches: tuple["Way", ...]


Way = AvroLevel | Fork | Null | Unfit

Shape = tuple[str, tuple[int, ...]]
"""A type whose values are skipped: its name, and its size (fixed), number of symbols (enum) or the shapes in it."""


@dataclass(frozen=True, slots=True)
class AvroPlan:
    root: Way
    shapes: tuple[Shape, ...]
