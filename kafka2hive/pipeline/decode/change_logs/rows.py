"""Rows of some messages of a batch, and what was refused of them; several of these as one batch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.pipeline.decode.protocol import Decoded

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rows:
    """`places`: the messages' positions in the batch. `refused`: positions, and why."""

    rows: pa.RecordBatch
    places: Numbers
    refused: dict[int, str]

    def only(self, wanted: npt.NDArray[np.bool_]) -> "Rows":
        if wanted.all():
            return self
        return Rows(self.rows.filter(pa.array(wanted)), self.places[wanted], self.refused)


def joined(parts: Sequence[Rows]) -> Decoded:
    """In the order of the messages."""
    places = np.concatenate([part.places for part in parts])
    rows = parts[0].rows if len(parts) == 1 else pa.concat_batches([part.rows for part in parts])
    if len(parts) > 1:
        order = np.argsort(places, kind="stable")
        rows, places = rows.take(pa.array(order)), places[order]
    refused = sorted({place: reason for part in parts for place, reason in part.refused.items()}.items())
    return Decoded(
        rows=rows,
        accepted=pa.array(places, pa.int32()),
        rejected=pa.array([place for place, _ in refused], pa.int32()),
        reasons=pa.array([reason for _, reason in refused], pa.string()),
    )
