"""The keys that a class of values declares: read off its fields, for whoever checks or describes a map."""

import dataclasses
import typing
from dataclasses import MISSING, dataclass
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin

from kafka2hive.config.values.key import LEFT_OUT, FurtherKeys, Key

Mark = TypeVar("Mark")


@dataclass(frozen=True, slots=True)
class DeclaredKey:
    """`name` in the map, `field` of the value; `default` is MISSING where the key is required."""

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
    """By their names in the map, in the order of the fields."""
    hints = typing.get_type_hints(section, include_extras=True)
    declared = {}
    for field in dataclasses.fields(section):
        for key in marks(hints[field.name], Key):
            default = LEFT_OUT if key.derived else field.default
            name = key.name or field.name
            declared[name] = DeclaredKey(
                name=name, field=field.name, type=hints[field.name], default=default, key=key
            )
    return declared


@dataclass(frozen=True, slots=True)
class DeclaredFurther:
    """The `field` that holds all keys without a field of their own; `first` is the required one."""

    field: str
    type: Any
    first: str
    first_type: Any
    doc: str
    others: str


@cache
def further_keys(section: type) -> DeclaredFurther | None:
    """None where the section is closed."""
    for name, hint in typing.get_type_hints(section, include_extras=True).items():
        for mark in marks(hint, FurtherKeys):
            return DeclaredFurther(
                field=name,
                type=hint,
                first=mark.first,
                first_type=mark.type,
                doc=mark.doc,
                others=mark.others,
            )
    return None


def marks(hint: Any, kind: type[Mark]) -> list[Mark]:
    """What is annotated to a type."""
    parts = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return [mark for mark in parts if isinstance(mark, kind)]


def key_names(section: type) -> list[str]:
    """All keys that are known by name."""
    further = further_keys(section)
    return [*([further.first] if further else []), *declared_keys(section)]
