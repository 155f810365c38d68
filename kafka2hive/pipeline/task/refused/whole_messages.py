"""A message of which one row is bad: none of its rows is written, and it is refused once."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.pipeline.task.chunk import Positions

Refused = tuple[Positions, Sequence[str]]
"""Messages for the dead letters with one reason each."""


def without_refused(
    rows: pa.RecordBatch, positions: Positions, bad: Positions, reasons: Sequence[str]
) -> tuple[pa.RecordBatch, Positions, Refused]:
    """The rows of the other messages, with their positions, and the messages of the `bad` rows, which are refused."""
    refused = refused_messages(positions, bad, reasons)
    kept = ~rows_of(positions, refused[0])
    return rows.filter(pa.array(kept)), positions[kept], refused


def refused_messages(positions: Positions, bad: Positions, reasons: Sequence[str]) -> Refused:
    """Each message that has a row in `bad` (numbers of rows, ascending) once, with the reason of its first one."""
    messages, first = np.unique(positions[bad], return_index=True)
    return messages, [reasons[at] for at in first.tolist()]


def rows_of(positions: Positions, messages: Positions) -> npt.NDArray[np.bool_]:
    """Which rows are of these messages."""
    found: npt.NDArray[np.bool_] = np.isin(positions, messages)
    return found
