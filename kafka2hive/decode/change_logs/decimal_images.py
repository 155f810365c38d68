"""Images of rows whose decimals may be texts, numbers or Kafka Connect's bytes in base64.

A text such as "1990" is a number and also the base64 of another one. What it is, the schema beside the record says, or the
map; where neither does, it is refused. Where the schema says bytes, a number is one nevertheless: converters with
`decimal.format: NUMERIC` write them so.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys.change_log import BEFORE
from kafka2hive.decode.change_logs.images import (
    IMAGE,
    ImageColumns,
    ImageRows,
    Images,
    Open,
    PlainImages,
    Plan,
    merged,
    opened,
    rows_of,
)
from kafka2hive.decode.change_logs.schema_decimals import (
    LEAST_SCALE,
    NUMBER,
    OTHER,
    TEXT,
    UNTOLD,
    SchemaDecimals,
    Told,
)
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.values.connect_decimals import rescaled
from kafka2hive.decode.values.scalars import NO_NUMBER
from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.plugins import Reason

BOTH = re.compile(r"\+?[0-9]+(?:[eE]\+?[0-9]+)?")
"""What numbers are spelled with and base64, too; of a length that four divides it is both."""

_ESCAPE = r"\\u"
_SHOWN = 40
_ROOM = 76
"""Digits, more than any column has."""


def ambiguous(
    values: pa.BinaryArray, column: pa.Array, wanted: ImageColumns, open_decoder: Open
) -> dict[int, Reason]:
    """Which records have such a text for this decimal, and why they are refused.

    `column` has been read of the same records as texts or numbers: only a whole number that is not negative may be one.
    """
    wide = column.cast(
        pa.decimal256(_ROOM, column.type.scale)
    )  # in the column's own digits Arrow may fail to round
    whole = pc.and_(pc.equal(wide, pc.trunc(wide)), pc.greater_equal(wide, pa.scalar(0, wide.type)))
    return {
        place: Reason(
            "change_log.decimal",
            f'column {wanted.name}: "{text[:_SHOWN]}" is a number, and also the base64 of another one:'
            " set source: {debezium: {decimals: text}} (decimal.handling.mode string or double), or base64 (precise)",
            wanted.name,
        )
        for place, text in texts_among(values, whole, wanted, open_decoder).items()
        if len(text) % 4 == 0 and BOTH.fullmatch(text)
    }


def texts_among(
    values: pa.BinaryArray, candidates: pa.BooleanArray, wanted: ImageColumns, open_decoder: Open
) -> dict[int, str]:
    """The texts that stand for a column in the candidates among some records; numbers and nulls are none.

    They are read only where a quote stands behind the key.
    """
    key = wanted.source.keys[-1]
    if key.isascii():
        quoted = rf'(?i)"{re.escape(key)}"[ \t\r\n]*:[ \t\r\n]*"|{_ESCAPE}'
        candidates = pc.and_(candidates, pc.match_substring_regex(values, quoted))
    places = np.flatnonzero(pc.fill_null(candidates, False).to_numpy(zero_copy_only=False))
    if not len(places):
        return {}
    decoder = opened([ImageColumns(wanted.name, pa.string(), wanted.source)], open_decoder)
    texts = rows_of(decoder.decode(values.take(pa.array(places)))).at(places)
    found = zip(texts.places.tolist(), texts.rows.column(0).to_pylist(), strict=True)
    return {place: text for place, text in found if text is not None}


DecimalForm = Literal["own", "text", "base64"]
"""`own`: those of the format, which are never in doubt. `text`: as texts or numbers. `base64`: as bytes."""

_REMEMBERED = 100
"""Decoders; a table has one for each form that its records have."""


@dataclass(frozen=True, slots=True)
class _Decimal:
    """A column, or a field of the row before the change; `key`: in the row, None where it is none of the row's own."""

    name: str
    type: pa.Decimal128Type
    key: str | None


