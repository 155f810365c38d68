"""Messages that are rejected as a whole: if one row of a message is bad, none of its rows is written."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.plugins import Reason
from kafka2hive.task.fetch.chunk import Positions

Rejections = tuple[Positions, Sequence[Reason]]
"""Positions of messages that become dead letters, with one reason each."""


def without_rejections(
    rows: pa.RecordBatch, positions: Positions, bad: Positions, reasons: Sequence[Reason]
) -> tuple[pa.RecordBatch, Positions, Rejections]:
    """Return the rows of the other messages with their positions, and the messages of the `bad` rows with reasons."""
    rejections = rejected_messages(positions, bad, reasons)
    kept = ~rows_of(positions, rejections[0])
    return rows.filter(pa.array(kept)), positions[kept], rejections


def rejected_messages(positions: Positions, bad: Positions, reasons: Sequence[Reason]) -> Rejections:
    """Return each message that has a row in `bad` (row numbers, ascending) once, with the reason of its first bad row."""
    messages, first = np.unique(positions[bad], return_index=True)
    return messages, [reasons[at] for at in first.tolist()]


def rows_of(positions: Positions, messages: Positions) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows that belong to `messages`."""
    mask: npt.NDArray[np.bool_] = np.isin(positions, messages)
    return mask
