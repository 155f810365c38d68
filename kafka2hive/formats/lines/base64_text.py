"""Binary values as base64, a whole column at once."""

import binascii

import numpy as np
import pyarrow as pa

_PAD = ord("=")


def base64_texts(column: pa.Array) -> pa.Array:
    """A text for each binary value; null where it is null."""
    lengths = np.array(pa.compute.fill_null(pa.compute.binary_length(column), 0), np.int64)
    padded = -(-lengths // 3) * 3
    starts = np.concatenate([[0], np.cumsum(padded)])
    held = pa.concat_arrays([column])  # begins at its memory's beginning
    data = np.zeros(int(starts[-1]), np.uint8)
    offsets = np.frombuffer(held.buffers()[1], np.int32)[held.offset : held.offset + len(held) + 1]
    values = np.frombuffer(held.buffers()[2] or b"", np.uint8)[int(offsets[0]) : int(offsets[-1])]
    inside = np.ones(len(data), np.bool_)
    short = padded - lengths  # 0, 1 or 2 bytes
    ends = starts[1:]
    inside[ends[short >= 1] - 1] = False
    inside[ends[short == 2] - 2] = False
    data[inside] = values
    text = np.frombuffer(binascii.b2a_base64(data.tobytes(), newline=False), np.uint8).copy()
    text_ends = ends // 3 * 4
    text[text_ends[short >= 1] - 1] = _PAD
    text[text_ends[short == 2] - 2] = _PAD
    text_offsets = np.concatenate([[0], text_ends]).astype(np.int32)
    validity = pa.compute.is_valid(column)
    found = pa.StringArray.from_buffers(len(column), pa.py_buffer(text_offsets), pa.py_buffer(text))
    return pa.compute.if_else(validity, found, pa.scalar(None, pa.string()))
