"""What is done with each value of a message, from the first byte to the last: the one plan of both ways to decode.

A plan follows the writer's schema. Values that no column takes are gone past by their shape, a row of a table, so that
recursive types need no recursive plan.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Null:
    """No bytes; NULL, also in all columns on a path that ends here."""


@dataclass(frozen=True, slots=True)
class AvroBoolean:
    pass


@dataclass(frozen=True, slots=True)
class AvroWhole:
    """An int or a long (`bits` 32 or 64) into integers, and where it is exact into floats and decimals."""

    bits: int


@dataclass(frozen=True, slots=True)
class AvroMoment:
    """A number of which microseconds are number * factor // divisor; an instant, or already a wall clock."""

    bits: int
    factor: int
    divisor: int
    instant: bool


@dataclass(frozen=True, slots=True)
class AvroDay:
    """Days from 1970."""


@dataclass(frozen=True, slots=True)
class AvroReal:
    """A float or a double (`bits` 32 or 64) into either, where it is exact."""

    bits: int


@dataclass(frozen=True, slots=True)
class AvroText:
    """Bytes behind their length, which are UTF-8."""


@dataclass(frozen=True, slots=True)
class AvroOctets:
    """Any bytes, behind their length (`size` None) or as many as `size` says."""

    size: int | None


@dataclass(frozen=True, slots=True)
class AvroUnscaled:
    """The bytes of a decimal; `size` as above."""

    size: int | None
    scale: int


@dataclass(frozen=True, slots=True)
class Uuid:
    """16 bytes into their text."""


@dataclass(frozen=True, slots=True)
class AvroSymbol:
    """An enum into the text of its symbol."""

    symbols: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AvroElements:
    element: "Value"


@dataclass(frozen=True, slots=True)
class Entries:
    item: "Value"


@dataclass(frozen=True, slots=True)
class Step:
    """A field of a record into the struct's field of this number; -1: `value` is a Skip."""

    to: int
    value: "Value"
    name: str


@dataclass(frozen=True, slots=True)
class AvroRow:
    """A record into a struct, whose `absent` fields are NULL."""

    steps: tuple[Step, ...]
    absent: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """A union."""

    branches: tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class Unfit:
    """A branch of a union that cannot fill the column."""

    why: str


@dataclass(frozen=True, slots=True)
class Skip:
    """Past a value of this shape (its number in the plan's table)."""

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
    """A field of a record on the way to the columns: taken by each of `columns` (number, how), then looked into.

    Without columns, `inner` is None: past it.
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
"""A type whose values are gone past: its word, and its size (fixed), symbols (enum) or the shapes within it."""


@dataclass(frozen=True, slots=True)
class AvroPlan:
    root: Way
    shapes: tuple[Shape, ...]
