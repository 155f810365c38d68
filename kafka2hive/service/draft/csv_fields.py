"""Values that are lines of CSV: their delimiter, their header, and the type of each field. Pure."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kafka2hive.config.keys.source import CsvOptions
from kafka2hive.decode.csv import FieldSplitter
from kafka2hive.decode.rows.csv import CsvLines
from kafka2hive.decode.values.json_values import ValueRefusal
from kafka2hive.decode.values.texts import NUMBER
from kafka2hive.service.draft.documents import kind_of_text

DELIMITERS = (",", "\t", ";", "|")
SHARE = 0.9
"""The share of the records that must have the same number of fields."""
LONGEST = 64 * 1024
"""Maximum size in bytes of a value that is read as CSV."""

_NUMBER = re.compile(NUMBER)
_WHOLE = re.compile(r"-?[0-9]+")
_NAME = re.compile(r"\ufeff?[^\W\d][\w .#%()/-]{0,99}")
_BOOLEANS = {"true": True, "false": False}


def fields_of(values: Sequence[bytes]) -> tuple[str, list[list[str | None]]] | None:
    """Return the delimiter, and the fields of the records with the most frequent number of fields; None if it is not CSV.

    At least a SHARE of the records must have the same number of fields, two or more. If several delimiters fit, the delimiter
    that gives the most fields is taken.
    """
    texts = [text for value in values if (text := _text(value)) is not None]
    best: tuple[str, list[list[str | None]]] | None = None
    for delimiter in DELIMITERS:
        rows = [
            row for text in texts if (row := _row(FieldSplitter(CsvOptions(delimiter)), text)) is not None
        ]
        ((width, count),) = Counter(map(len, rows)).most_common(1) or [(0, 0)]
        widest = len(best[1][0]) if best else 1
        if width > widest and count >= SHARE * len(values):
            best = delimiter, [row for row in rows if len(row) == width]
    return best


def lines_of(values: Sequence[bytes]) -> list[bytes]:
    """Return the CSV lines of all values. A line break in quotes does not end a line."""
    short = [value for value in values if len(value) <= LONGEST]
    lines: list[bytes] = CsvLines(CsvOptions()).split(pa.array(short, pa.binary())).texts.to_pylist()
    return lines


def header_of(rows: Sequence[Sequence[str | None]]) -> tuple[str, ...]:
    """Return the fields of the header line among the rows; empty if the rows have no header line.

    A header line has a distinct name in each column. In at least one column, its name is the only plain text, and all other
    values are numbers, booleans, days or times. Only in such a column may the name be a single letter.
    """
    columns = list(zip(*rows, strict=True))
    plain = [{text for text in texts if text is not None and _is_plain(text)} for texts in columns]
    typed = [
        len(plain_texts) == 1 and len({*texts} - {*plain_texts, None}) > 0
        for texts, plain_texts in zip(columns, plain, strict=True)
    ]
    for number in (number for number, is_typed in enumerate(typed) if is_typed):
        candidates = {tuple(text or "" for text in row) for row in rows if row[number] in plain[number]}
        header = candidates.pop()
        letters = (len(text) == 1 and not is_typed for text, is_typed in zip(header, typed, strict=True))
        if not candidates and _are_names(header) and not any(letters):
            return header
    return ()


def documents_of_fields(rows: Sequence[Sequence[str | None]]) -> list[dict[str, Any]]:
    """Return each row as an object with the keys field_1, field_2, ..

    A column becomes numbers if all its strings are numbers, and booleans if all its strings are booleans.
    """
    columns = [_typed(texts) for texts in zip(*rows, strict=True)]
    return [{f"field_{n}": value for n, value in enumerate(row, 1)} for row in zip(*columns, strict=True)]


def _are_names(row: Sequence[str]) -> bool:
    """Return whether all strings are distinct names. The first may be empty, as pandas writes it for an index without a name."""
    names = row[1:] if not row[0] else row
    return len(set(row)) == len(row) and all(map(_NAME.fullmatch, names))


def _is_plain(text: str) -> bool:
    """Return whether the text is not a number, boolean, day or time."""
    (value,) = _typed([text])
    return isinstance(value, str) and kind_of_text(value) == "string"


def _text(value: bytes) -> str | None:
    if len(value) > LONGEST or value[:1] in (b"{", b"["):  # a JSON array, or broken JSON
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _row(fields: FieldSplitter, text: str) -> list[str | None] | None:
    try:
        return fields.split(text)
    except ValueRefusal:
        return None


def _typed(texts: Sequence[str | None]) -> list[Any]:
    filled = [text for text in texts if text is not None]
    if filled and all(text in _BOOLEANS for text in filled):
        return [None if text is None else _BOOLEANS[text] for text in texts]
    if filled and all(len(text) < 400 and _NUMBER.fullmatch(text) for text in filled):
        whole = all(_WHOLE.fullmatch(text) for text in filled)
        return [None if text is None else int(text) if whole else float(text) for text in texts]
    return list(texts)
