"""Convert decimals of Kafka Connect without a schema: an unscaled number as bytes (in JSON as base64), at the column's scale."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.decode.values.batch import Mask, mask_of, message_bytes

NAME = "org.apache.kafka.connect.data.Decimal"
_BYTES = 16


def decimals_of(values: pa.BinaryArray, dtype: pa.Decimal128Type) -> tuple[pa.Array, Mask]:
    """Return decimals whose unscaled numbers are big-endian two's complement, and the mask of those that `dtype` cannot hold."""
    messages = message_bytes(values.fill_null(b"\0") if values.null_count else values)
    starts, ends = messages.offsets[:-1].astype(np.int64), messages.offsets[1:].astype(np.int64)
    size = ends - starts
    bad = (size == 0) | (size > _BYTES)
    raw = np.append(messages.raw, np.uint8(0))
    negative = raw[starts] >= 0x80
    digits = np.empty((len(values), _BYTES), np.uint8)
    for place in range(_BYTES):
        sign = np.where(negative, np.uint8(0xFF), np.uint8(0))
        digits[:, _BYTES - 1 - place] = np.where(place < size, raw[np.maximum(ends - 1 - place, 0)], sign)
    bad |= _beyond(digits, 10**dtype.precision)
    if values.null_count:
        bad &= mask_of(values.is_valid())
    digits[bad] = 0
    data = pa.py_buffer(np.ascontiguousarray(digits[:, ::-1]).tobytes())
    column = pa.Array.from_buffers(dtype, len(values), [None, data])
    missing = pa.array(bad) if not values.null_count else pc.or_(pa.array(bad), values.is_null())
    return pc.if_else(missing, pa.scalar(None, dtype), column), bad


def _beyond(digits: np.ndarray[tuple[int, int], np.dtype[np.uint8]], limit: int) -> Mask:
    """Return the mask of numbers whose absolute value is `limit` or more."""
    high = np.ascontiguousarray(digits[:, :8]).view(">i8").ravel()
    low = np.ascontiguousarray(digits[:, 8:]).view(">u8").ravel()
    top, rest = limit >> 64, limit & (2**64 - 1)
    bottom, last = -limit >> 64, -limit & (2**64 - 1)
    above = (high > top) | ((high == top) & (low >= np.uint64(rest)))
    below = (high < bottom) | ((high == bottom) & (low <= np.uint64(last)))
    beyond: Mask = above | below
    return beyond
