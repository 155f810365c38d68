"""Bytes that are written as text in ISO-8859-1: each character is the byte of its number."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.decode.values.batch import Mask, mask_of, message_bytes

_LEAD, _LAST_LEAD = 0xC0, 0xC3
"""The bytes from which one begins a character of several bytes in UTF-8, and the last that begins one below U+0100."""


def latin1_bytes(texts: pa.StringArray) -> tuple[pa.BinaryArray, Mask]:
    """Return the bytes of the texts, null for nulls, and the mask of texts with a character beyond ISO-8859-1, which are null."""
    messages = message_bytes(pc.fill_null(texts, "").cast(pa.binary()))
    raw, offsets = messages.raw, messages.offsets
    leads = np.flatnonzero(raw >= _LEAD)
    wide = leads[raw[leads] > _LAST_LEAD]
    bad = np.diff(np.searchsorted(wide, offsets)) > 0
    merged = raw.copy()
    merged[leads + 1] = (raw[leads + 1] & 0x3F) | ((raw[leads] & 0x03) << 6)
    bounds = (offsets - np.searchsorted(leads, offsets)).astype(np.int32)
    kept = np.delete(merged, leads)
    values = pa.Array.from_buffers(pa.binary(), len(texts), [None, pa.py_buffer(bounds), pa.py_buffer(kept)])
    without = bad | mask_of(texts.is_null())
    return (values.take(pa.array(np.arange(len(texts)), mask=without)) if without.any() else values), bad
