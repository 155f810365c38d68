"""Where columns find their values in a message: paths of keys, and the tree of all paths that every decoder follows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from kafka2hive.config.keys.json_path import path_text
from kafka2hive.config.keys.leeway import STRICT, Leeway
from kafka2hive.decode.contract.forms import Form

Spelling = Callable[[str], str]
"""Returns a key in the spelling in which keys are compared: unchanged, or in lower case."""


class SchemaUnresolvable(ValueError):
    """No message of a schema can fill the columns. The text names a column and both types."""


class Characters(Enum):
    """The JSON values whose characters a decoder returns, for a column that reads them afterwards."""

    TIMES = "strings and whole numbers"
    TIMES_AND_ARRAYS = "the same, and arrays of whole numbers, without white space"
    NUMBERS = "numbers"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a column's value is: the path `keys`, from the message's object inward.

    `unit` (`d`, `s`, `ms`, `us` or `ns`): the value is a number of this unit since 1970 UTC; None: it is what the column's type
    says. `leeway`: what the map allows beyond the acceptance table. `form`: how the record's schema says that the value is
    written; it replaces the unit. `column` and `expects` are for the text of reasons: the
    column's name and what its values must be, if these differ from the decoder's schema; otherwise empty. `is_around`: the
    path begins at the message's object, around the array whose elements are rows. `characters`: the decoder of JSON returns
    the value as it is written.
    """

    keys: tuple[str, ...]
    unit: str | None = None
    leeway: Leeway = STRICT
    form: Form | None = None
    column: str = ""
    expects: str = ""
    is_around: bool = False
    characters: Characters | None = None


def same_name_sources(names: Sequence[str]) -> list[Source]:
    """Return sources that read each column from the key of the same name."""
    return [Source((name,)) for name in names]


def names_in_table(names: Sequence[str], sources: Sequence[Source]) -> list[str]:
    """Return the columns' names in the table."""
    return [source.column or name for name, source in zip(names, sources, strict=True)]


def labels(names: Sequence[str], sources: Sequence[Source]) -> list[str]:
    """Return the columns' names in the text of reasons: with the path if it is not just the column's name."""
    return [
        name if source.keys == (name,) else f"{name} (from {path_text(source.keys)})"
        for name, source in zip(names_in_table(names, sources), sources, strict=True)
    ]


@dataclass(slots=True)
class SourceTree:
    """A value of a message: the numbers of the `columns` that take the whole value, and by key the values within it.

    `inner` has only keys on the path to a column.
    """

    columns: list[int] = field(default_factory=list)
    inner: dict[str, "SourceTree"] = field(default_factory=dict)


def exact_spelling(key: str) -> str:
    """Return the key unchanged."""
    return key


def lower_case_spelling(key: str) -> str:
    """Return the key in lower case, to compare it with names in Hive, which are all in lower case.

    A key outside ASCII is not changed to an ASCII one (in lower case the Kelvin sign would be an ASCII k).
    """
    lower = key.lower()
    return key if lower.isascii() and not key.isascii() else lower


def matching_names(
    record: str, names: Iterable[str], wanted: Mapping[str, object], spelling: Spelling
) -> dict[str, str]:
    """Return the names of a record's fields whose key (the name in `spelling`) is in `wanted`, each with that key.

    Raises SchemaUnresolvable if two of these names have the same key, because they differ only in case.
    """
    keys = {name: key for name in names if (key := spelling(name)) in wanted}
    if len(set(keys.values())) < len(keys):
        same = sorted(name for name, key in keys.items() if list(keys.values()).count(key) > 1)
        raise SchemaUnresolvable(f"{record}: {' and '.join(same)} differ in case only")
    return keys


def source_tree(sources: Sequence[Source], spelling: Spelling) -> SourceTree:
    """Return the tree of all columns' sources, with its keys in `spelling`. The root is the message's object."""
    root = SourceTree()
    for number, source in enumerate(sources):
        node = root
        for key in source.keys:
            node = node.inner.setdefault(spelling(key), SourceTree())
        node.columns.append(number)
    return root
