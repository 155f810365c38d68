"""Rows that the table's file format cannot hold: they become dead letters."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.formats.orc.values import unwritable_rows

Positions = npt.NDArray[np.int64]


def held_by_orc(
    rows: pa.RecordBatch, chosen: Positions | None
) -> tuple[pa.RecordBatch, Positions | None, tuple[Positions, list[str]] | None]:
    """The rows that Hive can read from an ORC file, and their positions; those of the others, with one reason each.

    `chosen`: the positions of all rows; None: they are the first ones, in their order.
    """
    reasons: dict[int, str] = {}
    for field, column in zip(rows.schema, rows.columns, strict=True):
        bad = unwritable_rows(column)
        if bad is not None:
            reason = f"orc.timestamp: column {field.name} is before 1970 with a fraction of a second"
            reasons = dict.fromkeys(np.flatnonzero(bad).tolist(), reason) | reasons
    if not reasons:
        return rows, chosen, None
    positions = np.arange(len(rows)) if chosen is None else chosen
    kept = np.ones(len(rows), np.bool_)
    kept[list(reasons)] = False
    refused = positions[~kept], [reasons[row] for row in sorted(reasons)]
    return rows.filter(pa.array(kept)), positions[kept], refused
