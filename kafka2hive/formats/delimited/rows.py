"""Delimited text read back, line by line: slow and exact, for audits only."""

import re
from collections.abc import Sequence

import pyarrow as pa

from kafka2hive.config.values import TextOptions
from kafka2hive.formats.json_lines.rows import text_converter

_ENDS = {"n": "\n", "r": "\r"}


def text_rows(
    lines: Sequence[bytes], schema: pa.Schema, columns: Sequence[str], options: TextOptions
) -> pa.RecordBatch:
    """The named ones of the columns `schema` of the file, one row per line. Raises pa.ArrowInvalid."""
    reader = _FieldReader(options)
    try:
        rows = [reader.fields(line.decode()) for line in lines]
        if any(len(row) != len(schema) for row in rows):
            raise ValueError(f"a line has not the {len(schema)} fields of its columns")
        wanted = pa.schema([schema.field(name) for name in columns])
        arrays = []
        for field in wanted:
            place, convert = schema.get_field_index(field.name), text_converter(field.type)
            values = [None if row[place] is None else convert(row[place]) for row in rows]
            arrays.append(pa.array(values, field.type))
    except (ValueError, KeyError, TypeError, ArithmeticError) as error:
        raise pa.ArrowInvalid(f"not what was written: {error}") from error
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)


def field_count(line: bytes, options: TextOptions) -> int:
    """Raises pa.ArrowInvalid."""
    try:
        return len(_FieldReader(options).fields(line.decode()))
    except ValueError as error:
        raise pa.ArrowInvalid(f"not what was written: {error}") from error


class _FieldReader:
    def __init__(self, options: TextOptions) -> None:
        self._options = options
        escape, delimiter = re.escape(options.escape), re.escape(options.delimiter)
        self._field = re.compile(f"(?:[^{escape}{delimiter}]|{escape}.)*", re.DOTALL)
        self._escaped = re.compile(f"{escape}(.)", re.DOTALL)

    def fields(self, line: str) -> list[str | None]:
        """None where the text is that of NULL."""
        options = self._options
        found = self._split(line) if options.escape in line else line.split(options.delimiter)
        return [None if text == options.null_text else self._plain(text) for text in found]

    def _split(self, line: str) -> list[str]:
        found, at = [], 0
        while match := self._field.match(line, at):
            found.append(match[0])
            at = match.end()
            if at == len(line):
                break
            if line[at] != self._options.delimiter:
                raise ValueError("an escape at the end of a line")
            at += 1
        return found

    def _plain(self, text: str) -> str:
        if self._options.escape not in text:
            return text
        return self._escaped.sub(lambda match: _ENDS.get(match[1], match[1]), text)
