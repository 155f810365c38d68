"""A writer's schema as values; named types refer to each other by name, so that they may be recursive."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decimal:
    """The logical type of bytes and fixed that are an unscaled number."""

    precision: int
    scale: int


Logical = str | Decimal | None
"""A logical type that the specification knows, on a type where it is valid; others are ignored, as it says."""


@dataclass(frozen=True, slots=True)
class Plain:
    """`null`, `boolean`, `int`, `long`, `float`, `double`, `bytes` or `string`."""

    kind: str
    logical: Logical = None


@dataclass(frozen=True, slots=True)
class Fixed:
    name: str
    size: int
    logical: Logical = None


@dataclass(frozen=True, slots=True)
class Enum:
    name: str
    symbols: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Array:
    items: "Type"


@dataclass(frozen=True, slots=True)
class Map:
    values: "Type"


@dataclass(frozen=True, slots=True)
class Union:
    branches: tuple["Type", ...]


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: "Type"


@dataclass(frozen=True, slots=True)
class Record:
    name: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """A named type by its full name."""

    name: str


Definition = Fixed | Enum | Record
Type = Plain | Fixed | Enum | Array | Map | Union | Record | Named


@dataclass(frozen=True, slots=True)
class Schema:
    """`names`: every named type that is defined in the schema or in what it refers to. `root` is no definition itself."""

    root: Type
    names: Mapping[str, Definition]

    def whole(self, written: Type) -> Type:
        """The definition behind a name; any other type as it is."""
        return self.names[written.name] if isinstance(written, Named) else written


def text_of(written: Type) -> str:
    """The type in a reason's words."""
    match written:
        case Plain(kind, logical):
            return _with_logical(kind, logical)
        case Fixed(name, size, logical):
            return _with_logical(f"fixed {name} of {size} bytes", logical)
        case Array(items):
            return f"array of {text_of(items)}"
        case Map(values):
            return f"map of {text_of(values)}"
        case Union(branches):
            return f"union of {', '.join(map(text_of, branches)) or 'nothing'}"
        case Enum(name, _):
            return f"enum {name}"
        case Record(name, _) | Named(name):
            return name


def _with_logical(kind: str, logical: Logical) -> str:
    match logical:
        case None:
            return kind
        case Decimal(precision, scale):
            return f"{kind}, decimal({precision},{scale})"
        case _:
            return f"{kind}, {logical}"
