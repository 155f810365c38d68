"""The map's options of single columns, as wrappers of decoders that fill named columns.

The wrappers for several paths and for defaults work with every such format. LeewayDecoder, for fractions and for decimals as
bytes, works with JSON only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys.json_path import path_text
from kafka2hive.config.keys.leeway import STRICT, Leeway
from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode.contract.forms import Mismatch, SinceMidnight, note
from kafka2hive.decode.contract.sources import Characters, Source, labels, names_in_table
from kafka2hive.decode.contract.spec import FRACTION, Changes, DecoderSpec, MakeDecoder, OpenDecoder
from kafka2hive.decode.values.batch import Mask, mask_of, refusals_of
from kafka2hive.decode.values.clock_texts import NO_CLOCK, clock_texts
from kafka2hive.decode.values.connect_decimals import decimals_of
from kafka2hive.decode.values.declared_times import has_declared_times
from kafka2hive.decode.values.epochs import finer_than_micros, of_epoch_numbers
from kafka2hive.decode.values.json_values import ValueRefusal
from kafka2hive.decode.values.map_keys import in_texts, keyed_columns
from kafka2hive.decode.values.texts import TextColumn, text_taker
from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.model.time_patterns import ARRAY
from kafka2hive.model.wall_clock import NAIVE, check_zone
from kafka2hive.plugins import Decoded, Decoder, Reason

Conversion = tuple[pa.Array, Mapping[int, Reason]]
"""A column, and by row number the reasons against values that it cannot hold."""


def of_named_columns(spec: DecoderSpec, make: MakeDecoder) -> Decoder:
    """Return the format's decoder (made by `make`) for columns that may have several paths and defaults."""
    sources = spec.source_of_each()
    decoder = with_several_paths(
        spec.format,
        spec.schema,
        sources,
        lambda columns, of: with_map_keys(spec.of_columns(columns, of), make),
    )
    return with_defaults(decoder, sources, spec.zone, spec.changes)


def with_map_keys(spec: DecoderSpec, make: MakeDecoder) -> Decoder:
    """Return the format's decoder, made by `make`, for columns with maps whose keys may be other values than strings."""
    wire = pa.schema([field.with_type(in_texts(field.type)) for field in spec.schema])
    return (
        make(spec) if wire == spec.schema else MapKeysDecoder(spec, make(spec.of_columns(wire, spec.sources)))
    )


class MapKeysDecoder:
    """Converts the keys of maps, which `decoder` returns as strings, to the types of the columns.

    Rejects messages with a key that is no value of its type, or with two equal keys in a map.
    """

    def __init__(self, spec: DecoderSpec, decoder: Decoder) -> None:
        self.schema = spec.schema
        self._decoder = decoder
        names, sources = spec.schema.names, spec.source_of_each()
        self._conversions = keyed_columns(
            schema=spec.schema,
            names=names_in_table(names, sources),
            labels=labels(names, sources),
            zone=spec.zone,
            family="json" if spec.format == "json_schema" else spec.format,
        )

    def decode(self, values: pa.BinaryArray) -> Decoded:
        decoded = self._decoder.decode(values)
        columns = list(decoded.rows.columns)
        refusals: dict[int, Reason] = {}
        for number, convert in self._conversions.items():
            columns[number], bad = convert(columns[number])
            refusals = {**bad, **refusals}
        return with_columns(decoded, pa.RecordBatch.from_arrays(columns, schema=self.schema), refusals)


def check_columns(spec: DecoderSpec) -> None:
    """Raise ValueError if there are no columns, two have the same name, or the zone is unknown.

    Raises HiveTypeError for a type outside the acceptance table.
    """
    schema = spec.schema
    if len(schema) == 0 or len(set(schema.names)) != len(schema):
        raise ValueError(
            f"format {spec.format} needs columns with distinct names, but the table has: {schema.names}"
        )
    for field in schema:
        hive_type_of(field.type)  # raises HiveTypeError
    check_zone(spec.zone)


def with_several_paths(
    format: str, schema: pa.Schema, sources: Sequence[Source], open_decoder: OpenDecoder
) -> Decoder:
    """Return a decoder of columns that may have several paths. If no column has several, `open_decoder` makes it directly."""
    if not any(source.leeway.others for source in sources):
        return open_decoder(schema, sources)
    return SeveralPathsDecoder(format, schema, sources, open_decoder)


