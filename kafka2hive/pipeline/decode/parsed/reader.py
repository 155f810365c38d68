"""What pyarrow.json may read: screens before it, strict conversions behind it; whatever raises a doubt is left out."""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.pipeline.decode.parsed.arrow_reader import ArrowReader
from kafka2hive.pipeline.decode.parsed.columns import convert, either, holds, structs_in
from kafka2hive.pipeline.decode.parsed.screens import doubtful
from kafka2hive.pipeline.decode.parsed.small_keys import with_small_keys
from kafka2hive.pipeline.decode.parsed.wire import Wire, wire_of
from kafka2hive.pipeline.decode.sources import Source, Spelling, source_tree
from kafka2hive.pipeline.decode.tolerant_cast import Mask, cast_or_null


class ParsedReader:
    """Reads what is plainly right into the table's columns; nothing where pyarrow.json has no type for them (maps)."""

    def __init__(
        self, schema: pa.Schema, zone: str, sources: Sequence[Source], spelling: Spelling, any_case: bool
    ) -> None:
        self._schema = schema
        self._zone = zone
        self._sources = sources
        self._any_case = any_case
        wire = wire_of(schema, sources, source_tree(sources, spelling), spelling)
        if any_case and wire is not None and not _is_ascii(wire.schema):
            wire = None  # small_keys knows ASCII's letters only
        self._fast = None if wire is None else (wire, ArrowReader(wire.schema))
        self._has_decimals = any(holds(field.type, pa.types.is_decimal) for field in schema)
        float32 = any(holds(field.type, pa.types.is_float32) for field in schema)
        self._long_whole = "[0-9]{8}" if float32 else "[0-9]{16}"

    def read(self, values: pa.BinaryArray) -> tuple[pa.RecordBatch, Mask]:
        """Rows of those messages that raise no doubt in screen, reader or conversion, and their mask."""
        accepted = np.zeros(len(values), dtype=np.bool_)
        if self._fast is None:
            return pa.RecordBatch.from_pylist([], schema=self._schema), accepted
        wire, reader = self._fast
        sound = ~cast_or_null(values, pa.string())[1]
        places = np.flatnonzero(sound)
        messages = values if sound.all() else values.filter(pa.array(sound))
        marked = doubtful(messages, self._has_decimals)
        if marked.any():
            places, messages = places[~marked], messages.filter(pa.array(~marked))
        if self._any_case:
            messages, marked = with_small_keys(messages)
            if marked.any():
                places, messages = places[~marked], messages.filter(pa.array(~marked))
        batch, left_out = reader.read(messages)
        places = places[~left_out]
        rows, late = self._converted(wire, batch, values.take(pa.array(places)))
        if late is not None and late.any():
            places, rows = places[~late], rows.filter(pa.array(~late))
        accepted[places] = True
        return rows, accepted

    def new_keys(self) -> tuple[str, ...]:
        """None: pyarrow.json does not say what it passes over."""
        return ()

    def _converted(
        self, wire: Wire, batch: pa.RecordBatch, messages: pa.BinaryArray
    ) -> tuple[pa.RecordBatch, Mask | None]:
        """Rows of the table, and which of them are in doubt after all."""
        converted = [
            convert(wire.column(batch, number), field.type, self._zone, source.unit)
            for number, (field, source) in enumerate(zip(self._schema, self._sources, strict=True))
        ]
        rows = pa.RecordBatch.from_arrays([c.column for c in converted], schema=self._schema)
        late = either(c.suspect for c in converted)
        large = either(c.large for c in converted)
        if large is not None and large.any():
            spelled = pc.match_substring_regex(messages, self._long_whole)
            late = either([late, large & spelled.to_numpy(zero_copy_only=False)])
        return rows, late


def _is_ascii(fields: Iterable[pa.Field]) -> bool:
    """All names, of the structs' fields too."""
    return all(field.name.isascii() and all(map(_is_ascii, structs_in(field.type))) for field in fields)
