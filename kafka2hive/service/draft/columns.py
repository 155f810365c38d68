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
from kafka2hive.service.draft.extended_json import extended_value
from kafka2hive.service.draft.loose_columns import TEXT_FORMS, loose_column, number_type
from kafka2hive.service.draft.map_text import DraftColumn
from kafka2hive.service.draft.times import time_column, unit_of

_COLUMN = re.compile(r"[A-Za-z0-9_]{1,120}")
_FIELD = re.compile(r"[A-Za-z0-9_$]+")
_MANY_KEYS = 24
"""An object with more distinct keys than this, most of them rare, is a map whose keys are data."""
_TIME_NAME = re.compile(
    r"(^|_)(at|ts|time|timestamp|date|datetime|epoch|millis|ms|msec|micros|nano|nanos|created|updated|when)$"
)
_LAST_DAY = 4_102_444_800 // 86_400
"""In the year 2100."""

_FAMILY = {
    "whole": "number",
    "point": "number",
    "fraction": "number",
    "non_finite": "number",
    **dict.fromkeys(("string", "date", "timestamp", "finer"), "text"),
    **dict.fromkeys(TEXT_FORMS, "text"),
}
_NUMERALS = ({"quoted"}, {"pointed"}, {"quoted", "pointed"})
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
        self._numerals: list[str] = []
        self.lacks_some = False
        """Whether no column can hold some field."""
        self.columns = tuple(self._of_members(documents, ()))
        if self._numerals:
            self.notes.append(
                f"all values of {', '.join(self._numerals)} are numbers in quotes, which stay texts: a bigint or a double with"
                " quoted: accept, or a decimal, makes numbers of them"
            )

    def _of_members(self, shape: DocumentShape, keys: tuple[str, ...]) -> Iterator[DraftColumn]:
        for key, member in shape.members.items():
            yield from self._of(member, (*keys, key))

    def _of(
        self, shape: DocumentShape, keys: tuple[str, ...], named: tuple[str, ...] = ()
    ) -> Iterator[DraftColumn]:
        """Yield the columns of the values at a path. `named`: the path that gives the name, if it is another."""
        place, named = path_text(keys), named or keys
        if "" in keys or len(keys) > MOST_STEPS:
            self.notes.append(f"{place} cannot be a path: no column of its own")
            self.lacks_some = True
            return
        if (value := extended_value(shape)) is not None:
            self.notes += [value.note] if value.note not in self.notes else []
            path = (*keys, *value.path)
            if value.type:
                yield DraftColumn(
                    self._names.name(named), value.type, path, unit=value.unit, leeway=value.leeway
                )
            else:
                yield from self._of(value.shape, path, named)
            return
        if _is_taken_apart(shape):
            yield from self._of_members(shape, keys)
            return
        if column := self._in_other_forms(shape, keys, named):
            yield column
            return
        counts = _counts(shape)
        unit = counts if counts != "d" and _is_named_time(keys, named) else None
        cut: tuple[str, ...] = ()
        if unit == "ns" and not shape.thousands:
            self.notes.append(
                f"{place} counts nanoseconds, but a timestamp has microseconds: fraction: truncate cuts them off, and counts"
                " them; a bigint keeps all digits"
            )
            cut = ("fraction: truncate",)
        if set(shape.kinds) in _NUMERALS:
            self._numerals.append(place)
        kind = "timestamp" if unit else self._type(shape, place)
        if kind is not None and kind.count("<") > MAX_NESTING and _nesting(kind) > MAX_NESTING:
            self.notes.append(
                f"{place} nests more than {MAX_NESTING} deep, but Hive's types cannot: json: text keeps it as its text"
            )
            yield self._any_json(named, keys)
        elif kind is not None:
            yield DraftColumn(
                name=self._names.name(named), type=kind, keys=keys, unit=unit, counts=counts, leeway=cut
            )

    def _in_other_forms(
        self, shape: DocumentShape, keys: tuple[str, ...], named: tuple[str, ...]
    ) -> DraftColumn | None:
        """Return the column of values that it takes only by keys of its own; None if it needs none."""
        place = path_text(keys)
        if times := time_column(shape.forms, shape.kinds, place, _is_named_time(keys, named)):
            self.notes.append(times.note)
            return DraftColumn(
                self._names.name(named), times.type, keys, unit=times.unit, leeway=times.leeway
            )
        if loose := loose_column(shape):
            self.notes += loose.notes(place)
            return DraftColumn(self._names.name(named), loose.type, keys, leeway=loose.keys)
        if mixture := _mixture(shape, place):
            self.notes.append(f"{mixture}: json: text keeps each as its text, for get_json_object")
            return self._any_json(named, keys)
        if shape.kinds and not _has_values(shape):
            self.notes.append(f"{place} is empty in every record: json: text keeps what it will hold")
            return self._any_json(named, keys)
        return None

    def whole_message(self) -> DraftColumn:
        """Return a column that keeps the whole message as text, and note it."""
        self.notes.append("from: $ with json: text keeps the whole message, also what has no column")
        return self._any_json(("message",), ())

    def _any_json(self, named: tuple[str, ...], keys: tuple[str, ...]) -> DraftColumn:
        return DraftColumn(self._names.name(named), "string", keys, leeway=(ANY_JSON,))

    def _type(self, shape: DocumentShape, place: str) -> str | None:
        """Return Hive's type of most values, or None if none fits; notes name the values that become dead letters."""
        kinds = shape.kinds
        if not kinds:
            self.notes.append(f"{place} is null in every record: left out")
            return None
        if not _has_values(shape):
            self.notes.append(f"{place} is empty in every record: left out")
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
                " a string keeps all digits"
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
        if _has_keys_of_data(shape):
            item = self._type(merge(shape.members.values()), f"{place}.*")
            return None if item is None else f"map<string,{item}>"
        fields: dict[str, str] = {}
        for key, member in shape.members.items():
            if (kind := self._type(member, f"{place}.{key}")) is not None:
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