class SeveralPathsDecoder:
    """Reads each path of a column as a separate column, and takes the value that is not null.

    A message with different values at two paths becomes a dead letter (`ambiguous`), because either may be the right one.
    """

    def __init__(
        self, format: str, schema: pa.Schema, sources: Sequence[Source], open_decoder: OpenDecoder
    ) -> None:
        self.schema = schema
        self._format = format
        self._sources = sources
        fields, field_sources = list(schema), [_with_one_path(source, source.keys) for source in sources]
        for field, source in zip(schema, sources, strict=True):
            for number, keys in enumerate(source.leeway.others, 1):
                fields.append(field.with_name(f"{field.name} ({number})"))
                field_sources.append(replace(_with_one_path(source, keys), column=field.name))
        self._inner = open_decoder(pa.schema(fields), field_sources)

    def decode(self, values: pa.BinaryArray) -> Decoded:
        decoded = self._inner.decode(values)
        columns = list(decoded.rows.columns[: len(self.schema)])
        other_number = len(columns)  # the columns of further paths come after the table's columns
        refusals: dict[int, Reason] = {}
        for number, source in enumerate(self._sources):
            paths = [source.keys]
            for keys in source.leeway.others:
                other = decoded.rows.column(other_number)
                for row in np.flatnonzero(_differ(columns[number], other)).tolist():
                    all_paths = " and ".join(path_text(path) for path in (*paths, keys))
                    column = self.schema.names[number]
                    text = f"column {column}: {all_paths} have different values"
                    refusals.setdefault(row, Reason(f"{self._format}.ambiguous", text, column))
                columns[number] = _fill_nulls(columns[number], other)
                paths.append(keys)
                other_number += 1
        return with_columns(decoded, pa.RecordBatch.from_arrays(columns, schema=self.schema), refusals)


def _with_one_path(source: Source, keys: tuple[str, ...]) -> Source:
    return replace(source, keys=keys, leeway=replace(source.leeway, others=()))


def _fill_nulls(column: pa.Array, other: pa.Array) -> pa.Array:
    """Return `column` with the values of `other` in place of nulls."""
    if not column.null_count:
        return column
    rows = np.arange(len(column))
    missing = mask_of(column.is_null())
    return pa.concat_arrays([column, other]).take(pa.array(np.where(missing, len(column) + rows, rows)))


def _differ(column: pa.Array, other: pa.Array) -> Mask:
    """Return the mask of rows in which both have a value and the values differ."""
    both = mask_of(pc.and_(column.is_valid(), other.is_valid()))
    differ: Mask = np.zeros(len(column), np.bool_)
    places = np.flatnonzero(both)
    if not len(places):
        return differ
    first, second = column.take(pa.array(places)), other.take(pa.array(places))
    if pa.types.is_nested(column.type):
        same = [repr(a) == repr(b) for a, b in zip(first.to_pylist(), second.to_pylist(), strict=True)]
        differ[places] = ~np.array(same, np.bool_)
        return differ
    equal = pc.equal(first, second)
    if pa.types.is_floating(column.type):
        equal = pc.or_(equal, pc.and_(pc.is_nan(first), pc.is_nan(second)))
    differ[places] = ~mask_of(equal)
    return differ


def with_defaults(decoder: Decoder, sources: Sequence[Source], zone: str, changes: Changes) -> Decoder:
    """Return a decoder that fills defaults; `decoder` itself if no column has one.

    Raises ValueError for a default that its column cannot hold.
    """
    if all(source.leeway.default is None for source in sources):
        return decoder
    return DefaultsDecoder(decoder, sources, zone, changes)


class DefaultsDecoder:
    """Decodes messages for columns with defaults, and counts the values that it fills."""

    def __init__(self, decoder: Decoder, sources: Sequence[Source], zone: str, changes: Changes) -> None:
        self.schema = decoder.schema
        self._decoder = decoder
        self._changes = changes
        self._defaults = {
            number: _value(self.schema.field(number), source.leeway.default, zone)
            for number, source in enumerate(sources)
            if source.leeway.default is not None
        }

    def decode(self, values: pa.BinaryArray) -> Decoded:
        decoded = self._decoder.decode(values)
        columns = list(decoded.rows.columns)
        for number, default in self._defaults.items():
            self._changes.add_defaults(self.schema.names[number], columns[number].null_count)
            columns[number] = pc.fill_null(columns[number], default)
        rows = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        return replace(decoded, rows=rows)


