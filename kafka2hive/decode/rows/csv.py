"""Split messages into CSV records, which end with a line break (\\n or \\r\\n) outside quotes; empty lines are skipped.

A line break ends a record if an even number of quotes comes before it in the message. This is safe, because the decoder of
one record accepts quotes only in pairs: if it accepts every record, no cut was within a field; if a quote is misplaced, it
refuses the record, and with it the message.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.config.keys.source import CsvOptions
from kafka2hive.decode.rows.decoder import Elements
from kafka2hive.decode.values.batch import Mask, Places, message_bytes

_LINE_FEED, _CARRIAGE_RETURN = 0x0A, 0x0D
Bytes = npt.NDArray[np.uint8]


class CsvLines:
    """Splits messages into records; never refuses a message."""

    def __init__(self, options: CsvOptions) -> None:
        self._quote = ord(options.quote) if options.quote else None
        self._escape = ord(options.escape) if options.escape else None

    def split(self, values: pa.BinaryArray) -> Elements:
        """Return every line that is not empty, with its line break."""
        messages = message_bytes(values)
        raw, bounds = messages.raw, messages.offsets.astype(np.int64)
        if not len(raw):
            return Elements(pa.array([], pa.binary()), np.zeros(len(values), np.int64), {})
        breaks = np.flatnonzero(self._breaks(raw, bounds)) + 1
        cuts = np.union1d(breaks, bounds)
        lines = pa.Array.from_buffers(
            pa.binary(), len(cuts) - 1, [None, pa.py_buffer(cuts.astype(np.int32)), pa.py_buffer(raw)]
        )
        firsts, size = cuts[:-1], np.diff(cuts)
        empty = (raw[firsts] == _LINE_FEED) & (size == 1)
        empty |= (raw[firsts] == _CARRIAGE_RETURN) & (size == 2) & (raw[cuts[1:] - 1] == _LINE_FEED)
        if empty.any():
            lines, firsts = lines.filter(pa.array(~empty)), firsts[~empty]
        return Elements(lines, np.diff(np.searchsorted(firsts, bounds)), {})

    def _breaks(self, raw: Bytes, bounds: Places) -> Mask:
        """Return the mask of line feeds that end a record."""
        breaks: Mask = raw == _LINE_FEED
        quotes: Mask = np.zeros(len(raw), np.bool_) if self._quote is None else raw == self._quote
        if self._escape is not None and (raw == self._escape).any():
            escaped = _escaped(raw == self._escape, bounds)
            breaks &= ~escaped
            quotes &= ~escaped
        if quotes.any():
            before = np.concatenate([np.zeros(1, np.int64), np.cumsum(quotes)])
            of_message = np.repeat(before[bounds[:-1]], np.diff(bounds))
            breaks &= (before[:-1] - of_message) % 2 == 0
        return breaks


def _escaped(escape: Mask, bounds: Places) -> Mask:
    """Return the mask of bytes that directly follow an odd number of escapes in their message."""
    at = np.arange(len(escape))
    others = np.maximum.accumulate(np.where(escape, -1, at))
    # the last byte before `at` that is not an escape; the run of escapes begins after it, or with the message
    before = np.concatenate([np.full(1, -1), others[:-1]])
    starts = np.repeat(bounds[:-1], np.diff(bounds))
    escaped: Mask = (at - 1 - np.maximum(before, starts - 1)) % 2 == 1
    return escaped
