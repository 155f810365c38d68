"""Wrap decoders that fill named columns with the options of all such formats: several paths, defaults."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.decode.columns.several_paths import with_several_paths
from kafka2hive.decode.contract.changes import Changes
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import DecoderSpec, MakeDecoder
from kafka2hive.decode.values.json_values import ValueRefusal
from kafka2hive.decode.values.texts import text_taker
from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.model.wall_clock import check_zone
from kafka2hive.plugins import Decoded, Decoder


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