def _value(field: pa.Field, text: str, zone: str) -> pa.Scalar:
    try:
        return pa.scalar(text_taker(field.type, zone)(text, field.name), field.type)
    except ValueRefusal as refusal:
        raise ValueError(f"column {field.name}: its default {text!r}: {refusal.text}") from refusal


def with_leeway(
    schema: pa.Schema,
    zone: str,
    sources: Sequence[Source],
    changes: Changes,
    open_decoder: OpenDecoder,
    library: Any = LIBRARY,
) -> Decoder:
    """Return a decoder of columns that may have leeway. If no column has any, `open_decoder` makes it directly.

    `library`: the compiled library; None: everything is read in Python.
    """
    if all(_is_strict(source) for source in sources):
        return open_decoder(schema, sources)
    return LeewayDecoder(
        schema=schema,
        zone=zone,
        sources=sources,
        changes=changes,
        open_decoder=open_decoder,
        library=library,
    )


def _is_strict(source: Source) -> bool:
    leeway = source.leeway
    if isinstance(source.form, SinceMidnight):
        return False
    is_strict = (leeway.fraction, leeway.decimals) == (STRICT.fraction, STRICT.decimals)
    return is_strict and not has_declared_times(leeway)


class LeewayDecoder:
    """Decodes JSON for columns with leeway. Rejects with the decoder's reasons, `json.range` and `json.decimal`."""

    def __init__(
        self,
        schema: pa.Schema,
        zone: str,
        sources: Sequence[Source],
        changes: Changes,
        open_decoder: OpenDecoder,
        library: Any = LIBRARY,
    ) -> None:
        self.schema = schema
        self._converters = [
            _converter(
                target=LeewayTarget(column, label, field.type, note=note(source.form)),
                zone=zone,
                source=source,
                changes=changes,
                library=library,
            )
            for column, label, field, source in zip(
                names_in_table(schema.names, sources),
                labels(schema.names, sources),
                schema,
                sources,
                strict=True,
            )
        ]
        wire = [
            (field.name, field.type if converter is None else converter.wire)
            for field, converter in zip(schema, self._converters, strict=True)
        ]
        self._inner = open_decoder(
            pa.schema(wire),
            [
                Source(
                    source.keys,
                    source.unit if converter is None else None,
                    leeway=source.leeway,
                    form=source.form if converter is None else None,
                    characters=None if converter is None else converter.characters,
                    column=source.column,
                    expects=source.expects if converter is None else converter.expects,
                )
                for source, converter in zip(sources, self._converters, strict=True)
            ],
        )

    def decode(self, values: pa.BinaryArray) -> Decoded:
        decoded = self._inner.decode(values)
        columns = list(decoded.rows.columns)
        refusals: dict[int, Reason] = {}
        for number, converter in enumerate(self._converters):
            if converter is not None:
                columns[number], bad = converter.convert(columns[number])
                refusals = {**bad, **refusals}
        return with_columns(decoded, pa.RecordBatch.from_arrays(columns, schema=self.schema), refusals)


@dataclass(frozen=True, slots=True)
class LeewayTarget:
    """A column of the table. `label`: its name in the text of reasons. `note`: what the record's schema says, for that text."""

    column: str
    label: str
    type: pa.DataType
    note: str = ""

    def reason(self, code: str, what: str) -> Reason:
        return Reason(code, f"column {self.label}: {what}{self.note}", self.column)


class _Texts:
    """Converts texts of times: ISO times, which it cuts to microseconds, or other forms that the map declares."""

    wire = pa.string()

    def __init__(self, column: TextColumn, expects: str, characters: Characters | None = None) -> None:
        self.expects = expects
        self.characters = characters
        self._column = column

    def convert(self, texts: pa.StringArray) -> Conversion:
        return self._column.read(texts)


