"""Sampled values that are no more than one number or one text each: a table of one column. Pure."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from kafka2hive.decode.values.texts import NUMBER
from kafka2hive.model.text import counted
from kafka2hive.service.draft.documents import DocumentShape
from kafka2hive.service.draft.loose_columns import number_type
from kafka2hive.service.draft.map_text import DraftColumn

_NUMBER = re.compile(NUMBER)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_LONGEST_NUMBER = 100


@dataclass(frozen=True, slots=True)
class SingleValues:
    """The format that takes such values, and the column."""

    format: str
    column: DraftColumn
    notes: tuple[str, ...]


def single_values(values: Sequence[bytes]) -> SingleValues | None:
    """Return the column of values that are numbers, or texts; None if one of them is binary."""
    texts = []
    for value in values:
        try:
            texts.append(value.decode())
        except UnicodeDecodeError:
            return None
    if any(map(_CONTROL.search, texts)):
        return None
    if all(map(_is_number, texts)):
        shape = DocumentShape()
        for text in texts:
            shape.add(json.loads(text))
        column = DraftColumn("value", number_type(shape), ("value",))
        return SingleValues(
            "csv", column, ("each value is one number, which a line of CSV with one field is, too",)
        )
    notes = ["each value is text, and becomes one string"]
    if twice := sum(map(_is_json_in_json, texts)):
        notes.append(f"{counted(twice, 'JSON string')} of JSON: the producer serialises each value twice")
    return SingleValues("raw", DraftColumn("value", "string", ("value",)), tuple(notes))


def _is_number(text: str) -> bool:
    return len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text) is not None


def _is_json_in_json(text: str) -> bool:
    if not text.startswith('"'):
        return False
    try:
        inner = json.loads(text)
    except ValueError:
        return False
    return isinstance(inner, str) and inner.lstrip().startswith(("{", "["))
