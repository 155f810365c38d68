"""Fill columns with the map's default if their field is missing or null."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.decode.contract.changes import Changes
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.values.json_values import ValueRefusal
from kafka2hive.decode.values.texts import text_taker
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