class _EpochNumbers:
    """Converts epoch numbers to timestamps, which it cuts to microseconds."""

    wire = pa.int64()
    characters = None

    def __init__(self, target: LeewayTarget, zone: str, unit: str, changes: Changes) -> None:
        self._target, self._zone, self._unit = target, zone, unit
        self.expects = f"a whole number of {unit} since 1970"
        self._changes = changes

    def convert(self, numbers: pa.Int64Array) -> Conversion:
        kind = self._target.type
        column, bad = of_epoch_numbers(numbers, kind, self._unit, self._zone, truncate=True)
        self._changes.add(FRACTION, int((finer_than_micros(numbers, self._unit) & ~bad).sum()))
        beyond = f"is beyond {hive_type_of(kind)}"
        places = np.flatnonzero(bad).tolist()
        return column, {at: self._target.reason("json.range", f"{numbers[at]} {beyond}") for at in places}


class _ClockNumbers:
    """Converts numbers since midnight to texts."""

    wire = pa.int64()
    characters = None

    def __init__(self, target: LeewayTarget, unit: str) -> None:
        self._target, self._unit = target, unit
        self.expects = f"a whole number of {unit} since midnight"

    def convert(self, numbers: pa.Int64Array) -> Conversion:
        column, bad = clock_texts(numbers, self._unit)
        places = np.flatnonzero(bad).tolist()
        return column, {at: self._target.reason("json.range", f"{numbers[at]} {NO_CLOCK}") for at in places}


class _DecimalBytes:
    """Converts Kafka Connect's bytes to decimals."""

    wire = pa.binary()
    characters = None

    def __init__(self, target: LeewayTarget) -> None:
        self._target = target
        self.expects = f"{hive_type_of(target.type)} as bytes in base64"

    def convert(self, values: pa.BinaryArray) -> Conversion:
        column, bad = decimals_of(values, self._target.type)
        why = self._target.reason("json.decimal", f"the bytes are not a {hive_type_of(self._target.type)}")
        return column, dict.fromkeys(np.flatnonzero(bad).tolist(), why)


def _converter(
    target: LeewayTarget, zone: str, source: Source, changes: Changes, library: Any
) -> _Texts | _EpochNumbers | _DecimalBytes | _ClockNumbers | None:
    """Return the converter of the values that the decoder reads; None if it reads the column directly."""
    leeway = source.leeway
    if isinstance(source.form, SinceMidnight):
        return _ClockNumbers(target, source.form.unit)
    if leeway.decimals == "base64" and pa.types.is_decimal128(target.type):
        return _DecimalBytes(target)
    is_cut = leeway.fraction == "truncate" and target.type == NAIVE
    if source.form is None and has_declared_times(leeway):
        has_arrays = Characters.TIMES_AND_ARRAYS if ARRAY in leeway.time_pattern else Characters.TIMES
        if source.unit is not None:
            expects, wanted = f"a number of {source.unit} since 1970", Characters.NUMBERS
        else:
            expects, wanted = hive_type_of(target.type), has_arrays
        return _Texts(
            _text_column(target=target, zone=zone, source=source, changes=changes, library=library),
            expects,
            wanted,
        )
    if source.unit is not None:
        return _EpochNumbers(target, zone, source.unit, changes) if is_cut else None
    if not is_cut or isinstance(source.form, Mismatch):
        return None
    iso = replace(source, unit=None, leeway=Leeway(leeway.fraction))
    return _Texts(
        _text_column(target=target, zone=zone, source=iso, changes=changes, library=library),
        hive_type_of(NAIVE),
    )


def _text_column(
    target: LeewayTarget, zone: str, source: Source, changes: Changes, library: Any
) -> TextColumn:
    return TextColumn(
        column=target.column,
        dtype=target.type,
        zone=zone,
        unit=source.unit,
        family="json",
        leeway=source.leeway,
        changes=changes,
        label=target.label,
        library=library,
    )


def with_columns(decoded: Decoded, rows: pa.RecordBatch, refusals: Mapping[int, Reason]) -> Decoded:
    """Return the result with other columns and without the rows in `refusals` (reasons by row number).

    Every message must have at most one row.
    """
    if not refusals:
        return replace(decoded, rows=rows)
    places = decoded.accepted.to_numpy()
    reasons = refusals_of(decoded) | {int(places[row]): reason for row, reason in refusals.items()}
    good = np.ones(len(rows), np.bool_)
    good[list(refusals)] = False
    rejected = sorted(reasons)
    return replace(
        decoded,
        rows=rows.filter(pa.array(good)),
        accepted=pa.array(places[good], pa.int32()),
        rejected=pa.array(rejected, pa.int32()),
        reasons=[reasons[place] for place in rejected],
    )
