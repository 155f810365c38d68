"""The plan that the exact and the compiled decoder follow: what to do with each value of a message, in its byte order.

A plan follows the writer's schema. Values that no column takes are skipped by their shape, an entry of the plan's table, so
recursive types need no recursive plan. native/src/avro/words.rs reads the names and fields of these classes.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Null:
    """A null, which has no bytes: the column is NULL, and so are all columns whose paths lead through this value."""


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
    """A length and that many bytes, which must be UTF-8, to text or binary."""


@dataclass(frozen=True, slots=True)
class AvroOctets:
    """Any bytes to binary: `size` of them; if it is None, a length comes before them."""

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
    """A union to a column that its branches fill, each by its own plan."""

    branches: tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class Unfit:
    """A branch of a union that cannot fill the column: a message that has it is refused."""

    why: str


@dataclass(frozen=True, slots=True)
class AvroJson:
    """Any value to its JSON text. `form`: the number of its form in the plan's table. `is_sorted`: keys are sorted."""

    form: int
    is_sorted: bool


@dataclass(frozen=True, slots=True)
class AvroRaw:
    """Any value to its bytes. `shape`: the number of its shape in the plan's table."""

    shape: int


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
) | (Choice | Unfit | Skip | AvroJson | AvroRaw)


@dataclass(frozen=True, slots=True)
class Target:
    """A field of a record on the path to columns.

    `columns`: the numbers of the columns that take the field, and how they are filled. `inner`: leads on to columns within the
    field. A field with neither is skipped.
    """

    name: str
    shape: int
    columns: tuple[tuple[int, Value], ...]
    inner: "Node | None"


@dataclass(frozen=True, slots=True)
class AvroLevel:
    """A record on the path to columns."""

    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True)
class Fork:
    """A union on the path to columns."""

    branches: tuple["Node", ...]


Node = AvroLevel | Fork | Null | Unfit
"""A value on the path to columns."""

Shape = tuple[str, tuple[int, ...]]
"""A type whose values are skipped: its name, and its size (fixed), number of symbols (enum) or the shapes in it."""


Form = tuple[str, tuple[int, ...], tuple[str, ...]]
"""A type that becomes JSON: its name, with numbers (sizes, scales, the forms in it) and names (symbols, fields); see texts.py."""


@dataclass(frozen=True, slots=True)
class AvroPlan:
    """`forms`: of types that become JSON texts. `whole`: the columns that take the whole message, and how they are filled."""

    root: Node
    shapes: tuple[Shape, ...]
    forms: tuple[Form, ...] = ()
    whole: tuple[tuple[int, Value], ...] = ()