def _is_named_time(*paths: tuple[str, ...]) -> bool:
    """Return whether the last key of one of the paths is the name of a time."""
    return any(_TIME_NAME.search(_plain(path[-1])) is not None for path in paths)


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
    if _has_keys_of_data(shape):
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
    is_days = shape.low > 0 and shape.high <= _LAST_DAY
    return unit_of(shape.low, shape.high) or ("d" if is_days else None)


def _is_map(shape: DocumentShape) -> bool:
    rare = sum(member.filled + member.nulls < shape.kinds["object"] / 4 for member in shape.members.values())
    return len(shape.members) > _MANY_KEYS and rare > len(shape.members) / 2


def _has_keys_of_data(shape: DocumentShape) -> bool:
    """Return whether an object within a column is a map: Hive's structs cannot have all of its keys as fields."""
    return _is_map(shape) or not _is_struct(shape)


def _is_taken_apart(shape: DocumentShape) -> bool:
    """Return whether each member gets a column: Hive's structs cannot have such keys, but columns can read them."""
    if set(shape.kinds) != {"object"} or _is_map(shape):
        return False
    return not _is_struct(shape) or any(extended_value(member) for member in shape.members.values())


def _has_values(shape: DocumentShape) -> bool:
    """Return whether there is any value but null, empty objects and empty arrays."""
    if set(shape.kinds) - {"object", "array"}:
        return True
    within = [*shape.members.values(), *([] if shape.elements is None else [shape.elements])]
    return any(map(_has_values, within))


def _is_struct(shape: DocumentShape) -> bool:
    """Return whether Hive accepts all keys as the fields of one struct."""
    distinct = {key.lower() for key in shape.members}
    return all(map(_FIELD.fullmatch, shape.members)) and len(distinct) == len(shape.members)


def words(name: str) -> list[str]:
    """Split a name into words in lower case: `userEmail`, `user_email` and `User-Email` into user and email."""
    return re.sub(r"[^a-z0-9]+", " ", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()).split()


def _plain(name: str) -> str:
    return "_".join(words(name))[:120] or "column"
