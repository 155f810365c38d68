"""The columns of a table for documents of a shape: names, types, paths, and notes for the map's reader. Pure."""

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import accumulate

from kafka2hive.config.keys.json_path import MOST_STEPS, path_text
from kafka2hive.model.hive_type_parser import MAX_NESTING
from kafka2hive.model.text import counted
from kafka2hive.schema_evolution.fields import WriterField
from kafka2hive.service.draft.documents import DocumentShape, merge
from kafka2hive.service.draft.loose_columns import TEXT_FORMS, loose_column, number_type
from kafka2hive.service.draft.map_text import DraftColumn
from kafka2hive.service.draft.times import time_column

_COLUMN = re.compile(r"[A-Za-z0-9_]{1,120}")
_FIELD = re.compile(r"[A-Za-z0-9_$]+")
_MANY_KEYS = 24
"""An object with more distinct keys than this, most of them rare, is a map whose keys are data."""
_TIME_NAME = re.compile(r"(^|_)(at|ts|time|timestamp|date|datetime|epoch|millis|ms|created|updated|when)$")
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_FIRST_SECOND, _LAST_SECOND = 946_684_800, 4_102_444_800  # the years 2000 to 2100


_FAMILY = {
    "whole": "number",
    "point": "number",
    "fraction": "number",
    "non_finite": "number",
    **dict.fromkeys(("string", "date", "timestamp", "finer"), "text"),
    **dict.fromkeys(TEXT_FORMS, "text"),
}
ANY_JSON = "json: text"
_ALWAYS_NULL = "is always null"
"""In the note on a field that needs no column."""
_MIXED = 0.05
"""From this share of values of other kinds on, a column takes all of them as texts."""
_RARE = 0.02
"""The largest share of texts of another kind that does not make a string of a column of dates or timestamps."""


class Names:
    """Names for columns that Hive accepts; adds a note for each key whose name differs from another name only in case."""

    def __init__(self, notes: list[str]) -> None:
        self._notes = notes
        self._paths: dict[str, str] = {}

    def name(self, keys: tuple[str, ...]) -> str:
        """Return a new name for the path `keys`: the key itself if Hive accepts it, otherwise one made of the path."""
        wish = keys[-1] if len(keys) == 1 and _COLUMN.fullmatch(keys[0]) else _plain("_".join(keys))
        name = free_name(wish, self._paths)
        if name != wish:
            other = self._paths[wish.lower()]
            self._notes.append(f"{path_text(keys)} and {other} are one name to Hive: {name} takes the former")
        self._paths[name.lower()] = path_text(keys)
        return name


def free_name(wish: str, names: Container[str]) -> str:
    """Return `wish`, with a number after it if Hive would take it for one of `names`, which are in lower case."""
    name, number = wish, 1
    while name.lower() in names:
        number += 1
        name = f"{wish}_{number}"
    return name


