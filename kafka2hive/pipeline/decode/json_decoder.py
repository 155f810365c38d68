"""Format `json`: the fast way for what is plainly right, the exact way for every message in doubt."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.pipeline.decode.arrow_reader import ArrowReader
from kafka2hive.pipeline.decode.columns import convert, either, holds, structs_in
from kafka2hive.pipeline.decode.compiled import INSTALLED, CompiledReader
from kafka2hive.pipeline.decode.exact.decoder import ExactDecoder
from kafka2hive.pipeline.decode.message_bytes import message_bytes
from kafka2hive.pipeline.decode.protocol import Decoded
from kafka2hive.pipeline.decode.screens import doubtful
from kafka2hive.pipeline.decode.sources import Source, as_it_stands, in_small_letters, own_names, source_tree
from kafka2hive.pipeline.decode.tiled.small_keys import with_small_keys
from kafka2hive.pipeline.decode.tiled.tiling import TilingReader
from kafka2hive.pipeline.decode.timestamps import check_zone
from kafka2hive.pipeline.decode.tolerant_cast import Mask, cast_or_null
from kafka2hive.pipeline.decode.wire import Wire, wire_of

Places = npt.NDArray[np.int64]
Part = tuple[Places, pa.RecordBatch]  # rows and the positions of their messages

# Below this a batch is decoded faster without looking for a template.
TILE_FROM = 300
_CHUNK_BYTES = 1280 * 1024
_NONE: Places = np.empty(0, dtype=np.int64)


class JsonDecoder:
    """One JSON object a message, its values to the columns that take them, by docs/decoding.md."""

    def __init__(
        self,
        schema: pa.Schema,
        zone: str,
        tile_from: int = TILE_FROM,
        sources: Sequence[Source] = (),
        any_case: bool = False,
        compiled: bool = INSTALLED,
    ) -> None:
        """`sources`: where the columns' values stand; none given: each at its own name. `any_case`: of keys.

        `compiled`: the compiled decoder takes the place of steps 1 and 2.
        """
        if len(schema) == 0 or len(set(schema.names)) != len(schema):
            raise ValueError(
                f"format json needs columns with names of their own, the table has: {schema.names}"
            )
        for field in schema:
            hive_type_of(field.type)  # raises HiveTypeError for a type outside the acceptance table
        check_zone(zone)
        self.schema = schema
        self._zone = zone
        self._tile_from = tile_from
        self._sources = sources or own_names(schema.names)
        spelling = in_small_letters if any_case else as_it_stands
        self._any_case = any_case
        self._compiled = CompiledReader(schema, zone, self._sources, spelling, any_case) if compiled else None
        self._tiling = TilingReader(schema, zone, self._sources, spelling)
        self._exact = ExactDecoder(schema, zone, self._sources, spelling)
        wire = wire_of(schema, self._sources, source_tree(self._sources, spelling), spelling)
        if any_case and wire is not None and not _is_ascii(wire.schema):
            wire = None  # small_keys knows ASCII's letters only
        self._fast = None if wire is None else (wire, ArrowReader(wire.schema))
        self._has_decimals = any(holds(field.type, pa.types.is_decimal) for field in schema)
        float32 = any(holds(field.type, pa.types.is_float32) for field in schema)
        self._long_whole = "[0-9]{8}" if float32 else "[0-9]{16}"

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """See Decoder. Steps: 1 what tiles, 2 what pyarrow.json may read, 3 the exact way for the rest, 4 put together."""
        if self._compiled is not None:
            rows, accepted = self._compiled.read(values)
            parts, left = [(np.flatnonzero(accepted), rows)], np.flatnonzero(~accepted)
        else:
            parts, left = self._without_compiled(values)
        part, rejected, reasons = self._decode_exactly(values, left)  # 3
        places, batch = _merge([part, *parts])  # 4
        return Decoded(
            rows=batch,
            accepted=pa.array(places, pa.int32()),
            rejected=pa.array(rejected, pa.int32()),
            reasons=pa.array(reasons, pa.string()),
        )

    def _without_compiled(self, values: pa.BinaryArray) -> tuple[list[Part], Places]:
        """Steps 1 and 2, and the positions of the messages that they leave."""
        sound = ~cast_or_null(values, pa.string())[1]
        parts = self._tile(values, sound)  # 1
        left = np.delete(np.arange(len(values)), np.concatenate([_NONE, *(places for places, _ in parts)]))
        if self._fast is not None and sound[left].any():
            part = self._read(values, left[sound[left]], *self._fast)  # 2
            parts.append(part)
            left = np.setdiff1d(left, part[0], assume_unique=True)
        return parts, left

    def _tile(self, values: pa.BinaryArray, sound: Mask) -> list[Part]:
        """In chunks that stay in the cache; by a chunk's first message, or its middle one if that is not like the others."""
        parts: list[Part] = []
        rows = max(self._tile_from, len(values) * _CHUNK_BYTES // max(1, values.nbytes))
        for start in range(0, len(values), rows):
            chunk = values.slice(start, rows)
            if len(chunk) < self._tile_from:
                break
            messages = message_bytes(chunk)
            for place in (0, len(chunk) // 2):
                if not sound[start + place]:
                    continue
                tiled = self._tiling.read(chunk[place].as_py(), messages, sound[start : start + rows])
                if tiled is not None:
                    parts.append((start + np.flatnonzero(tiled[1]), tiled[0]))
                    break
        return parts

    def _read(self, values: pa.BinaryArray, places: Places, wire: Wire, reader: ArrowReader) -> Part:
        """Rows of those messages at `places` that raise no doubt in screen, reader or conversion."""
        messages = values if len(places) == len(values) else values.take(pa.array(places))
        marked = doubtful(messages, self._has_decimals)
        if marked.any():
            places, messages = places[~marked], messages.filter(pa.array(~marked))
        if self._any_case:
            messages, marked = with_small_keys(messages)
            if marked.any():
                places, messages = places[~marked], messages.filter(pa.array(~marked))
        batch, left_out = reader.read(messages)
        places = places[~left_out]
        converted = [
            convert(wire.column(batch, number), field.type, self._zone, source.unit)
            for number, (field, source) in enumerate(zip(self.schema, self._sources, strict=True))
        ]
        rows = pa.RecordBatch.from_arrays([c.column for c in converted], schema=self.schema)
        late = either(c.suspect for c in converted)
        large = either(c.large for c in converted)
        if large is not None and large.any():
            spelled = pc.match_substring_regex(values.take(pa.array(places)), self._long_whole)
            late = either([late, large & spelled.to_numpy(zero_copy_only=False)])
        if late is None or not late.any():
            return places, rows
        return places[~late], rows.filter(pa.array(~late))

    def _decode_exactly(self, values: pa.BinaryArray, places: Places) -> tuple[Part, list[int], list[str]]:
        accepted: list[int] = []
        rows: list[list[Any]] = []
        rejected: list[int] = []
        reasons: list[str] = []
        for place, message in zip(places.tolist(), values.take(pa.array(places)).to_pylist(), strict=True):
            outcome = self._exact.decode(message)
            if isinstance(outcome, str):
                rejected.append(place)
                reasons.append(outcome)
            else:
                accepted.append(place)
                rows.append(outcome)
        columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(self.schema)]
        batch = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        return (np.array(accepted, dtype=np.int64), batch), rejected, reasons


def _is_ascii(fields: Iterable[pa.Field]) -> bool:
    """All names, of the structs' fields too."""
    return all(field.name.isascii() and all(map(_is_ascii, structs_in(field.type))) for field in fields)


def _merge(parts: list[Part]) -> Part:
    """All rows in the order of their messages."""
    some = [part for part in parts if len(part[0])]
    if len(some) <= 1:
        return (some or parts)[0]
    places = np.concatenate([part[0] for part in some])
    order = np.argsort(places, kind="stable")
    return places[order], pa.concat_batches([part[1] for part in some]).take(pa.array(order))
