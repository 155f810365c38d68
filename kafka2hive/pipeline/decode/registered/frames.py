"""Where the data begin, and which schema each message was written with: Confluent's wire format."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

HEAD = 5
"""Bytes before the datum: 0, and the schema's id, four bytes, big-endian."""


def no_frame(format: str, what: str) -> str:
    """The reason against a message without that head."""
    return f"{format}.frame: not in the schema registry's format (byte 0, the schema's id in 4 bytes, {what})"


def schema_ids(values: pa.BinaryArray) -> npt.NDArray[np.int64]:
    """Of each message; -1 where it is not framed."""
    if not len(values):
        return np.empty(0, np.int64)
    offsets = np.frombuffer(values.buffers()[1], dtype=np.int32)[
        values.offset : values.offset + len(values) + 1
    ]
    starts = offsets[:-1].astype(np.int64)
    ids = np.full(len(values), -1, dtype=np.int64)
    long_enough = np.flatnonzero(np.diff(offsets) >= HEAD)
    if not len(long_enough):
        return ids
    data = np.frombuffer(values.buffers()[2], dtype=np.uint8)
    starts = starts[long_enough]
    found = np.zeros(len(starts), dtype=np.int64)
    for byte in range(1, HEAD):
        found = found << 8 | data[starts + byte]
    ids[long_enough] = np.where(data[starts] == 0, found, -1)
    return ids
