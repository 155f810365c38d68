"""Read row images whose decimals are written as strings, as numbers, or as Kafka Connect's bytes in base64.

A text such as "1990" is a valid number and also the base64 of a different one. The record's schema or the map decides; if
neither does, the record is refused. JSON numbers are accepted even if the schema says bytes, because converters with
`decimal.format: NUMERIC` write them so.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
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
from kafka2hive.decode.change_logs.schema_decimals import (
    LEAST_SCALE,
    NUMBER,
    OTHER,
    TEXT,
    UNKNOWN,
    Forms,
    SchemaDecimals,
)
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import OpenDecoder
from kafka2hive.decode.values.batch import Mask, Places, mask_of
from kafka2hive.decode.values.connect_decimals import rescale
from kafka2hive.decode.values.scalars import NO_NUMBER
from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.plugins import Reason

NUMBER_AND_BASE64 = re.compile(r"\+?[0-9]+(?:[eE]\+?[0-9]+)?")
"""Texts that are numbers, and also base64 if their length is a multiple of four."""

DecimalForm = Literal["own", "text", "base64"]
"""How decimals are written: `own` as the format defines, `text` as strings or numbers, `base64` as bytes."""

_MOST_READERS = 100
"""Maximum number of readers kept in memory. A table needs one for each combination of forms in its records."""
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


@dataclass(frozen=True, slots=True)
class _Decimal:
    """A decimal column, or a decimal field of the row before the change.

    `key` is its key in the row, or None if its source is a path of several keys.
    """

    name: str
    type: pa.Decimal128Type
    key: str | None


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
    decimals = [
        _Decimal(field.name, field.type, source.keys[0] if len(source.keys) == 1 else None)
        for field, source in row
        if pa.types.is_decimal128(field.type)
    ]
    before = schema.field(BEFORE).type if BEFORE in schema.names else pa.struct([])
    decimals += [
        _Decimal(_of_before(field.name), field.type, field.name)
        for field in before
        if pa.types.is_decimal128(field.type)
    ]
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
    """Reads images with decimals in any form; records are grouped by the forms of their decimals."""

    def __init__(
        self, plan: Plan, open_decoder: OpenDecoder, decimals: Sequence[_Decimal], form: DecimalForm | None
    ) -> None:
        self._plan = plan
        self._open_decoder = open_decoder
        self._decimals = decimals
        self._form = form
        self._readers: dict[tuple[int, str, tuple[int, ...]], _ImageReader] = {}
        self._are_numbers = False
        self._schema_decimals = cache(
            lambda: SchemaDecimals(open_decoder, [decimal.key for decimal in decimals])
        )

    def read(self, values: pa.BinaryArray, prefix: int, image: str) -> ImageRows:
        forms = np.full((len(values), len(self._decimals)), UNKNOWN, np.int16)
        refusals: dict[int, Reason] = {}
        if prefix and len(values):
            forms, refusals = self._schema_decimals().forms(values)
        for place, why in self._contradictions(forms).items():
            refusals.setdefault(place, why)
        if self._form == "text":
            forms = np.where(forms >= LEAST_SCALE, np.int16(NUMBER), np.int16(TEXT))
        if self._form == "base64":
            forms[:] = [decimal.type.scale for decimal in self._decimals]
        good = np.ones(len(values), np.bool_)
        good[list(refusals)] = False
        parts = []
        for same, places in _places_by_forms(forms, good):
            part = values if len(places) == len(values) else values.take(pa.array(places))
            parts.append(self._of_one_form(part, prefix, image, same).at(places))
        whole = merge_parts(parts)
        return ImageRows(whole.rows, whole.places, refusals | whole.refusals)

    def _of_one_form(
        self, values: pa.BinaryArray, prefix: int, image: str, forms: tuple[int, ...]
    ) -> ImageRows:
        """Read records whose decimals have the same forms. If a form is bytes, the value may still be a number.

        All records are first read as bytes or as numbers, whichever suited most records of the last batch. The refused records
        are then read in the other form.
        """
        if self._form is not None or max(forms) < LEAST_SCALE:
            return self._reader(prefix, image, forms).read(values)
        readers = [
            self._reader(prefix, image, forms),
            self._reader(prefix, image, tuple(NUMBER if form >= LEAST_SCALE else form for form in forms)),
        ]
        first = int(self._are_numbers)
        part = readers[first].read(values)
        if not part.refusals:
            return part
        places = np.array(sorted(part.refusals), dtype=np.int64)
        other = readers[1 - first].read(values.take(pa.array(places))).at(places)
        if len(other.rows) > len(part.rows):
            self._are_numbers = not self._are_numbers
        of_bytes, of_numbers = (part, other) if first == 0 else (other, part)
        refusals = {
            place: of_numbers.refusals[place] if why.code == "json.type" else why
            for place, why in of_bytes.refusals.items()
            if place in of_numbers.refusals
        }
        return merge_parts(
            [ImageRows(part.rows, part.places, {}), ImageRows(other.rows, other.places, refusals)]
        )

    def _contradictions(self, forms: Forms) -> dict[int, Reason]:
        """Return the refusals, by record, for schemas that contradict the map or do not declare a decimal column as a decimal."""
        reasons: dict[int, Reason] = {}
        for number, decimal in enumerate(self._decimals):
            codes = forms[:, number]
            bad = codes == OTHER
            if self._form == "base64":
                bad = (codes != UNKNOWN) & (codes != decimal.type.scale)
            for at in np.flatnonzero(bad).tolist():
                text = self._contradiction(decimal, int(codes[at]))
                reasons.setdefault(at, Reason("change_log.scale", text, decimal.name))
        return reasons

    def _contradiction(self, decimal: _Decimal, code: int) -> str:
        if self._form == "base64":
            says = f"scale {code}" if code >= LEAST_SCALE else "another type"
            return f"{decimal.key} has scale {decimal.type.scale}, the record's schema says {says}"
        return f"{decimal.key} is a decimal, the record's schema says bytes of no known scale"

    def _reader(self, prefix: int, image: str, forms: tuple[int, ...]) -> "_ImageReader":
        key = prefix, image, forms
        if key not in self._readers:
            if len(self._readers) >= _MOST_READERS:
                self._readers.clear()
            plan = self._plan(prefix, image)
            self._readers[key] = _ImageReader(
                plan, self._open_decoder, self._decimals, forms, is_in_map=self._form is not None
            )
        return self._readers[key]


class _ImageReader:
    """Reads records with the same forms of decimals: TEXT, NUMBER, UNKNOWN, or for bytes their scale.

    The row before the change is read field by field, because each of its decimals may have a different form.
    """

    def __init__(
        self,
        plan: Sequence[ImageColumn],
        open_decoder: OpenDecoder,
        decimals: Sequence[_Decimal],
        forms: Sequence[int],
        is_in_map: bool,
    ) -> None:
        """`is_in_map` is whether the map says how decimals are written."""
        self._plan = plan
        self._is_in_map = is_in_map
        self._open_decoder = open_decoder
        self._forms = {
            decimal.name: (decimal.type, form) for decimal, form in zip(decimals, forms, strict=True)
        }
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
            kind, form = self._forms.get(name, (None, TEXT))
            if form in (UNKNOWN, NUMBER):
                messages = values if len(part.places) == len(values) else values.take(pa.array(part.places))
                judge = ambiguous_texts if form == UNKNOWN else _texts_for_numbers
                refusals |= judge(messages, columns[name], column, self._open_decoder)
            elif form != TEXT:
                columns[name], bad = rescale(columns[name], kind, form)
                text = f"column {name}: the bytes are not a {hive_type_of(kind)}"
                why = Reason("change_log.decimal", text, name)
                refusals |= dict.fromkeys(np.flatnonzero(bad).tolist(), why)
        arrays = [_whole(column, columns) for column in self._plan]
        schema = pa.schema([(column.name, column.type) for column in self._plan])
        rows = pa.RecordBatch.from_arrays(arrays, schema=schema)
        return ImageRows(rows, part.places, reasons).refusing(refusals)

    def _with_hint(self, reason: Reason) -> Reason:
        """Return the reason, with a hint if it refuses a string that is not a number and may be bytes."""
        _, form = self._forms.get(reason.column, (None, TEXT))
        if reason.code != "json.type" or reason.path or not reason.got.endswith(NO_NUMBER):
            return reason
        if form == NUMBER and self._is_in_map:
            return _no_number(reason.column)
        if form == UNKNOWN:
            hint = ": bytes in base64 need source: {debezium: {decimals: base64}}"
            return replace(reason, text=reason.text + hint)
        return reason

    def _wire(self, column: ImageColumn) -> ImageColumn:
        """Return the column with the type in which the decoder must read it."""
        kind, form = self._forms.get(column.name, (None, TEXT))
        if form < LEAST_SCALE:
            return column
        expects = f"{hive_type_of(kind)} as bytes in base64"
        return replace(column, type=pa.binary(), source=replace(column.source, expects=expects))


def _texts_for_numbers(
    values: pa.BinaryArray, column: pa.Array, image_column: ImageColumn, open_decoder: OpenDecoder
) -> dict[int, Reason]:
    """Return the refusals, by record, of strings where only numbers are accepted."""
    texts = texts_among(values, column.is_valid(), image_column, open_decoder)
    return dict.fromkeys(texts, _no_number(image_column.name))


def _no_number(column: str) -> Reason:
    return Reason(
        "change_log.scale",
        f"column {column} holds a text: a number according to the map (decimals: text),"
        " but bytes according to the record's schema",
        column,
    )


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


def _places_by_forms(forms: Forms, good: Mask) -> list[tuple[tuple[int, ...], Places]]:
    """Return the places of the good records, grouped by forms; if there are none, one group without places."""
    places = np.flatnonzero(good)
    if not len(places):
        return [((TEXT,) * forms.shape[1], places)]
    distinct, group = np.unique(forms[places], axis=0, return_inverse=True)
    group = group.reshape(-1)
    return [(tuple(same.tolist()), places[group == number]) for number, same in enumerate(distinct)]


def _holds_decimals(dtype: pa.DataType) -> bool:
    if pa.types.is_map(dtype):
        return _holds_decimals(dtype.item_type)
    if pa.types.is_list(dtype):
        return _holds_decimals(dtype.value_type)
    if pa.types.is_struct(dtype):
        return any(_holds_decimals(field.type) for field in dtype)
    return bool(pa.types.is_decimal128(dtype))
