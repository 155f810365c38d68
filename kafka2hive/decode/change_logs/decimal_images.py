"""Read row images whose decimals are written as strings, as numbers, or as Kafka Connect's bytes in base64.

A text such as "1990" is a valid number and also the base64 of a different one. The record's schema decides, by which the
decoder of JSON reads the decimal; otherwise the map; if neither does, the record is refused.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys.source import BEFORE
from kafka2hive.decode.change_logs.images import (
    IMAGE,
    ImageColumn,
    ImageRows,
    Images,
    PlainImages,
    Plan,
    decoder_of,
    merge_parts,
    rows_of,
)
from kafka2hive.decode.contract.sources import Source, exact_spelling, lower_case_spelling
from kafka2hive.decode.contract.spec import OpenDecoder
from kafka2hive.decode.semantics.connect import Schema, schema_at
from kafka2hive.decode.semantics.records import RecordSchemas
from kafka2hive.decode.values.batch import mask_of
from kafka2hive.decode.values.connect_decimals import decimals_of
from kafka2hive.decode.values.scalars import NO_NUMBER
from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.plugins import Reason

NUMBER_AND_BASE64 = re.compile(r"\+?[0-9]+(?:[eE]\+?[0-9]+)?")
"""Texts that are numbers, and also base64 if their length is a multiple of four."""

DecimalForm = Literal["own", "text", "base64"]
"""How decimals are written: `own` as the format defines, `text` as strings or numbers, `base64` as bytes."""

_MOST_READERS = 100
"""Maximum number of readers kept in memory. A table needs one for each set of decimals that its records' schemas describe."""
_ESCAPE = r"\\u"
_SHOWN = 40
_WIDEST = 76
"""The digits of Arrow's widest decimal, more than any column has."""


def ambiguous_texts(
    values: pa.BinaryArray, column: pa.Array, image_column: ImageColumn, open_decoder: OpenDecoder
) -> dict[int, Reason]:
    """Return the refusals, by record, of strings of this decimal column that are valid both as a number and as base64.

    `column` holds the same records' values, read from strings or numbers. Only a whole number that is not negative may be
    ambiguous.
    """
    # Arrow's trunc may fail with the column's precision
    wide = column.cast(pa.decimal256(_WIDEST, column.type.scale))
    whole = pc.and_(pc.equal(wide, pc.trunc(wide)), pc.greater_equal(wide, pa.scalar(0, wide.type)))
    return {
        place: Reason(
            "change_log.decimal",
            f'column {image_column.name}: "{text[:_SHOWN]}" is a number, and also the base64 of another number:'
            " set source: {debezium: {decimals: text}} (decimal.handling.mode string or double), or base64 (precise)",
            image_column.name,
        )
        for place, text in texts_among(values, whole, image_column, open_decoder).items()
        if len(text) % 4 == 0 and NUMBER_AND_BASE64.fullmatch(text)
    }


def texts_among(
    values: pa.BinaryArray, mask: pa.BooleanArray, image_column: ImageColumn, open_decoder: OpenDecoder
) -> dict[int, str]:
    """Return by record the column's values that are JSON strings, in the records of the mask.

    Only records in which a quote follows the key are decoded again.
    """
    key = image_column.source.keys[-1]
    if key.isascii():
        quoted = rf'(?i)"{re.escape(key)}"[ \t\r\n]*:[ \t\r\n]*"|{_ESCAPE}'
        mask = pc.and_(mask, pc.match_substring_regex(values, quoted))
    places = np.flatnonzero(mask_of(mask))
    if not len(places):
        return {}
    text_column = ImageColumn(image_column.name, pa.string(), image_column.source)
    decoder = decoder_of([text_column], open_decoder)
    part = rows_of(decoder.decode(values.take(pa.array(places)))).at(places)
    texts = zip(part.places.tolist(), part.rows.column(0).to_pylist(), strict=True)
    return {place: text for place, text in texts if text is not None}


def images_of(
    plan: Plan,
    open_decoder: OpenDecoder,
    row: Sequence[tuple[pa.Field, Source]],
    schema: pa.Schema,
    form: DecimalForm | None,
) -> Images:
    """Return the reader of images. `row` has the row's columns, `schema` all columns; `form` is None if the map does not give it.

    Raises ValueError if a nested column contains decimals and the map does not say how they are written.
    """
    before = schema.field(BEFORE).type if BEFORE in schema.names else pa.struct([])
    types = {field.name: field.type for field, _ in row} | {_of_before(f.name): f.type for f in before}
    decimals = {name: kind for name, kind in types.items() if pa.types.is_decimal128(kind)}
    if form is None:
        nested = [f.name for f, _ in row if pa.types.is_nested(f.type) and _holds_decimals(f.type)]
        if nested:
            raise ValueError(
                f"column {nested[0]} contains decimals, which may be texts or bytes: set in the map which they are, "
                "source: {debezium: {decimals: text}} (decimal.handling.mode string or double)"
            )
    if form == "own" or not decimals:
        return PlainImages(plan, open_decoder)
    return DecimalImages(plan, open_decoder, decimals, form)


