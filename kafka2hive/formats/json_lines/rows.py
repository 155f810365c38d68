"""JSON lines read back, one by one: slow and exact, for audits only."""

import base64
import datetime
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

Convert = Callable[[Any], Any]


def json_rows(lines: Sequence[bytes], schema: pa.Schema) -> pa.RecordBatch:
    """One row per line; columns that a line does not have are null. Raises pa.ArrowInvalid."""
    converters = [(field.name, field.type, _or_none(_converter(field.type))) for field in schema]
    try:
        objects = [json.loads(line) for line in lines]
        columns = [
            pa.array([convert(one.get(name)) for one in objects], kind) for name, kind, convert in converters
        ]
    except (ValueError, TypeError, AttributeError, ArithmeticError) as error:
        raise pa.ArrowInvalid(f"not what was written: {error}") from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def json_names(line: bytes) -> set[str]:
    """The columns of a line. Raises pa.ArrowInvalid."""
    try:
        return set(json.loads(line))
    except (ValueError, TypeError) as error:
        raise pa.ArrowInvalid(f"not what was written: {error}") from error


def _or_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _converter(kind: pa.DataType) -> Convert:
    if pa.types.is_struct(kind):
        fields = [(field.name, _or_none(_converter(field.type))) for field in kind]
        return lambda value: {name: convert(value[name]) for name, convert in fields}
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
    """From the text of a single value."""
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
