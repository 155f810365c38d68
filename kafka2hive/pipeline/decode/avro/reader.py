"""The messages of one writer's schema: a fast way for what is plainly right, the exact way for every message in doubt."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.pipeline.decode.avro.exact import ExactDecoder
from kafka2hive.pipeline.decode.avro.plan import Plan, words
from kafka2hive.pipeline.decode.compiled import LIBRARY, NativeReader, type_words
from kafka2hive.pipeline.decode.sources import Source, as_it_stands

COMPILED = hasattr(LIBRARY, "AvroDecoder")
"""Whether the compiled library is installed, and not one from before it knew Avro."""

Places = npt.NDArray[np.int64]

_NOWHERE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Part:
    """The messages of one schema. `batches`: one after the other the rows of the messages at `accepted`, in that order."""

    batches: Sequence[pa.RecordBatch]
    accepted: Places
    rejected: Places
    reasons: Sequence[str]

    @staticmethod
    def refused(places: Places, reason: str) -> "Part":
        return Part((), _NOWHERE, places, [reason] * len(places))


class PlannedReader:
    """One plan, carried out."""

    def __init__(
        self, plan: Plan, schema: pa.Schema, zone: str, sources: Sequence[Source], head: int, compiled: bool
    ) -> None:
        """`head`: bytes of a message before its datum."""
        self._schema = schema
        self._head = head
        self._exact = ExactDecoder(plan, schema, zone, sources)
        self._fast: NativeReader | None = None
        if compiled:
            types = [type_words(f.type, as_it_stands, s.unit) for f, s in zip(schema, sources, strict=True)]
            native = LIBRARY.AvroDecoder(types, words(plan), head, zone == "UTC")
            self._fast = NativeReader(schema, zone, native)

    def read(self, values: pa.BinaryArray, places: Places) -> Part:
        """`places`: the messages' places in the whole batch."""
        if self._fast is None:
            return self._exactly(values, places)
        rows, certain = self._fast.read(values)
        if certain.all():
            return Part([rows], places, _NOWHERE, ())
        doubtful = np.flatnonzero(~certain)
        rest = self._exactly(values.take(pa.array(doubtful)), places[doubtful])
        accepted = np.concatenate([places[certain], rest.accepted])
        return Part([rows, *rest.batches], accepted, rest.rejected, rest.reasons)

    def _exactly(self, values: pa.BinaryArray, places: Places) -> Part:
        accepted: list[int] = []
        rows: list[list[Any]] = []
        rejected: list[int] = []
        reasons: list[str] = []
        for place, message in zip(places.tolist(), values.to_pylist(), strict=True):
            outcome = self._exact.decode(message, self._head)
            if isinstance(outcome, str):
                rejected.append(place)
                reasons.append(outcome)
            else:
                accepted.append(place)
                rows.append(outcome)
        refused = np.array(rejected, np.int64)
        if not rows:
            return Part((), _NOWHERE, refused, reasons)
        columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(self._schema)]
        batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        return Part([batch], np.array(accepted, np.int64), refused, reasons)