class Columns:
    """The columns for documents of a shape, and notes on fields that are left out or need a decision."""

    def __init__(self, documents: DocumentShape) -> None:
        self.notes: list[str] = []
        self._names = Names(self.notes)
        self.columns = tuple(self._of_members(documents, ()))

    def _of_members(self, shape: DocumentShape, keys: tuple[str, ...]) -> Iterator[DraftColumn]:
        for key, member in shape.members.items():
            yield from self._of(member, (*keys, key))

    def _of(self, shape: DocumentShape, keys: tuple[str, ...]) -> Iterator[DraftColumn]:
        if "" in keys or len(keys) > MOST_STEPS:
            self.notes.append(
                f"{path_text(keys)} cannot be a path: left out, but from: $ with json: text keeps the whole message"
            )
            return
        if set(shape.kinds) == {"object"} and not _is_map(shape) and not _is_struct(shape):
            # Hive's structs cannot have such keys, but columns can read them
            yield from self._of_members(shape, keys)
            return
        is_named_time = _TIME_NAME.search(_plain(keys[-1])) is not None
        if times := time_column(shape.forms, shape.kinds, path_text(keys), is_named_time):
            self.notes.append(times.note)
            yield DraftColumn(self._names.name(keys), times.type, keys, unit=times.unit, leeway=times.leeway)
            return
        if loose := loose_column(shape):
            self.notes += loose.notes(path_text(keys))
            yield DraftColumn(self._names.name(keys), loose.type, keys, leeway=loose.keys)
            return
        if mixture := _mixture(shape, path_text(keys)):
            self.notes.append(f"{mixture}: json: text keeps each as its text, for get_json_object")
            yield DraftColumn(self._names.name(keys), "string", keys, leeway=(ANY_JSON,))
            return
        counts = _counts(shape)
        unit = counts if counts != "d" and _TIME_NAME.search(_plain(keys[-1])) else None
        if unit == "ns" and not shape.thousands:
            self.notes.append(
                f"{path_text(keys)} counts nanoseconds, but a timestamp has microseconds:"
                " type: timestamp, unit: ns, fraction: truncate cuts them off"
            )
            unit = None
        kind = "timestamp" if unit else self._type(shape, path_text(keys))
        if kind is not None and kind.count("<") > MAX_NESTING and _nesting(kind) > MAX_NESTING:
            self.notes.append(
                f"{path_text(keys)} nests more than {MAX_NESTING} deep, but Hive's types cannot: json: text keeps it as its text"
            )
            yield DraftColumn(self._names.name(keys), "string", keys, leeway=(ANY_JSON,))
        elif kind is not None:
            yield DraftColumn(name=self._names.name(keys), type=kind, keys=keys, unit=unit, counts=counts)

    def _type(self, shape: DocumentShape, place: str) -> str | None:
        """Return Hive's type of most values, or None if none fits; notes name the values that become dead letters."""
        kinds = shape.kinds
        if not kinds:
            self.notes.append(f"{place} is null in every record: left out")
            return None
        families = _families(shape)
        most = max(families, key=lambda family: families[family])
        if len(families) > 1:
            self.notes.append(f"{_kinds_text(place, families)}: all but the {most}s become dead letters")
        match most:
            case "number":
                return number_type(shape)
            case "text":
                return self._text(shape, place)
            case "object":
                return self._object(shape, place)
            case "array":
                inner = None if shape.elements is None else self._type(shape.elements, f"{place}[]")
                return None if inner is None else f"array<{inner}>"
            case _:
                return most

    def _text(self, shape: DocumentShape, place: str) -> str:
        """Return the type of texts; it is `string` unless nearly all are dates or timestamps. Notes name the other texts."""
        count = {kind: shape.kinds[kind] for kind in ("date", "timestamp", "finer", "string")}
        count["string"] += sum(shape.kinds[form] for form in TEXT_FORMS)
        total = sum(count.values())
        if count["finer"] and count["date"] + count["string"] <= _RARE * total:
            self.notes.append(
                f"{place} has {counted(count['finer'], 'time')} with nanoseconds, but a timestamp has microseconds:"
                " type: timestamp, fraction: truncate cuts them off"
            )
            return "string"
        most = max(count, key=lambda kind: count[kind])
        others = total - count[most]
        if most == "string" or others > _RARE * total:
            return "string"
        if others:
            self.notes.append(
                f"{place} has {counted(others, 'text')} that {'is' if others == 1 else 'are'} no {most}: dead letters,"
                " unless its type is string"
            )
        return most

    def _object(self, shape: DocumentShape, place: str) -> str | None:
        if _is_map(shape):
            item = self._type(merge(shape.members.values()), f"{place}.*")
            return None if item is None else f"map<string,{item}>"
        fields: dict[str, str] = {}
        for key, member in shape.members.items():
            if not _FIELD.fullmatch(key) or key.lower() in {name.lower() for name in fields}:
                self.notes.append(
                    f"{place}: the key {key!r} cannot be the name of a struct's field: left out"
                )
            elif (kind := self._type(member, f"{place}.{key}")) is not None:
                fields[key] = kind
        return "struct<" + ",".join(f"{key}:{kind}" for key, kind in fields.items()) + ">" if fields else None


