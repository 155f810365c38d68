"""Wrap decoders that fill named columns with the options of all such formats: several paths, defaults."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys.json_path import path_text
from kafka2hive.decode.columns.leeway import with_columns
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import Changes, DecoderSpec, MakeDecoder, OpenDecoder
from kafka2hive.decode.values.batch import Mask, mask_of
from kafka2hive.decode.values.json_values import ValueRefusal
from kafka2hive.decode.values.texts import text_taker
from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.model.wall_clock import check_zone
from kafka2hive.plugins import Decoded, Decoder, Reason


def with_several_paths(
    format: str, schema: pa.Schema, sources: Sequence[Source], open_decoder: OpenDecoder
) -> Decoder:
    """Return the decoder itself if each column has one path."""
    if not any(source.leeway.others for source in sources):
        return open_decoder(schema, sources)
    return SeveralPathsDecoder(format, schema, sources, open_decoder)


class SeveralPathsDecoder:
    """Reads each path of a column as a separate column, of which the value that is not null counts.

    A message with different values at two paths becomes a dead letter (`ambiguous`): it is unknown which one is right.
    """

    def __init__(
        self, format: str, schema: pa.Schema, sources: Sequence[Source], open_decoder: OpenDecoder
    ) -> None:
        self.schema = schema
        self._format = format
        self._sources = sources
        fields, wanted = list(schema), [_alone(source, source.keys) for source in sources]
        for field, source in zip(schema, sources, strict=True):
            for number, keys in enumerate(source.leeway.others, 1):
                fields.append(field.with_name(f"{field.name} ({number})"))
                wanted.append(replace(_alone(source, keys), column=field.name))
        self._inner = open_decoder(pa.schema(fields), wanted)

    def decode(self, values: pa.BinaryArray) -> Decoded:
        decoded = self._inner.decode(values)
        columns = list(decoded.rows.columns[: len(self.schema)])
        at = len(columns)
        refused: dict[int, Reason] = {}
        for number, source in enumerate(self._sources):
            paths = [source.keys]
            for keys in source.leeway.others:
                other = decoded.rows.column(at)
                for row in np.flatnonzero(_differ(columns[number], other)).tolist():
                    among = " and ".join(path_text(path) for path in (*paths, keys))
                    column = self.schema.names[number]
                    text = f"column {column}: {among} have different values"
                    refused.setdefault(row, Reason(f"{self._format}.ambiguous", text, column))
                columns[number] = _first(columns[number], other)
                paths.append(keys)
                at += 1
        return with_columns(decoded, pa.RecordBatch.from_arrays(columns, schema=self.schema), refused)


def _alone(source: Source, keys: tuple[str, ...]) -> Source:
    return replace(source, keys=keys, leeway=replace(source.leeway, others=()))


def _first(column: pa.Array, other: pa.Array) -> pa.Array:
    """Fill the nulls of `column` from `other`."""
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
    """Return the decoder itself if no column has a default. Raises ValueError for a default that its column cannot hold."""
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


def of_named_columns(spec: DecoderSpec, make: MakeDecoder) -> Decoder:
    """Return the format's decoder (made by `make`) for columns that may have several paths and defaults."""
    sources = spec.source_of_each()
    decoder = with_several_paths(
        spec.format, spec.schema, sources, lambda columns, of: make(spec.of_columns(columns, of))
    )
    return with_defaults(decoder, sources, spec.zone, spec.changes)


def check_columns(spec: DecoderSpec) -> None:
    """Raise ValueError without columns, for two columns of a name or an unknown zone; HiveTypeError for an unknown type."""
    schema = spec.schema
    if len(schema) == 0 or len(set(schema.names)) != len(schema):
        raise ValueError(
            f"format {spec.format} needs columns with distinct names, the table has: {schema.names}"
        )
    for field in schema:
        hive_type_of(field.type)  # raises HiveTypeError for a type outside the acceptance table
    check_zone(spec.zone)
