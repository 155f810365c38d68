"""Format `json`: the fast way for what is plainly right, the exact way for every message in doubt."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.pipeline.decode.arrow_reader import ArrowReader
from kafka2hive.pipeline.decode.columns import convert, either, holds, wire_type
from kafka2hive.pipeline.decode.exact import ExactDecoder
from kafka2hive.pipeline.decode.protocol import Decoded
from kafka2hive.pipeline.decode.screens import suspects
from kafka2hive.pipeline.decode.timestamps import check_zone
from kafka2hive.pipeline.decode.tolerant_cast import Mask


class JsonDecoder:
    """One JSON object a message, its members to the columns of the same name, by docs/decoding.md."""

    def __init__(self, schema: pa.Schema, zone: str) -> None:
        if len(schema) == 0 or len(set(schema.names)) != len(schema):
            raise ValueError(
                f"format json needs columns with names of their own, the table has: {schema.names}"
            )
        for field in schema:
            hive_type_of(field.type)  # raises HiveTypeError for a type outside the acceptance table
        check_zone(zone)
        self.schema = schema
        self._zone = zone
        self._exact = ExactDecoder(schema, zone)
        wires = [(field.name, wire_type(field.type)) for field in schema]
        readable = all(wire is not None for _, wire in wires)
        self._reader = ArrowReader(pa.schema(wires)) if readable else None
        self._has_decimals = any(holds(field.type, pa.types.is_decimal) for field in schema)
        float32 = any(holds(field.type, pa.types.is_float32) for field in schema)
        self._long_whole = "[0-9]{8}" if float32 else "[0-9]{16}"

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """See Decoder. Steps: 1 screen, 2 read, 3 convert, 4 judge the doubtful exactly, 5 put together."""
        if self._reader is None:
            doubtful = np.ones(len(values), dtype=np.bool_)
            fast = pa.RecordBatch.from_pylist([], schema=self.schema)
        else:
            doubtful = suspects(values, self._has_decimals)  # 1
            fast = self._read(values, doubtful, self._reader)  # 2, 3
        places, rows, rejected, reasons = self._judge(values, np.flatnonzero(doubtful))  # 4
        accepted, batch = self._merge(fast, np.flatnonzero(~doubtful), rows, places)  # 5
        return Decoded(
            rows=batch,
            accepted=pa.array(accepted, pa.int32()),
            rejected=pa.array(rejected, pa.int32()),
            reasons=pa.array(reasons, pa.string()),
        )

    def _read(self, values: pa.BinaryArray, doubtful: Mask, reader: ArrowReader) -> pa.RecordBatch:
        """Rows of all messages that are not doubtful; marks further ones in `doubtful` as it finds them."""
        places = np.flatnonzero(~doubtful)
        clean = values if len(places) == len(values) else values.filter(pa.array(~doubtful))
        batch, left_out = reader.read(clean)
        doubtful[places[left_out]] = True
        places = places[~left_out]
        converted = [
            convert(column, field.type, self._zone)
            for column, field in zip(batch.columns, self.schema, strict=True)
        ]
        late = either(c.suspect for c in converted)
        large = either(c.large for c in converted)
        if large is not None and large.any():
            spelled = pc.match_substring_regex(values.take(pa.array(places)), self._long_whole)
            large &= spelled.to_numpy(zero_copy_only=False)
            late = either([late, large])
        rows = pa.RecordBatch.from_arrays([c.column for c in converted], schema=self.schema)
        if late is not None and late.any():
            doubtful[places[late]] = True
            rows = rows.filter(pa.array(~late))
        return rows

    def _judge(
        self, values: pa.BinaryArray, places: npt.NDArray[np.int64]
    ) -> tuple[list[int], list[list[Any]], list[int], list[str]]:
        accepted: list[int] = []
        rows: list[list[Any]] = []
        rejected: list[int] = []
        reasons: list[str] = []
        for place, message in zip(places.tolist(), values.take(pa.array(places)).to_pylist(), strict=True):
            verdict = self._exact.decode(message)
            if isinstance(verdict, str):
                rejected.append(place)
                reasons.append(verdict)
            else:
                accepted.append(place)
                rows.append(verdict)
        return accepted, rows, rejected, reasons

    def _merge(
        self,
        fast: pa.RecordBatch,
        fast_places: npt.NDArray[np.int64],
        rows: list[list[Any]],
        places: list[int],
    ) -> tuple[npt.NDArray[np.int64], pa.RecordBatch]:
        if not rows:
            return fast_places, fast
        columns = [
            pa.array([row[index] for row in rows], field.type) for index, field in enumerate(self.schema)
        ]
        slow = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        if not len(fast_places):
            return np.array(places), slow
        together = np.concatenate([fast_places, np.array(places)])
        order = np.argsort(together, kind="stable")
        return together[order], pa.concat_batches([fast, slow]).take(pa.array(order))