class SchemaColumns:
    """A column for each field for which Hive has a type, and notes on the other fields."""

    def __init__(
        self,
        fields: Iterable[WriterField],
        units: Mapping[str, str | None] | None = None,
        prefix: tuple[str, ...] = (),
        has_texts: bool = False,
    ) -> None:
        """`prefix` is the path to the fields; `units` has the unit of each number that counts from 1970.

        `has_texts`: a field for which Hive has no type becomes its JSON text.
        """
        self.notes: list[str] = []
        names = Names(self.notes)
        columns = []
        for field in fields:
            is_text = (
                has_texts and field.type is None and not any(_ALWAYS_NULL in note for note in field.notes)
            )
            kept = "json: text keeps all of it as its text" if is_text else ""
            self.notes += [note.replace("left out", kept) if is_text else note for note in field.notes]
            if field.type is not None or is_text:
                name, unit = names.name((field.name,)), (units or {}).get(field.name)
                kind = field.type or "string"
                leeway = (ANY_JSON,) if is_text else ()
                columns.append(
                    DraftColumn(name, kind, (*prefix, field.name), None if is_text else unit, leeway=leeway)
                )
        self.columns = tuple(columns)


def _families(shape: DocumentShape) -> Counter[str]:
    """Return the numbers of values by the kinds that a column tells apart."""
    families: Counter[str] = Counter()
    for kind, count in shape.kinds.items():
        families[_FAMILY.get(kind, kind)] += count
    return families


def _kinds_text(place: str, families: Mapping[str, int]) -> str:
    kinds = ", ".join(f"{counted(families[f], f)}" for f in sorted(families))
    return f"{place} has values of several kinds ({kinds})"


def _mixture(shape: DocumentShape, place: str) -> str:
    """Return where the values, or values within them, are of several kinds, none of them rare; empty if they are nowhere."""
    families = _families(shape)
    if families and families.total() - max(families.values()) > _MIXED * families.total():
        return _kinds_text(place, families)
    if _is_map(shape):
        within = [(merge(shape.members.values()), f"{place}.*")]
    else:
        within = [(member, f"{place}.{key}") for key, member in shape.members.items()]
    within += [] if shape.elements is None else [(shape.elements, f"{place}[]")]
    return next((text for inner, where in within if (text := _mixture(inner, where))), "")


def _nesting(kind: str) -> int:
    """Return how deep a Hive type nests."""
    return max(accumulate((c == "<") - (c == ">") for c in kind))


def _counts(shape: DocumentShape) -> str | None:
    """Return the unit in which whole numbers of this size would count from 1970; None if there is none."""
    if set(shape.kinds) != {"whole"}:
        return None
    units = (
        u for u, n in _UNITS.items() if _FIRST_SECOND * n <= shape.low and shape.high <= _LAST_SECOND * n
    )
    is_days = shape.low > 0 and shape.high <= _LAST_SECOND // 86_400
    return next(units, "d" if is_days else None)


def _is_map(shape: DocumentShape) -> bool:
    rare = sum(member.filled + member.nulls < shape.kinds["object"] / 4 for member in shape.members.values())
    return len(shape.members) > _MANY_KEYS and rare > len(shape.members) / 2


def _is_struct(shape: DocumentShape) -> bool:
    """Return whether Hive accepts all keys as the fields of one struct."""
    distinct = {key.lower() for key in shape.members}
    return all(map(_FIELD.fullmatch, shape.members)) and len(distinct) == len(shape.members)


def words(name: str) -> list[str]:
    """Split a name into words in lower case: `userEmail`, `user_email` and `User-Email` into user and email."""
    return re.sub(r"[^a-z0-9]+", " ", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()).split()


def _plain(name: str) -> str:
    return "_".join(words(name))[:120] or "column"
