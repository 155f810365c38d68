"""Messages with the keys of their objects in small letters, so that pyarrow.json finds columns whatever the keys' case.

Proof that no value changes. Between the quotes of a message that hold a key, capital ASCII letters become small ones, and
nothing else changes. Where the outcome is JSON, its strings begin and end at the same quotes (letters are neither quotes
nor backslashes, and no string with a backslash is touched), so what was changed lies within strings, and those are
followed by a colon: keys. Letters within a string without escapes can be any, so the message was JSON, too, with the
same values. Where the outcome is not JSON, the exact way decodes the message as it was.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.pipeline.decode.parsed.message_bytes import message_bytes
from kafka2hive.pipeline.decode.tolerant_cast import Mask

_QUOTE, _BACKSLASH, _COLON = ord('"'), ord("\\"), ord(":")
_BLANK = ord(" ")  # and what is below: JSON's other white space
_MOST_BLANKS = 8
_TO_SMALL = np.uint8(0x20)

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]


def with_small_keys(values: pa.BinaryArray) -> tuple[pa.BinaryArray, Mask]:
    """The messages, and which of them only the exact way may decode: keys with escapes, or far from their colon."""
    messages = message_bytes(values)
    raw, offsets = messages.raw, messages.offsets.astype(np.int64)
    doubtful = np.zeros(len(values), dtype=np.bool_)
    quotes = _quotes(raw, offsets, doubtful)
    opening, closing = quotes[0::2], quotes[1::2]
    padded = np.concatenate([raw, np.zeros(_MOST_BLANKS + 2, dtype=np.uint8)])
    behind = closing + 1
    byte = padded[behind]
    for _ in range(_MOST_BLANKS):
        blank = byte <= _BLANK
        if not blank.any():
            break
        behind = np.minimum(behind + blank, len(raw))
        byte = np.where(behind < len(raw), padded[behind], _COLON)
    _mark(doubtful, offsets, closing[byte <= _BLANK])
    keys = byte == _COLON
    small = _within(len(raw), opening[keys] + 1, closing[keys])
    if len(escapes := np.flatnonzero((raw == _BACKSLASH) & (small != 0))):
        _mark(doubtful, offsets, escapes)
    small[(raw - np.uint8(ord("A"))) > np.uint8(ord("Z") - ord("A"))] = 0
    if not small.any():
        return values, doubtful
    data = pa.py_buffer(raw | small)
    places = pa.py_buffer(messages.offsets.astype(np.int32))
    return pa.Array.from_buffers(pa.binary(), len(values), [None, places, data]), doubtful


def _quotes(raw: Bytes, offsets: Places, doubtful: Mask) -> Places:
    """Where strings begin and end, in turn; the messages of which that cannot be said are marked and left out."""
    quotes = np.flatnonzero(raw == _QUOTE)
    if (raw == _BACKSLASH).any():
        quotes = quotes[~_escaped(raw, quotes)]
    first = np.searchsorted(quotes, offsets)
    odd = np.flatnonzero(np.diff(first) % 2)
    doubtful[odd] = True
    return np.delete(quotes, first[1:][odd] - 1)


def _escaped(raw: Bytes, quotes: Places) -> Mask:
    """Whether an odd number of backslashes stands before each quote."""
    escaped = np.zeros(len(quotes), dtype=np.bool_)
    rows = np.arange(len(quotes))
    at = quotes - 1
    while len(rows):
        more = (at >= 0) & (raw[np.maximum(at, 0)] == _BACKSLASH)
        rows, at = rows[more], at[more] - 1
        escaped[rows] ^= True
    return escaped


def _within(size: int, starts: Places, ends: Places) -> Bytes:
    """_TO_SMALL from each start to its end, 0 elsewhere."""
    borders = np.empty(2 * len(starts) + 2, dtype=np.int64)
    borders[0], borders[-1] = 0, size
    borders[1:-1:2], borders[2:-1:2] = starts, ends
    pattern = np.zeros(len(borders) - 1, dtype=np.uint8)
    pattern[1::2] = _TO_SMALL
    return np.repeat(pattern, np.diff(borders))


def _mark(doubtful: Mask, offsets: Places, places: Places) -> None:
    if len(places):
        doubtful[np.searchsorted(offsets, places, side="right") - 1] = True
