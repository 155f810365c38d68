"""Delimited text. Columns are written as a whole; for audits, lines are read one by one, which is slow but exact."""

import re
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys import TextOptions
from kafka2hive.formats.contract.times import RowMask
from kafka2hive.formats.lines.json import text_converter
from kafka2hive.formats.lines.texts import replace_characters, texts_of

_ENDS = {"n": "\n", "r": "\r"}


def text_rows(
    lines: Sequence[bytes], schema: pa.Schema, columns: Sequence[str], options: TextOptions
) -> pa.RecordBatch:
    """Return the named columns, with one row per line. `schema` has all columns of the file. Raises pa.ArrowInvalid."""
    reader = _FieldReader(options)
    try:
        rows = [reader.fields(line.decode()) for line in lines]
        if any(len(row) != len(schema) for row in rows):
            raise ValueError(f"a line does not have {len(schema)} fields")
        chosen = pa.schema([schema.field(name) for name in columns])
        arrays = []
        for field in chosen:
            place, convert = schema.get_field_index(field.name), text_converter(field.type)
            values = [None if row[place] is None else convert(row[place]) for row in rows]
            arrays.append(pa.array(values, field.type))
    except (ValueError, KeyError, TypeError, ArithmeticError) as error:
        raise pa.ArrowInvalid(f"the text is not what was written: {error}") from error
    return pa.RecordBatch.from_arrays(arrays, schema=chosen)


def field_count(line: bytes, options: TextOptions) -> int:
    """Return the number of fields in a line. Raises pa.ArrowInvalid."""
    try:
        return len(_FieldReader(options).fields(line.decode()))
    except ValueError as error:
        raise pa.ArrowInvalid(f"the text is not what was written: {error}") from error


class _FieldReader:
    """Splits lines into fields and removes escapes."""

    def __init__(self, options: TextOptions) -> None:
        self._options = options
        escape, delimiter = re.escape(options.escape), re.escape(options.delimiter)
        self._field = re.compile(f"(?:[^{escape}{delimiter}]|{escape}.)*", re.DOTALL)
        self._escaped = re.compile(f"{escape}(.)", re.DOTALL)

    def fields(self, line: str) -> list[str | None]:
        """Return the fields of a line, with None for the text of NULL."""
        options = self._options
        texts = self._split(line) if options.escape in line else line.split(options.delimiter)
        return [None if text == options.null_text else self._unescape(text) for text in texts]

    def _split(self, line: str) -> list[str]:
        fields, at = [], 0
        while match := self._field.match(line, at):
            fields.append(match[0])
            at = match.end()
            if at == len(line):
                break
            if line[at] != self._options.delimiter:
                raise ValueError("an escape at the end of a line")
            at += 1
        return fields

    def _unescape(self, text: str) -> str:
        if self._options.escape not in text:
            return text
        return self._escaped.sub(lambda match: _ENDS.get(match[1], match[1]), text)


def text_lines(options: TextOptions) -> Callable[[pa.RecordBatch], pa.Array]:
    """Return a function that makes one line of each row."""

    def to_lines(rows: pa.RecordBatch) -> pa.Array:
        fields = [pc.fill_null(field_texts(column, options), options.null_text) for column in rows.columns]
        lines = pc.binary_join_element_wise(*fields, options.delimiter)
        return pc.binary_join_element_wise(lines, "\n", "")

    return to_lines


def field_texts(column: pa.Array, options: TextOptions) -> pa.Array:
    """Return the values as text, with an escape before anything that would end a field or a line. Null stays null."""
    if not pa.types.is_string(column.type):
        return texts_of(column)  # their strings have nothing to escape
    escape, delimiter = options.escape, options.delimiter
    return replace_characters(
        column,
        (
            (escape, escape * 2),
            (delimiter, escape + delimiter),
            ("\n", escape + "n"),
            ("\r", escape + "r"),
        ),
    )


def null_texts(column: pa.Array, options: TextOptions) -> RowMask | None:
    """Return the mask of values that have the same text as NULL; None if no value does."""
    escape, text = options.escape, options.null_text
    if text[:1] == escape and text[1:2] not in (escape, options.delimiter, "n", "r"):
        return None  # no value has this text
    same = pc.fill_null(pc.equal(field_texts(column, options), text), False)
    return same.to_numpy(zero_copy_only=False) if pc.any(same).as_py() else None
