"""A batch's messages as one stretch of bytes, without a copy."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa


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
