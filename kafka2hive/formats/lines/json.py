"""JSON lines. Columns are written as a whole; for audits, lines are read one by one, which is slow but exact."""

import base64
import datetime
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.formats.lines.texts import replace_characters, texts_of

Convert = Callable[[Any], Any]

_NULL = "null"
_ESCAPES = (
    ("\\", "\\\\"),
    ('"', '\\"'),
    *((chr(code), f"\\u{code:04x}") for code in range(0x20)),
)


def json_rows(lines: Sequence[bytes], schema: pa.Schema) -> pa.RecordBatch:
    """Return one row per line; a column that a line lacks is null. Raises pa.ArrowInvalid."""
    converters = [(field.name, field.type, _or_none(_converter(field.type))) for field in schema]
    try:
        objects = [json.loads(line) for line in lines]
        columns = [
            pa.array([convert(one.get(name)) for one in objects], kind) for name, kind, convert in converters
        ]
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise pa.ArrowInvalid(f"the text is not what was written: {error}") from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def json_names(line: bytes) -> list[str]:
    """Return the names of a line's columns in order. Raises pa.ArrowInvalid."""
    try:
        return list(json.loads(line))
    except (ValueError, TypeError) as error:
        raise pa.ArrowInvalid(f"the text is not what was written: {error}") from error


def _or_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _converter(kind: pa.DataType) -> Convert:
    """Return a function that converts a value of a line; a field that a struct lacks is null."""
    if pa.types.is_struct(kind):
        fields = [(field.name, _or_none(_converter(field.type))) for field in kind]
        return lambda value: {name: convert(value.get(name)) for name, convert in fields}
    if pa.types.is_map(kind):
        key, item = text_converter(kind.key_type), _or_none(_converter(kind.item_type))
        return lambda value: [(key(name), item(one)) for name, one in value.items()]
    if pa.types.is_list(kind):
        element = _or_none(_converter(kind.value_type))
        return lambda value: [element(one) for one in value]
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return lambda value: value
    return text_converter(kind)


def text_converter(kind: pa.DataType) -> Convert:
    """Return a function that parses the text of a single value."""
    if pa.types.is_integer(kind):
        return int
    if pa.types.is_boolean(kind):
        return lambda text: {"true": True, "false": False}[text]
    if pa.types.is_floating(kind):
        return float
    if pa.types.is_decimal(kind):
        return Decimal
    if pa.types.is_date(kind):
        return datetime.date.fromisoformat
    if pa.types.is_timestamp(kind):
        return datetime.datetime.fromisoformat
    if pa.types.is_binary(kind):
        return lambda text: base64.b64decode(text, validate=True)
    return lambda text: text


def json_lines(schema: pa.Schema) -> Callable[[pa.RecordBatch], pa.Array]:
    """Return a function that makes one line of each row: a JSON object with every column."""
    return lambda rows: _object(schema.names, rows.columns, "}\n")


def json_texts(column: pa.Array) -> pa.Array:
    """Return the JSON text of every value, `null` for null. No text holds a line end."""
    return pc.fill_null(_texts(column), _NULL)


def _texts(column: pa.Array) -> pa.Array:
    """Return the JSON text of every value. Null stays null."""
    kind = column.type
    if pa.types.is_struct(kind):
        whole = _object([field.name for field in kind], column.flatten(), "}")
        return pc.if_else(column.is_valid(), whole, _none())
    if pa.types.is_map(kind):
        return _map(column)
    if pa.types.is_list(kind):
        return _join_elements(column, json_texts(column.flatten()), "[", "]")
    if pa.types.is_string(kind):
        return _quote(replace_characters(column, _ESCAPES))
    plain = texts_of(column)
    if pa.types.is_floating(kind):  # JSON has no NaN and no infinity, so they become strings
        return pc.if_else(pc.is_finite(column), plain, _quote(plain))
    return plain if pa.types.is_integer(kind) or pa.types.is_boolean(kind) else _quote(plain)


def _none() -> pa.Scalar:
    return pa.scalar(None, pa.string())


def _quote(texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise('"', texts, '"', "")


def _object(names: Sequence[str], columns: Sequence[pa.Array], end: str) -> pa.Array:
    parts: list[str | pa.Array] = []
    for number, (name, column) in enumerate(zip(names, columns, strict=True)):
        parts += [f"{',' if number else '{'}{json.dumps(name, ensure_ascii=False)}:", json_texts(column)]
    return pc.binary_join_element_wise(*parts, end, "")


def _map(column: pa.Array) -> pa.Array:
    kind = column.type
    pairs = column.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))
    keys, values = pairs.flatten().flatten()
    keys = _quote(replace_characters(texts_of(keys), _ESCAPES))
    return _join_elements(pairs, pc.binary_join_element_wise(keys, ":", json_texts(values), ""), "{", "}")


def _join_elements(column: pa.Array, texts: pa.Array, begin: str, end: str) -> pa.Array:
    """Return one string for each list, null for a null list. `texts`: the strings of the elements of all lists, in order."""
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), texts), ",")
    whole = pc.binary_join_element_wise(begin, joined, end, "")
    return pc.if_else(column.is_valid(), whole, _none())
