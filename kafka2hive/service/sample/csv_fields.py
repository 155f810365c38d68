"""Texts of fields behind one another: by which delimiter, and what stands at each place. Pure."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kafka2hive.config.values.csv import CsvOptions
from kafka2hive.pipeline.decode.csv.fields import Fields, Refused
from kafka2hive.pipeline.decode.rows.csv_lines import CsvLines
from kafka2hive.pipeline.decode.texts.exact import NUMBER
from kafka2hive.service.sample.shape import Shape

DELIMITERS = (",", "\t", ";", "|")
SHARE = 0.9
"""Of the records, that must have the same number of fields."""
LONGEST = 64 * 1024
"""Bytes of a record; longer ones are no rows of fields."""

_NUMBER = re.compile(NUMBER)
_WHOLE = re.compile(r"-?[0-9]+")
_NAME = re.compile(r"\ufeff?[^\W\d][\w .#%()/-]{1,99}")
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

    It has a distinct name at each place, and without it more places are numbers, booleans, days or times.
    """
    named = Counter(tuple(row) for row in rows if _are_names(row))
    for header, _ in named.most_common(1):
        rest = [row for row in rows if tuple(row) != header]
        if rest and _typed_places(rest) > _typed_places(rows):
            return tuple(text or "" for text in header)
    return ()


def _are_names(row: Sequence[str | None]) -> bool:
    return len(set(row)) == len(row) and all(text and _NAME.fullmatch(text) for text in row)


def _typed_places(rows: Sequence[Sequence[str | None]]) -> int:
    shape = Shape()
    for document in as_documents(rows):
        shape.add(document)
    return sum(bool(member.kinds) and "string" not in member.kinds for member in shape.members.values())


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
    except Refused:
        return None


def _typed(texts: Sequence[str | None]) -> list[Any]:
    there = [text for text in texts if text is not None]
    if there and all(text in _BOOLEANS for text in there):
        return [None if text is None else _BOOLEANS[text] for text in texts]
    if there and all(len(text) < 400 and _NUMBER.fullmatch(text) for text in there):
        whole = all(_WHOLE.fullmatch(text) for text in there)
        return [None if text is None else int(text) if whole else float(text) for text in texts]
    return list(texts)
