"""A decoder whose rows the table's file format can hold: it refuses the others."""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kafka2hive.formats.orc.values import unwritable_rows
from kafka2hive.pipeline.decode.protocol import Decoded

if TYPE_CHECKING:
    from kafka2hive.pipeline.decode.protocol import Decoder


class HeldByOrc:
    """What `inner` decodes, without the rows that Hive could not read from an ORC file."""

    def __init__(self, inner: "Decoder") -> None:
        self._inner = inner
        self.schema = inner.schema

    def decode(self, values: pa.BinaryArray) -> Decoded:
        decoded = self._inner.decode(values)
        reasons: dict[int, str] = {}
        for field, column in zip(decoded.rows.schema, decoded.rows.columns, strict=True):
            bad = unwritable_rows(column)
            if bad is not None:
                reason = f"orc.timestamp: column {field.name} is before 1970 with a fraction of a second"
                reasons = dict.fromkeys(np.flatnonzero(bad).tolist(), reason) | reasons
        return _without(decoded, reasons) if reasons else decoded


def _without(decoded: Decoded, reasons: dict[int, str]) -> Decoded:
    """`reasons` by number of the row."""
    kept = np.ones(len(decoded.rows), np.bool_)
    kept[list(reasons)] = False
    accepted = decoded.accepted.to_numpy()
    refused = {int(accepted[row]): reason for row, reason in reasons.items()}
    refused |= zip(decoded.rejected.to_pylist(), decoded.reasons.to_pylist(), strict=True)
    places = sorted(refused)
    return Decoded(
        rows=decoded.rows.filter(pa.array(kept)),
        accepted=pa.array(accepted[kept], pa.int32()),
        rejected=pa.array(places, pa.int32()),
        reasons=pa.array([refused[place] for place in places], pa.string()),
    )
