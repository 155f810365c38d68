"""Rows in an array within an object: which records have them, and columns for the elements and for what is around. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kafka2hive.config.keys.json_path import path_text
from kafka2hive.service.draft.columns import Columns, free_name
from kafka2hive.service.draft.documents import DocumentShape
from kafka2hive.service.draft.map_text import DraftColumn

Objects = Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class EnclosedRows:
    """Columns of a table with a row for each element of an array, and notes. `rows` is the map's value of that key."""

    rows: str
    columns: tuple[DraftColumn, ...]
    notes: tuple[str, ...]


def array_key(objects: Objects) -> str | None:
    """Return the key of the only array of objects, if more than half of the objects have it, empty or not; otherwise None."""
    keys = {key for one in objects for key, value in one.items() if _are_objects(value)}
    if len(keys) != 1:
        return None
    (key,) = keys
    having = sum(one.get(key) == [] or _are_objects(one.get(key)) for one in objects)
    return key if key and 2 * having > len(objects) else None


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(element, dict) for element in value)


def rows_text(key: str) -> str:
    """Return the map's `rows` for the array with this key."""
    return f'{{array: "{path_text((key,))}"}}'


def enclosed_rows(objects: Objects, key: str) -> EnclosedRows | None:
    """Draft rows for the elements of the array with this key; None if the objects are more than its wrapping.

    An object is a wrapping if it has no other array or object, and not more other keys than the elements have.
    """
    elements, others = DocumentShape(), DocumentShape()
    for one in objects:
        others.add({name: value for name, value in one.items() if name != key})
        for element in one[key] if _are_objects(one.get(key)) else ():
            elements.add(element)
    kinds = {kind for member in others.members.values() for kind in member.kinds}
    if kinds & {"object", "array"} or len(others.members) > len(elements.members) or '"' in key:
        return None
    within, around = Columns(elements), Columns(others)
    if not within.columns:
        return None
    names = {column.name.lower() for column in within.columns}
    columns = list(within.columns)
    for column in around.columns:
        wish = f"message_{column.name}" if column.name.lower() in names else column.name
        columns.append(replace(column, name=free_name(wish, names), is_around=True))
        names.add(columns[-1].name.lower())
    note = (
        f"each record has one array of objects, {path_text((key,))}: with rows: {rows_text(key)} each element is a row;"
        " without `rows` a record is one row"
    )
    return EnclosedRows(rows_text(key), tuple(columns), (note, *within.notes, *around.notes))
