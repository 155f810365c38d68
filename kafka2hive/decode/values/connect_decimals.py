"""Convert decimals of Kafka Connect: an unscaled number as bytes (in JSON as base64), with its scale in the schema."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.decode.values.batch import Mask, cast_or_null, mask_of, message_bytes

NAME = "org.apache.kafka.connect.data.Decimal"
_BYTES = 16
MOST_DIGITS = 38


def rescale(values: pa.BinaryArray, dtype: pa.Decimal128Type, scale: int) -> tuple[pa.Array, Mask]:
    """Convert decimals of this scale, given as bytes, to `dtype`. Return them and the mask of those that do not fit unrounded."""
    if scale == dtype.scale:
        return decimals_of(values, dtype)
    if abs(scale) > MOST_DIGITS:
        return pa.nulls(len(values), dtype), mask_of(values.is_valid())
    digits = min(dtype.precision - dtype.scale + scale, MOST_DIGITS)
    # with more digits, Arrow's cast to a larger scale returns a wrong number without an error
    unscaled, bad = decimals_of(values, pa.decimal128(max(digits, 1), scale))
    if digits < 1:
        bad |= mask_of(pc.not_equal(unscaled, pa.scalar(0, unscaled.type)))
        return pc.if_else(values.is_valid(), pa.scalar(0, dtype), pa.scalar(None, dtype)), bad
    column, unfit = cast_or_null(unscaled, dtype)
    return column, bad | unfit


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
