"""Rows of some messages of a batch, and what was refused of them; several of these as one batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.pipeline.decode.protocol import Decoded, Reason

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rows:
    """`places`: the messages' positions in the batch. `refused`: positions, and why."""

    rows: pa.RecordBatch
    places: Numbers
    refused: dict[int, Reason]

    def only(self, wanted: npt.NDArray[np.bool_]) -> "Rows":
        if wanted.all():
            return self
        return Rows(self.rows.filter(pa.array(wanted)), self.places[wanted], self.refused)

    def refusing(self, refused: Mapping[int, Reason]) -> "Rows":
        """Without these rows, by their numbers; and why."""
        if not refused:
            return self
        wanted = np.ones(len(self.rows), np.bool_)
        wanted[list(refused)] = False
        more = {int(self.places[number]): reason for number, reason in refused.items()}
        return Rows(self.rows, self.places, more | self.refused).only(wanted)

    def at(self, places: Numbers) -> "Rows":
        """The same of messages that are those at `places` of a larger batch."""
        refused = {int(places[place]): reason for place, reason in self.refused.items()}
        return Rows(self.rows, places[self.places], refused)


def rows_of(decoded: Decoded) -> Rows:
    refused = dict(zip(decoded.rejected.to_pylist(), decoded.reasons, strict=True))
    return Rows(decoded.rows, decoded.accepted.to_numpy().astype(np.int64), refused)


def merged(parts: Sequence[Rows]) -> Rows:
    """In the order of the messages."""
    places = np.concatenate([part.places for part in parts])
    rows = parts[0].rows if len(parts) == 1 else pa.concat_batches([part.rows for part in parts])
    if len(parts) > 1:
        order = np.argsort(places, kind="stable")
        rows, places = rows.take(pa.array(order)), places[order]
    return Rows(rows, places, {place: reason for part in parts for place, reason in part.refused.items()})


def joined(parts: Sequence[Rows]) -> Decoded:
    """All of a batch, in the order of the messages."""
    whole = merged(parts)
    refused = sorted(whole.refused.items())
    return Decoded(
        rows=whole.rows,
        accepted=pa.array(whole.places, pa.int32()),
        rejected=pa.array([place for place, _ in refused], pa.int32()),
        reasons=[reason for _, reason in refused],
    )
