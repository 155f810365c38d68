"""Whole batches of messages or values: their bytes without a copy, and casts that say which values they could not do."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Mask = npt.NDArray[np.bool_]


def cast_or_null(array: pa.Array, dtype: pa.DataType) -> tuple[pa.Array, Mask]:
    """Cast by Arrow's strict rules; returns the cast array, null where impossible, and a mask of those places.

    Good arrays cost one cast. One bad value costs about one cast more (halving), all bad ones 2 n small casts.
    """
    bad = np.zeros(len(array), dtype=np.bool_)
    pieces: list[pa.Array] = []
    waiting = [(0, len(array))]
    while waiting:
        start, end = waiting.pop()
        try:
            pieces.append(array.slice(start, end - start).cast(dtype))
        except pa.ArrowInvalid:
            if end - start == 1:
                bad[start] = True
                pieces.append(pa.nulls(1, dtype))
            else:
                middle = (start + end) // 2
                waiting += [(middle, end), (start, middle)]
    return (pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)), bad


@dataclass(frozen=True, slots=True)
class MessageBytes:
    """Message i is `raw[offsets[i]:offsets[i + 1]]`; offsets begin with 0 and are n + 1."""

    raw: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int32]


def message_bytes(values: pa.BinaryArray) -> MessageBytes:
    """Views of the array's buffers; they live as long as it does."""
    _, places, data = values.buffers()
    if len(values) == 0 or data is None:
        return MessageBytes(np.empty(0, dtype=np.uint8), np.zeros(len(values) + 1, dtype=np.int32))
    offsets = np.frombuffer(places, dtype=np.int32)[values.offset : values.offset + len(values) + 1]
    return MessageBytes(np.frombuffer(data, dtype=np.uint8)[offsets[0] : offsets[-1]], offsets - offsets[0])