def images_of(
    plan: Plan,
    open_decoder: Open,
    row: Sequence[tuple[pa.Field, Source]],
    schema: pa.Schema,
    form: DecimalForm | None,
) -> Images:
    """`row`: the columns of the row; `schema`: all of the table's. Raises ValueError where a column with parts holds decimals
    and nobody says how they are written.
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
                f"column {nested[0]} holds decimals, which may be texts or bytes: say which in the map, "
                "source: {debezium: {decimals: text}} (decimal.handling.mode string or double)"
            )
    if form == "own" or not decimals:
        return PlainImages(plan, open_decoder)
    return DecimalImages(plan, open_decoder, decimals, form)


class DecimalImages:
    """See the module."""

    def __init__(
        self, plan: Plan, open_decoder: Open, decimals: Sequence[_Decimal], form: DecimalForm | None
    ) -> None:
        self._plan = plan
        self._open_decoder = open_decoder
        self._decimals = decimals
        self._form = form
        self._opened: dict[tuple[int, str, tuple[int, ...]], _Reader] = {}
        self._are_numbers = False
        self._told = cache(lambda: SchemaDecimals(open_decoder, [one.key for one in decimals]))

    def read(self, values: pa.BinaryArray, prefix: int, image: str) -> ImageRows:
        told = np.full((len(values), len(self._decimals)), UNTOLD, np.int16)
        refused: dict[int, Reason] = {}
        if prefix and len(values):
            told, refused = self._told().of(values)
        for place, why in self._contradicted(told).items():
            refused.setdefault(place, why)
        if self._form == "text":
            told = np.where(told >= LEAST_SCALE, np.int16(NUMBER), np.int16(TEXT))
        if self._form == "base64":
            told[:] = [one.type.scale for one in self._decimals]
        good = np.ones(len(values), np.bool_)
        good[list(refused)] = False
        parts = []
        for forms, places in _groups(told, good):
            part = values if len(places) == len(values) else values.take(pa.array(places))
            parts.append(self._of_one_form(part, prefix, image, forms).at(places))
        whole = merged(parts)
        return ImageRows(whole.rows, whole.places, refused | whole.refused)

    def _of_one_form(
        self, values: pa.BinaryArray, prefix: int, image: str, forms: tuple[int, ...]
    ) -> ImageRows:
        """What is told to be bytes may be numbers; first is tried what most records of the last batch had."""
        if self._form is not None or max(forms) < LEAST_SCALE:
            return self._reader(prefix, image, forms).read(values)
        readers = [
            self._reader(prefix, image, forms),
            self._reader(prefix, image, tuple(NUMBER if form >= LEAST_SCALE else form for form in forms)),
        ]
        first = int(self._are_numbers)
        found = readers[first].read(values)
        if not found.refused:
            return found
        places = np.array(sorted(found.refused), dtype=np.int64)
        again = readers[1 - first].read(values.take(pa.array(places))).at(places)
        if len(again.rows) > len(found.rows):
            self._are_numbers = not self._are_numbers
        of_bytes, of_numbers = (found, again) if first == 0 else (again, found)
        refused = {
            place: of_numbers.refused[place] if why.code == "json.type" else why
            for place, why in of_bytes.refused.items()
            if place in of_numbers.refused
        }
        return merged([ImageRows(found.rows, found.places, {}), ImageRows(again.rows, again.places, refused)])

    def _contradicted(self, told: Told) -> dict[int, Reason]:
        """The records whose schema says something else of a decimal than the map, or no decimal at all; and what."""
        found: dict[int, Reason] = {}
        for column, one in enumerate(self._decimals):
            codes = told[:, column]
            bad = codes == OTHER
            if self._form == "base64":
                bad = (codes != UNTOLD) & (codes != one.type.scale)
            for at in np.flatnonzero(bad).tolist():
                found.setdefault(
                    at, Reason("change_log.scale", self._contradiction(one, int(codes[at])), one.name)
                )
        return found

    def _contradiction(self, one: _Decimal, code: int) -> str:
        if self._form == "base64":
            says = f"scale {code}" if code >= LEAST_SCALE else "another type"
            return f"{one.key} has scale {one.type.scale}, the record's schema says {says}"
        return f"{one.key} is a decimal, the record's schema says bytes of no known scale"

    def _reader(self, prefix: int, image: str, forms: tuple[int, ...]) -> "_Reader":
        wanted = prefix, image, forms
        if wanted not in self._opened:
            if len(self._opened) >= _REMEMBERED:
                self._opened.clear()
            plan = self._plan(prefix, image)
            self._opened[wanted] = _Reader(
                plan, self._open_decoder, self._decimals, forms, is_said=self._form is not None
            )
        return self._opened[wanted]


class _Reader:
    """Reads records whose decimals are written in the same `forms`: of each TEXT, NUMBER, UNTOLD, or the scale of its
    bytes.

    The row before the change is read field by field, as each has a form of its own.
    """

    def __init__(
        self,
        plan: Sequence[ImageColumns],
        open_decoder: Open,
        decimals: Sequence[_Decimal],
        forms: Sequence[int],
        is_said: bool,
    ) -> None:
        """`is_said`: the map says how decimals are written."""
        self._plan = plan
        self._is_said = is_said
        self._open_decoder = open_decoder
        self._forms = {one.name: (one.type, form) for one, form in zip(decimals, forms, strict=True)}
        self._flat = [flat for one in plan for flat in _flat(one)]
        wire = [self._wire(one) for one in self._flat]
        self._decoder = opened(wire, open_decoder)

    def read(self, values: pa.BinaryArray) -> ImageRows:
        part = rows_of(self._decoder.decode(values))
        told = {place: self._as_written(why) for place, why in part.refused.items()}
        part = ImageRows(part.rows, part.places, told)
        columns = dict(zip(part.rows.schema.names, part.rows.columns, strict=True))
        refused: dict[int, Reason] = {}
        for one in self._flat:
            kind, form = self._forms.get(one.name, (None, TEXT))
            if form in (UNTOLD, NUMBER):
                taken = values if len(part.places) == len(values) else values.take(pa.array(part.places))
                judge = ambiguous if form == UNTOLD else _texts
                refused |= judge(taken, columns[one.name], one, self._open_decoder)
            elif form != TEXT:
                columns[one.name], bad = rescaled(columns[one.name], kind, form)
                text = f"column {one.name}: no bytes of {hive_type_of(kind)}"
                why = Reason("change_log.decimal", text, one.name)
                refused |= dict.fromkeys(np.flatnonzero(bad).tolist(), why)
        arrays = [_whole(one, columns) for one in self._plan]
        schema = pa.schema([(one.name, one.type) for one in self._plan])
        rows = pa.RecordBatch.from_arrays(arrays, schema=schema)
        return ImageRows(rows, part.places, part.refused).refusing(refused)

    def _as_written(self, reason: Reason) -> Reason:
        """What is to be said of a text that is no number, where a decimal may be bytes."""
        _, form = self._forms.get(reason.column, (None, TEXT))
        if reason.code != "json.type" or reason.path or not reason.got.endswith(NO_NUMBER):
            return reason
        if form == NUMBER and self._is_said:
            return _no_number(reason.column)
        if form == UNTOLD:
            hint = ": bytes in base64 need source: {debezium: {decimals: base64}}"
            return replace(reason, text=reason.text + hint)
        return reason

    def _wire(self, one: ImageColumns) -> ImageColumns:
        """As the decoder reads it."""
        kind, form = self._forms.get(one.name, (None, TEXT))
        if form < LEAST_SCALE:
            return one
        expects = f"{hive_type_of(kind)} as bytes in base64"
        return replace(one, type=pa.binary(), source=replace(one.source, expects=expects))


def _texts(
    values: pa.BinaryArray, column: pa.Array, wanted: ImageColumns, open_decoder: Open
) -> dict[int, Reason]:
    """Why texts are refused that the map takes for such, or that would be bytes."""
    found = texts_among(values, column.is_valid(), wanted, open_decoder)
    return dict.fromkeys(found, _no_number(wanted.name))


def _no_number(column: str) -> Reason:
    return Reason(
        "change_log.scale",
        f"column {column} holds a text, which the map says is a number (decimals: text),"
        " the record's schema says bytes",
        column,
    )


def _of_before(field: str) -> str:
    return f"{BEFORE}.{field}"


def _flat(one: ImageColumns) -> list[ImageColumns]:
    if one.name != BEFORE:
        return [one]
    fields = [ImageColumns(_of_before(f.name), f.type, Source((*one.source.keys, f.name))) for f in one.type]
    return [replace(one, type=IMAGE), *fields]


def _whole(one: ImageColumns, columns: dict[str, pa.Array]) -> pa.Array:
    if one.name != BEFORE:
        return columns[one.name]
    fields = [columns[_of_before(field.name)] for field in one.type]
    return pa.StructArray.from_arrays(fields, fields=list(one.type), mask=columns[BEFORE].is_null())


def _groups(told: Told, good: npt.NDArray[np.bool_]) -> list[tuple[tuple[int, ...], npt.NDArray[np.int64]]]:
    """The good records by what is told of them; at least one group, be it empty."""
    places = np.flatnonzero(good)
    if not len(places):
        return [((TEXT,) * told.shape[1], places)]
    kinds, of = np.unique(told[places], axis=0, return_inverse=True)
    of = of.reshape(-1)
    return [(tuple(kind.tolist()), places[of == number]) for number, kind in enumerate(kinds)]


def _holds_decimals(dtype: pa.DataType) -> bool:
    if pa.types.is_map(dtype):
        return _holds_decimals(dtype.item_type)
    if pa.types.is_list(dtype):
        return _holds_decimals(dtype.value_type)
    if pa.types.is_struct(dtype):
        return any(_holds_decimals(field.type) for field in dtype)
    return bool(pa.types.is_decimal128(dtype))
