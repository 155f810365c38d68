"""The schemas that Kafka Connect's JSON converter writes beside `payload`, and what they say about columns."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from kafka2hive.decode.contract.forms import (
    AsWritten,
    Each,
    Epoch,
    Fields,
    Form,
    Mismatch,
    SinceMidnight,
    Unscaled,
)
from kafka2hive.decode.contract.sources import Source, Spelling
from kafka2hive.decode.semantics.types import SEMANTIC_TYPES, Filling, Kind, filling

MOST_SCALE = 999
"""Limit of a decimal's scale, in both directions."""

Schema = Mapping[str, Any]
"""A schema in the form of Kafka Connect's JSON: `type`, `name`, `parameters`, and the schemas within it."""

_NUMBERS = frozenset({"int8", "int16", "int32", "int64", "float", "double", "float32", "float64"})


def source_by(schema: Schema, dtype: pa.DataType, source: Source, spelling: Spelling) -> Source:
    """Return the source of a column as this schema of the payload says it is written.

    `source.keys` begins with `payload`.
    """
    of_value = schema_at(schema, source.keys[1:], spelling)
    if of_value is None:
        return source
    in_bytes = source.leeway.decimals == "base64"
    form = _form(of_value, dtype, spelling, unit=source.unit, in_bytes=in_bytes, is_column=True)
    if form is None:
        return source
    if isinstance(form, Epoch):
        return replace(source, unit=form.unit, form=form)
    return replace(source, unit=None, form=form, leeway=replace(source.leeway, decimals="text"))


def schema_at(schema: Schema, path: tuple[str, ...], spelling: Spelling) -> Schema | None:
    """Return the schema of the value at a path; None if the schema has no such value."""
    for key in path:
        within = schema.get("values") if schema.get("type") == "map" else _field(schema, key, spelling)
        if not isinstance(within, dict):
            return None
        schema = within
    return schema


def _field(schema: Schema, key: str, spelling: Spelling) -> Schema | None:
    fields = schema.get("fields")
    if not isinstance(fields, list):
        return None
    wanted = spelling(key)
    for field in fields:
        name = field.get("field") if isinstance(field, dict) else None
        if isinstance(name, str) and spelling(name) == wanted:
            return dict(field)
    return None


def _form(
    schema: Schema,
    dtype: pa.DataType,
    spelling: Spelling,
    unit: str | None = None,
    in_bytes: bool = False,
    is_column: bool = False,
) -> Form | None:
    """Return how values of the schema fill the column; None: as the column and the map say.

    `in_bytes`: the map says that the column's decimals are bytes. `is_column`: it is no value within a column.
    """
    name = schema.get("name")
    semantic_type = SEMANTIC_TYPES.get(name) if isinstance(name, str) else None
    if semantic_type is None:
        return _within(schema, dtype, spelling) or _unnamed(schema, dtype, in_bytes)
    assert isinstance(name, str)
    match filling(semantic_type, dtype, unit):
        case Filling.EPOCH:
            return Epoch(semantic_type.unit, name)
        case Filling.UNSCALED:
            return _decimal(schema, name)
        case Filling.CLOCK:
            return SinceMidnight(semantic_type.unit, name) if is_column else Mismatch(name)
        case Filling.MISMATCH:
            return Mismatch(name)
    return AsWritten(_with_scale(name, _scale(schema)) if semantic_type.kind is Kind.DECIMAL else name)


def _decimal(schema: Schema, name: str) -> Form:
    scale = _scale(schema)
    if schema.get("type") != "bytes":
        return Mismatch(f"{name}, but {schema.get('type')} instead of bytes")
    return Mismatch(_with_scale(name, None)) if scale is None else Unscaled(scale, _with_scale(name, scale))


def _with_scale(name: str, scale: int | None) -> str:
    return f"{name} of no known scale" if scale is None else f"{name} of scale {scale}"


def _scale(schema: Schema) -> int | None:
    """Return a decimal's scale; None if the schema has none, or one that is no number as Kafka Connect writes it."""
    parameters = schema.get("parameters")
    text = parameters.get("scale") if isinstance(parameters, dict) else None
    if (
        not isinstance(text, str)
        or not text.removeprefix("-").isdecimal()
        or len(text) > len(str(-MOST_SCALE))
    ):
        return None
    scale = int(text)
    return scale if str(scale) == text and abs(scale) <= MOST_SCALE else None


def _within(schema: Schema, dtype: pa.DataType, spelling: Spelling) -> Form | None:
    """Return the forms of the values within an array, a map or a struct; None if the schema says nothing about them."""
    if pa.types.is_list(dtype):
        return _each(schema.get("items"), dtype.value_type, spelling)
    if pa.types.is_map(dtype):
        return _each(schema.get("values"), dtype.item_type, spelling)
    if not pa.types.is_struct(dtype):
        return None
    forms = []
    for field in dtype:
        inner = schema_at(schema, (field.name,), spelling)
        if inner is not None and (form := _form(inner, field.type, spelling)) is not None:
            forms.append((field.name, form))
    return Fields(tuple(forms)) if forms else None


def _each(schema: object, dtype: pa.DataType, spelling: Spelling) -> Form | None:
    form = _form(schema, dtype, spelling) if isinstance(schema, dict) else None
    return None if form is None else Each(form)


def _unnamed(schema: Schema, dtype: pa.DataType, in_bytes: bool) -> Form | None:
    """Return how a primitive type without a meaning fills a column: only decimals may be texts, numbers or bytes."""
    kind = schema.get("type")
    if not pa.types.is_decimal128(dtype) or not isinstance(kind, str):
        return None
    if kind == "bytes":
        return Mismatch("bytes of no known scale")
    return AsWritten(kind) if in_bytes and (kind == "string" or kind in _NUMBERS) else None
