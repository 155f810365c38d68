"""Kinds of lines in a snapshot's text. A line is a tag and a JSON object that holds a value. lines.py declares the kinds."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter, itemgetter
from types import NoneType
from typing import Any, get_args

from kafka2hive.model.offsets import OffsetRange, TopicPartition


class Life(Enum):
    """How long a line holds."""

    EPOCH = "this epoch"
    STATE = "until it changes"
    CUMULATIVE = "forever"  # a snapshot repeats the lines of the one before it, and appends its own


@dataclass(frozen=True, slots=True)
class Field:
    """A member of the JSON object. `path` is the value's attribute with the content, such as `partition.path`.

    The default of `path` is `name`. A member that came in a later format (`since`) than its line is written only if its content
    is not 0 or empty; the snapshot then has at least the format `since`, unless older programs may ignore the member.
    """

    name: str
    path: str = ""
    since: int = 1
    may_be_ignored: bool = False

    @property
    def source(self) -> str:
        return self.path or self.name


class Line:
    """One kind of line. The snapshot's `attribute` has the values, or the only value if `is_single`.

    `doc` and `note` are for docs/protocol.md. `since` is the first format with this kind of line.
    """

    def __init__(
        self,
        tag: str,
        value: type,
        *members: Field,
        attribute: str,
        life: Life,
        doc: str,
        note: str = "",
        since: int = 1,
        is_single: bool = False,
    ) -> None:
        self.tag, self.attribute, self.life = tag, attribute, life
        self.doc, self.note, self.since, self.is_single = doc, note, since, is_single
        self.fields = tuple(f for f in members if f.since <= since)
        self.later_fields = tuple(f for f in members if f.since > since)
        self._names = tuple(f.name for f in self.fields)
        self._contents = attrgetter(*(f.source for f in self.fields))
        self._members = itemgetter(*self._names)
        forms = [_form(value, f.source) for f in self.fields]
        self._types = tuple(form.types for form in forms)
        self._usual = tuple(types[0] for types in self._types)
        self._forms = [(at, form) for at, form in enumerate(forms) if form.read is not _same]
        self._value = value
        self._later_types = {f.name: _type_of_content(value, f.source) for f in self.later_fields}
        *self._inner, self._outer = _parts(value, [f.source for f in (*self.fields, *self.later_fields)])

    def write(self, value: Any) -> dict[str, Any]:
        """Return the JSON object for a value."""
        row = dict(zip(self._names, self._contents(value), strict=True))
        for at, form in self._forms:
            row[self._names[at]] = form.write(row[self._names[at]])
        for later in self.later_fields:
            if content := attrgetter(later.source)(value):
                row[later.name] = content
        return row

    def format_of(self, value: Any) -> int:
        """Return the oldest format whose readers understand this line."""
        needed = (field for field in self.later_fields if not field.may_be_ignored)
        return max([self.since, *(field.since for field in needed if attrgetter(field.source)(value))])

    def read(self, row: Any) -> Any:
        """Return the value of a JSON object. Raises KeyError, TypeError or ValueError if the line is damaged."""
        return self._value(**self.arguments(row))

    def arguments(self, row: Any) -> dict[str, Any]:
        """Return the arguments of the value's constructor. Raises as `read` does."""
        contents = self._members(row)
        if tuple(map(type, contents)) != self._usual:
            self._check(contents)
        contents = [*contents, *[self._later(row, f) for f in self.later_fields]]
        for at, form in self._forms:
            contents[at] = form.read(contents[at])
        for part in self._inner:
            contents.append(part.value(**part.arguments(contents)))
        return self._outer.arguments(contents)

    def _later(self, row: Any, field: Field) -> int | str:
        usual = self._later_types[field.name]
        content: int | str = row.get(field.name, usual())
        if type(content) is not usual:
            raise ValueError(f"{self.tag}: {field.name} is {content!r}")
        return content

    def _check(self, contents: Sequence[Any]) -> None:
        for name, content, types in zip(self._names, contents, self._types, strict=True):
            if type(content) not in types:
                raise ValueError(f"{self.tag}: {name} is {content!r}")


def _same(content: Any) -> Any:
    return content


@dataclass(frozen=True, slots=True)
class _Form:
    """The JSON types that a content may have, and its conversions from and to JSON."""

    types: tuple[type, ...]
    read: Callable[[Any], Any] = _same
    write: Callable[[Any], Any] = _same


def _form(value: type, source: str) -> _Form:
    hint = _type_of_content(value, source)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _Form((str,), hint, attrgetter("value"))
    if hint == tuple[OffsetRange, ...]:
        return _Form((list,), _read_ranges, _write_ranges)
    types = get_args(hint) or (hint,)
    if not {*types} <= {str, int, NoneType}:
        raise TypeError(f"{value.__name__}.{source}: a snapshot cannot hold {hint}")
    return _Form(types)


def _type_of_content(value: type, source: str) -> Any:
    hint: Any = value
    for name in source.split("."):
        hint = _type_of(hint, name)
    return hint


def _type_of(owner: type, name: str) -> Any:
    annotations = map(inspect.get_annotations, owner.__mro__)
    return next(types[name] for types in annotations if name in types)


@dataclass(frozen=True, slots=True)
class _Part:
    """A value to construct: the names of its attributes, and the function that picks them from the contents."""

    value: type
    names: tuple[str, ...]
    choose: Callable[[Sequence[Any]], tuple[Any, ...]]

    def arguments(self, contents: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(self.names, self.choose(contents), strict=True))


def _parts(value: type, sources: Sequence[str]) -> list[_Part]:
    """Return the parts, innermost first. Each part is constructed from the contents and appended to them; the last is `value`."""
    parts: list[_Part] = []

    def add(owner: type, paths: Sequence[tuple[str, int]]) -> None:
        indexes: dict[str, int] = {}
        for name in dict.fromkeys(path.partition(".")[0] for path, _ in paths):
            below = [(path.partition(".")[2], at) for path, at in paths if path.partition(".")[0] == name]
            if below[0][0]:
                add(_type_of(owner, name), below)
                indexes[name] = len(sources) + len(parts) - 1
            else:
                indexes[name] = below[0][1]
        parts.append(_Part(owner, tuple(indexes), itemgetter(*indexes.values())))

    add(value, [(source, at) for at, source in enumerate(sources)])
    return parts


def partition_fields(prefix: str) -> tuple[Field, ...]:
    """Return the fields of a Hive partition. `prefix` is its attribute with a dot, "" if the value itself is the partition."""
    return (
        Field("table", f"{prefix}table"),
        Field("partition", f"{prefix}path"),
        Field("location", f"{prefix}location"),
    )


def _write_ranges(ranges: tuple[OffsetRange, ...]) -> list[list[Any]]:
    return [[r.topic_partition.topic, r.topic_partition.number, r.start, r.end] for r in ranges]


def _read_ranges(rows: list[list[Any]]) -> tuple[OffsetRange, ...]:
    return tuple(map(_read_range, rows))


def _read_range(row: list[Any]) -> OffsetRange:
    topic, number, start, end = row
    if (type(topic), type(number), type(start), type(end)) != (str, int, int, int):
        raise ValueError(f"file: a range is {row!r}")
    return OffsetRange(TopicPartition(topic, number), start, end)
