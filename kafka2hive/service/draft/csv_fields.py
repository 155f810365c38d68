"""Values that are lines of CSV: their delimiter, their header, and the type of each field. Pure."""

import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from kafka2hive.config.keys.source import CsvOptions
from kafka2hive.decode.csv import FieldSplitter
from kafka2hive.decode.framing.foreign_forms import foreign_form
from kafka2hive.decode.rows.csv import CsvLines
from kafka2hive.decode.values.json_values import ValueRefusal
from kafka2hive.decode.values.texts import NUMBER
from kafka2hive.service.draft.documents import is_not_finite, kind_of_text

DELIMITERS = (",", "\t", ";", "\u0001", "~")
NULL_WORDS: Set[str | None] = frozenset({"\\N", "NULL", "null", "None", "N/A", "n/a", "NA", "-"})
_PLAIN_NULLS: Set[str | None] = frozenset({"\\N", "NULL", "null"})
"""Words that stand for NULL among other texts, too."""
SHARE = 0.9
"""The share of the records that must have the same number of fields."""
LONGEST = 64 * 1024
"""Maximum size in bytes of a value that is read as CSV."""

_NUMBER = re.compile(NUMBER)
_WHOLE = re.compile(r"-?[0-9]+")
_NAME = re.compile(r"\ufeff?[^\W\d][\w .#%()/-]{0,99}")
_CONTROL = re.compile("[\x00\x02-\x08\x0b\x0c\x0e-\x1f]")
"""Characters that lines do not have; 0x01 is a delimiter of Hive."""
_BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class CsvFields:
    """How the lines are written, and the fields of those with the most frequent number of fields."""

    options: CsvOptions
    rows: list[list[str | None]]


def fields_of(values: Sequence[bytes]) -> CsvFields | None:
    """Return the fields of the records; None if they are not CSV.

    At least a SHARE of the records must have the same number of fields, two or more. If several delimiters fit, the delimiter
    that gives the most fields is taken. A backslash is an escape if nothing fits otherwise.
    """
    texts = [text for value in values if (text := _text(value)) is not None]
    for escape in (None, "\\"):
        best = CsvFields(CsvOptions(), [[]])
        for delimiter in _delimiters(texts):
            options = CsvOptions(delimiter, escape=escape)
            rows = _rows(options, texts)
            if rows and len(rows) >= SHARE * len(values) and len(rows[0]) > max(len(best.rows[0]), 1):
                best = CsvFields(options, rows)
        if best.rows[0]:
            return _with_nulls(best, texts)
    return None


def _delimiters(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the delimiters to try: a bar, or two of them if bars are only in pairs."""
    bars = [text for text in texts if "|" in text]
    pairs = sum(text.count("|") == 2 * text.count("||") for text in bars)
    return (*DELIMITERS, "||" if bars and pairs >= SHARE * len(bars) else "|")


def _rows(options: CsvOptions, texts: Sequence[str]) -> list[list[str | None]]:
    """Return the rows with the most frequent number of fields."""
    splitter = FieldSplitter(options)
    rows = [row for text in texts if (row := _row(splitter, text)) is not None]
    ((width, _),) = Counter(map(len, rows)).most_common(1) or [(0, 0)]
    return [row for row in rows if len(row) == width]


def _with_nulls(fields: CsvFields, texts: Sequence[str]) -> CsvFields:
    """Return the fields with the words that stand for NULL: some words anywhere, others among numbers and times."""
    words: set[str] = set()
    for column in map(set, zip(*fields.rows, strict=True)):
        found = column & NULL_WORDS
        others = column - found - {None, ""}
        is_typed = bool(others) and not any(text is not None and _is_plain(text) for text in others)
        words |= found if is_typed else found & _PLAIN_NULLS
    if not words:
        return fields
    options = replace(fields.options, nulls=("", *sorted(words)))
    return CsvFields(options, _rows(options, texts))


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

    A column becomes numbers if all its strings are numbers or stand for NaN and infinities, which stay strings, and booleans
    if all its strings are booleans.
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
    if (
        len(value) > LONGEST or value[:1] in (b"{", b"[") or foreign_form(value)
    ):  # a JSON array, or broken JSON
        return None
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return None
    return None if _CONTROL.search(text) else text


def _row(fields: FieldSplitter, text: str) -> list[str | None] | None:
    try:
        return fields.split(text)
    except ValueRefusal:
        return None


def _typed(texts: Sequence[str | None]) -> list[Any]:
    filled = [text for text in texts if text is not None]
    if filled and all(text in _BOOLEANS for text in filled):
        return [None if text is None else _BOOLEANS[text] for text in texts]
    numbers = [text for text in filled if len(text) < 400 and _NUMBER.fullmatch(text)]
    if numbers and len(numbers) + sum(map(is_not_finite, filled)) == len(filled):
        whole = all(map(_WHOLE.fullmatch, numbers))
        read = {text: int(text) if whole else float(text) for text in numbers}
        return [None if text is None else read.get(text, text) for text in texts]
    return list(texts)
