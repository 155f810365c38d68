"""JSON lines: one object a line (\\n or \\r\\n), blank lines are none.

A line break never stands within a value of JSON: in a text it is written as \\n. So every line is a message of its own for
the decoder, with its line break as the white space behind it, and nothing is copied unless a line is blank.
"""

import numpy as np
import pyarrow as pa

from kafka2hive.pipeline.decode.message_bytes import message_bytes
from kafka2hive.pipeline.decode.rows.elements import Elements

_LINE_FEED = 0x0A
_IS_TEXT = np.ones(256, np.bool_)
_IS_TEXT[list(b" \t\r\n")] = False


def split_lines(values: pa.BinaryArray) -> Elements:
    """Every line that is not blank; nothing is refused here."""
    found = message_bytes(values)
    raw, bounds = found.raw, found.offsets.astype(np.int64)
    if not len(raw):
        return Elements(pa.array([], pa.binary()), np.zeros(len(values), np.int64), {})
    breaks = np.flatnonzero(raw == _LINE_FEED) + 1
    starts = np.union1d(breaks, bounds)  # where lines begin, and the end of all
    starts = starts[starts <= len(raw)]
    lines = pa.Array.from_buffers(
        pa.binary(),
        len(starts) - 1,
        [None, pa.py_buffer(starts.astype(np.int32)), pa.py_buffer(raw)],
    )
    firsts = starts[:-1]
    filled = _IS_TEXT[raw[firsts]]
    if not filled.all():  # a line that begins with a blank is looked at as a whole
        filled = np.logical_or.reduceat(_IS_TEXT[raw], firsts)
    if not filled.all():
        lines, firsts = lines.filter(pa.array(filled)), firsts[filled]
    counts = np.diff(np.searchsorted(firsts, bounds))
    return Elements(lines, counts, {})
