"""Rows that the table's file format cannot hold, and the rejection of their whole messages.

If a message has a bad row, the whole message becomes a dead letter.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.formats.contract.port import Unwritable
from kafka2hive.plugins import Reason
from kafka2hive.task.fetch.records import Indices

Rejections = tuple[Indices, Sequence[Reason]]
"""Indices of messages that become dead letters, with one reason each."""


def without_rejections(
    rows: pa.RecordBatch, indices: Indices, bad: Indices, reasons: Sequence[Reason]
) -> tuple[pa.RecordBatch, Indices, Rejections]:
    """Return the remaining rows with their messages' indices, and the rejected messages with their reasons.

    A message is rejected if one of its rows is in `bad` (row numbers, ascending, each with a reason).
    """
    rejections = rejected_messages(indices, bad, reasons)
    kept = ~rows_of(indices, rejections[0])
    return rows.filter(pa.array(kept)), indices[kept], rejections


def rejected_messages(indices: Indices, bad: Indices, reasons: Sequence[Reason]) -> Rejections:
    """Return each message that has a row in `bad` (row numbers, ascending) once, with the reason of its first bad row."""
    messages, first = np.unique(indices[bad], return_index=True)
    return messages, [reasons[index] for index in first.tolist()]


def with_reason(rejections: Rejections, *codes: str) -> Indices:
    """Return the indices of the messages that are rejected for one of the reasons `codes`."""
    indices, reasons = rejections
    return indices[np.array([reason.code in codes for reason in reasons], np.bool_)]


def rows_of(indices: Indices, messages: Indices) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows that belong to `messages`."""
    mask: npt.NDArray[np.bool_] = np.isin(indices, messages)
    return mask


def rows_not_held(rows: pa.RecordBatch, unwritable: Unwritable) -> tuple[Indices, list[Reason]]:
    """Return the indexes of the rows that a file cannot hold, with one reason each."""
    reasons: dict[int, Reason] = {}
    for field, column in zip(rows.schema, rows.columns, strict=True):
        bad = unwritable.rows(column)
        if bad is not None:
            reason = Reason(unwritable.reason, f"column {field.name} {unwritable.fault}", field.name)
            reasons = dict.fromkeys(np.flatnonzero(bad).tolist(), reason) | reasons
    places = sorted(reasons)
    return np.array(places, dtype=np.int64), [reasons[row] for row in places]