class DecimalImages:
    """Reads images whose decimals may have any form; records are grouped by the decimals that their schemas describe."""

    def __init__(
        self,
        plan: Plan,
        open_decoder: OpenDecoder,
        decimals: Mapping[str, pa.Decimal128Type],
        form: DecimalForm | None,
    ) -> None:
        """`decimals`: the types of the row's decimals, and of those in the row before the change, by name."""
        self._plan = plan
        self._open_decoder = open_decoder
        self._decimals = decimals
        self._form = form
        self._schemas: dict[tuple[int, str], RecordSchemas[frozenset[str]]] = {}
        self._readers: dict[tuple[int, str, frozenset[str]], _ImageReader] = {}

    def read(self, values: pa.BinaryArray, prefix: int, image: str) -> ImageRows:
        if not prefix:
            return self._reader(prefix, image, frozenset()).read(values)
        groups = self._schemas_of(prefix, image).groups(values)
        return merge_parts(
            [
                self._reader(prefix, image, described)
                .read(values if len(places) == len(values) else values.take(pa.array(places)))
                .at(places)
                for described, places in groups.items()
            ]
        )

    def _schemas_of(self, prefix: int, image: str) -> RecordSchemas[frozenset[str]]:
        """Return the judge of records' schemas: it returns the names of the decimals that a schema describes."""
        key = prefix, image
        if key not in self._schemas:
            columns = [flat for column in self._plan(prefix, image) for flat in _flat(column)]
            paths = {c.name: c.source.keys[1:] for c in columns if c.name in self._decimals}
            self._schemas[key] = RecordSchemas(partial(_described, paths=paths))
        return self._schemas[key]

    def _reader(self, prefix: int, image: str, described: frozenset[str]) -> "_ImageReader":
        key = prefix, image, described
        if key not in self._readers:
            if len(self._readers) >= _MOST_READERS:
                self._readers.clear()
            unclear = {name: kind for name, kind in self._decimals.items() if name not in described}
            self._readers[key] = _ImageReader(
                self._plan(prefix, image), self._open_decoder, unclear, self._form
            )
        return self._readers[key]


def _described(schema: Schema | None, paths: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    """Return the names whose values the schema describes."""
    if schema is None:
        return frozenset()
    # Hive's names are in lower case
    return frozenset(
        name
        for name, path in paths.items()
        if schema_at(schema, path, exact_spelling) or schema_at(schema, path, lower_case_spelling)
    )


class _ImageReader:
    """Reads records whose schemas describe the same decimals.

    The row before the change is read field by field, because each of its decimals may be written differently.
    """

    def __init__(
        self,
        plan: Sequence[ImageColumn],
        open_decoder: OpenDecoder,
        unclear: Mapping[str, pa.Decimal128Type],
        form: DecimalForm | None,
    ) -> None:
        """`unclear`: the decimals that no schema describes. `form`: how the map says that they are written."""
        self._plan = plan
        self._open_decoder = open_decoder
        self._unclear = unclear
        self._form = form
        self._flat = [flat for column in plan for flat in _flat(column)]
        wire = [self._wire(column) for column in self._flat]
        self._decoder = decoder_of(wire, open_decoder)

    def read(self, values: pa.BinaryArray) -> ImageRows:
        part = rows_of(self._decoder.decode(values))
        reasons = {place: self._with_hint(reason) for place, reason in part.refusals.items()}
        columns = dict(zip(part.rows.schema.names, part.rows.columns, strict=True))
        refusals: dict[int, Reason] = {}
        for column in self._flat:
            name = column.name
            if (kind := self._unclear.get(name)) is None:
                continue
            if self._form == "base64":
                columns[name], bad = decimals_of(columns[name], kind)
                text = f"column {name}: the bytes are not a {hive_type_of(kind)}"
                why = Reason("change_log.decimal", text, name)
                refusals |= dict.fromkeys(np.flatnonzero(bad).tolist(), why)
            elif self._form is None:
                messages = values if len(part.places) == len(values) else values.take(pa.array(part.places))
                refusals |= ambiguous_texts(messages, columns[name], column, self._open_decoder)
        arrays = [_whole(column, columns) for column in self._plan]
        schema = pa.schema([(column.name, column.type) for column in self._plan])
        rows = pa.RecordBatch.from_arrays(arrays, schema=schema)
        return ImageRows(rows, part.places, reasons).refusing(refusals)

    def _with_hint(self, reason: Reason) -> Reason:
        """Return the reason, with a hint if it refuses a string that is not a number and may be bytes."""
        may_be_bytes = self._form is None and reason.column in self._unclear and not reason.path
        if reason.code == "json.type" and may_be_bytes and reason.got.endswith(NO_NUMBER):
            hint = ": bytes in base64 need source: {debezium: {decimals: base64}}"
            return replace(reason, text=reason.text + hint)
        return reason

    def _wire(self, column: ImageColumn) -> ImageColumn:
        """Return the column with the type in which the decoder must read it."""
        kind = self._unclear.get(column.name)
        if kind is None or self._form != "base64":
            return column
        expects = f"{hive_type_of(kind)} as bytes in base64"
        return replace(column, type=pa.binary(), source=replace(column.source, expects=expects))


def _of_before(field: str) -> str:
    return f"{BEFORE}.{field}"


def _flat(column: ImageColumn) -> list[ImageColumn]:
    """Split the row before the change into a presence flag and a column per field; return any other column unchanged."""
    if column.name != BEFORE:
        return [column]
    fields = [
        ImageColumn(_of_before(f.name), f.type, Source((*column.source.keys, f.name))) for f in column.type
    ]
    return [replace(column, type=IMAGE), *fields]


def _whole(column: ImageColumn, columns: dict[str, pa.Array]) -> pa.Array:
    """Rebuild a column from the parts that `_flat` made."""
    if column.name != BEFORE:
        return columns[column.name]
    fields = [columns[_of_before(field.name)] for field in column.type]
    return pa.StructArray.from_arrays(fields, fields=list(column.type), mask=columns[BEFORE].is_null())


def _holds_decimals(dtype: pa.DataType) -> bool:
    if pa.types.is_map(dtype):
        return _holds_decimals(dtype.item_type)
    if pa.types.is_list(dtype):
        return _holds_decimals(dtype.value_type)
    if pa.types.is_struct(dtype):
        return any(_holds_decimals(field.type) for field in dtype)
    return bool(pa.types.is_decimal128(dtype))
