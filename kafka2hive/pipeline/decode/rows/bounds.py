"""How many rows messages can hold at most, before they are decoded: so many are decoded at a time."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.pipeline.decode.message_bytes import message_bytes
from kafka2hive.pipeline.decode.protocol import Reason

MOST_ROWS = 250_000
"""Of one message. One with more is a dead letter: its rows are in memory together, none is written before all are decoded."""

ROWS_AT_ONCE = 50_000
"""What a decoder is given, but for a single message that holds more."""

LINE_END, OBJECT = b"\n", b"{"
"""One stands in every row but the last of a message's lines; one at the beginning of every row that is an object."""


def too_many(rows: int) -> Reason:
    return Reason("rows.many", f"{rows} rows in one message, {MOST_ROWS} are allowed")


def most_rows(values: pa.BinaryArray, mark: bytes) -> npt.NDArray[np.int64]:
    """Of each message: no more rows than it has marks, and one."""
    found = message_bytes(values)
    places = np.flatnonzero(found.raw == mark[0])
    counts: npt.NDArray[np.int64] = np.diff(np.searchsorted(places, found.offsets)) + 1
    return counts


def groups(most: npt.NDArray[np.int64], at_once: int = ROWS_AT_ONCE) -> Iterator[slice]:
    """All messages in order, together at most `at_once` rows; a message that may hold more stands alone."""
    ends = np.cumsum(most)
    start = 0
    while start < len(most):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + at_once, side="right")))
        yield slice(start, stop)
        start = stop
