"""Format `json`: a fast way for what is plainly right, the exact way for every message in doubt."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.pipeline.decode.columns import check_columns
from kafka2hive.pipeline.decode.compiled import INSTALLED, CompiledReader
from kafka2hive.pipeline.decode.epochs import zone_of
from kafka2hive.pipeline.decode.exact.decoder import ExactDecoder
from kafka2hive.pipeline.decode.parsed.reader import ParsedReader
from kafka2hive.pipeline.decode.protocol import Decoded
from kafka2hive.pipeline.decode.sources import Source, as_it_stands, in_small_letters, own_names
from kafka2hive.pipeline.decode.tolerant_cast import Mask

Places = npt.NDArray[np.int64]

_NOWHERE = pa.array([], pa.int32())
_NO_REASONS = pa.array([], pa.string())


class _FastWay(Protocol):
    def read(self, values: pa.BinaryArray) -> tuple[pa.RecordBatch, Mask]:
        """Rows of the messages that it accepts for certain, in order, and their mask."""
        ...

    def new_keys(self) -> tuple[str, ...]:
        """Keys that no column takes, which messages had since the last call, and had not before; as far as it knows them."""
        ...


class JsonDecoder:
    """One JSON object a message, its values to the columns that take them, by docs/decoding.md."""

    def __init__(
        self,
        schema: pa.Schema,
        zone: str,
        sources: Sequence[Source] = (),
        any_case: bool = False,
        compiled: bool = INSTALLED,
    ) -> None:
        """`sources`: where the columns' values stand; none given: each at its own name. `any_case`: of keys."""
        check_columns("json", schema, zone)
        self.schema = schema
        sources = sources or own_names(schema.names)
        # the library takes every number for an instant: those of days are read by with_leeway
        assert all(zone_of(source.unit, zone) == zone for source in sources if source.unit is not None)
        spelling = in_small_letters if any_case else as_it_stands
        fast = CompiledReader if compiled else ParsedReader
        self._fast: _FastWay = fast(schema, zone, sources, spelling, any_case)
        self._exact = ExactDecoder(schema, zone, sources, spelling)

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """See Decoder."""
        rows, certain = self._fast.read(values)
        accepted, doubtful = np.flatnonzero(certain), np.flatnonzero(~certain)
        if not len(doubtful):
            return Decoded(
                rows, pa.array(accepted, pa.int32()), _NOWHERE, _NO_REASONS, new_keys=self._fast.new_keys()
            )
        places, batch, rejected, reasons = self._decode_exactly(values, doubtful)
        if len(places):
            order = np.argsort(np.concatenate([accepted, places]), kind="stable")
            accepted = np.concatenate([accepted, places])[order]
            rows = pa.concat_batches([rows, batch]).take(pa.array(order))
        return Decoded(
            rows=rows,
            accepted=pa.array(accepted, pa.int32()),
            rejected=pa.array(rejected, pa.int32()),
            reasons=pa.array(reasons, pa.string()),
            new_keys=self._fast.new_keys(),
        )

    def _decode_exactly(
        self, values: pa.BinaryArray, places: Places
    ) -> tuple[Places, pa.RecordBatch, list[int], list[str]]:
        """Positions and rows of the accepted messages at `places`; positions of the rejected, and why."""
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
        return np.array(accepted, dtype=np.int64), batch, rejected, reasons
