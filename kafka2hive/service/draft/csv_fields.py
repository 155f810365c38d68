"""Texts of fields behind one another: by which delimiter, and what stands at each place. Pure."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kafka2hive.config.keys.csv import CsvOptions
from kafka2hive.decode.csv import Fields
from kafka2hive.decode.rows.csv import CsvLines
from kafka2hive.decode.values.json_values import ValueRefusal
from kafka2hive.decode.values.texts import NUMBER
from kafka2hive.service.draft.documents import kind_of_text

DELIMITERS = (",", "\t", ";", "|")
SHARE = 0.9
"""Of the records, that must have the same number of fields."""
LONGEST = 64 * 1024
"""Bytes of a record; longer ones are no rows of fields."""

_NUMBER = re.compile(NUMBER)
_WHOLE = re.compile(r"-?[0-9]+")
_NAME = re.compile(r"\ufeff?[^\W\d][\w .#%()/-]{0,99}")
_BOOLEANS = {"true": True, "false": False}


def fields_of(values: Sequence[bytes]) -> tuple[str, list[list[str | None]]] | None:
    """The delimiter and the fields of the records that have as many as most; None: these are no fields.

    Two fields at least, of nearly all records; of several delimiters the one with most fields.
    """
    texts = [text for value in values if (text := _text(value)) is not None]
    found: tuple[str, list[list[str | None]]] | None = None
    for delimiter in DELIMITERS:
        rows = [row for text in texts if (row := _row(Fields(CsvOptions(delimiter)), text)) is not None]
        ((width, count),) = Counter(map(len, rows)).most_common(1) or [(0, 0)]
        most = len(found[1][0]) if found else 1
        if width > most and count >= SHARE * len(values):
            found = delimiter, [row for row in rows if len(row) == width]
    return found


def lines_of(values: Sequence[bytes]) -> list[bytes]:
    """The records of CSV in all values; a line break in quotes ends none."""
    short = [value for value in values if len(value) <= LONGEST]
    lines: list[bytes] = CsvLines(CsvOptions()).split(pa.array(short, pa.binary())).texts.to_pylist()
    return lines


def header_of(rows: Sequence[Sequence[str | None]]) -> tuple[str, ...]:
    """The fields of a header line among the rows; empty: none can be told from the others.

    It has a distinct name at each place, of which one at least is the only text among numbers, booleans, days or times.
    A single letter is a name only there.
    """
    places = list(zip(*rows, strict=True))
    plain = [{text for text in texts if text is not None and _is_plain(text)} for texts in places]
    typed = [
        len(of_place) == 1 and len({*texts} - {*of_place, None}) > 0
        for texts, of_place in zip(places, plain, strict=True)
    ]
    for number in (number for number, is_typed in enumerate(typed) if is_typed):
        found = {tuple(text or "" for text in row) for row in rows if row[number] in plain[number]}
        header = found.pop()
        letters = (len(text) == 1 and not is_typed for text, is_typed in zip(header, typed, strict=True))
        if not found and _are_names(header) and not any(letters):
            return header
    return ()


def _are_names(row: Sequence[str]) -> bool:
    """The first may be left out: the index of a data frame."""
    named = row[1:] if not row[0] else row
    return len(set(row)) == len(row) and all(map(_NAME.fullmatch, named))


def _is_plain(text: str) -> bool:
    """Whether it is nothing but a text."""
    (value,) = _typed([text])
    return isinstance(value, str) and kind_of_text(value) == "string"


def as_documents(rows: Sequence[Sequence[str | None]]) -> list[dict[str, Any]]:
    """Each row as an object of field_1, field_2, ..: numbers and booleans where all texts of a place are some."""
    places = [_typed(texts) for texts in zip(*rows, strict=True)]
    return [{f"field_{n}": value for n, value in enumerate(row, 1)} for row in zip(*places, strict=True)]


def _text(value: bytes) -> str | None:
    if len(value) > LONGEST or value[:1] in (b"{", b"["):  # JSON that is broken, or no object
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _row(fields: Fields, text: str) -> list[str | None] | None:
    try:
        return fields.of(text)
    except ValueRefusal:
        return None


def _typed(texts: Sequence[str | None]) -> list[Any]:
    there = [text for text in texts if text is not None]
    if there and all(text in _BOOLEANS for text in there):
        return [None if text is None else _BOOLEANS[text] for text in texts]
    if there and all(len(text) < 400 and _NUMBER.fullmatch(text) for text in there):
        whole = all(_WHOLE.fullmatch(text) for text in there)
        return [None if text is None else int(text) if whole else float(text) for text in texts]
    return list(texts)
