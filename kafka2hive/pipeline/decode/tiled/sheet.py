"""A batch of messages laid out for tiling: its bytes, where its quotes are, and which messages still follow the template."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.pipeline.decode.message_bytes import MessageBytes
from kafka2hive.pipeline.decode.tiled.digits import PADDING, Index, Mask, Words, words_of
from kafka2hive.pipeline.decode.tiled.template import Template

_BLANK, _QUOTE, _BACKSLASH = ord(" "), ord('"'), ord("\\")


def word(text: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(text, "little"))


def first_bytes(count: int) -> np.uint64:
    """Mask of a word's first `count` bytes."""
    return np.uint64((1 << (8 * count)) - 1)


def _strange(raw: npt.NDArray[np.uint8]) -> Index:
    """Positions of what no tiling message holds: control characters and backslashes. Mostly there are none."""
    if len(raw) == 0 or (raw.min() >= _BLANK and b"\\" not in raw.tobytes()):
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero((raw < _BLANK) | (raw == _BACKSLASH))


def _column_of_words(rows: npt.NDArray[np.void], offset: int) -> Words:
    """A view: of each row the eight bytes at `offset`."""
    return np.ndarray(len(rows), dtype="<u8", buffer=rows, offset=offset, strides=(rows.itemsize,))


@dataclass(slots=True)
class MemberValues:
    """One member's values of all messages: where, how long, and which are strings or null."""

    start: Index
    length: Index
    string: Mask
    null: Mask
    begin: Words  # the first eight bytes


class Sheet:
    """The batch's bytes, and which messages still fit the template (`fits`); what is kept of the others means nothing."""

    def __init__(self, messages: MessageBytes, sound: Mask, template: Template) -> None:
        raw, offsets = messages.raw, messages.offsets
        margin = max(len(member.prefix) for member in template.members) + len(template.suffix)
        self.raw = np.concatenate([raw, np.zeros(PADDING + margin, dtype=np.uint8)])
        self.words = words_of(self.raw)
        self.begin = offsets[:-1].astype(np.int64)
        self.end = offsets[1:].astype(np.int64)
        self.fits = sound.copy()
        self.fits[np.searchsorted(offsets, _strange(raw), side="right") - 1] = False
        quotes = np.flatnonzero(raw == _QUOTE)
        self.next_quote = np.searchsorted(quotes, self.begin)  # index into quotes, per message
        spare = np.full(4 * len(template.members) + 2, len(raw), dtype=np.int64)
        self.quotes = np.concatenate([quotes, spare])
        self.at = self.begin

    def skip(self, text: bytes) -> Words:
        """All messages that fit must continue with `text`; returns the eight bytes behind it."""
        size = len(text)
        windows = np.ndarray(len(self.raw) - size - 7, dtype=f"V{size + 8}", buffer=self.raw, strides=(1,))
        here = windows[self.at]  # one look at each message; the rest happens in this small copy
        for step in range(0, size, 8):
            part = text[step : step + 8]
            self.fits &= (_column_of_words(here, step) & first_bytes(len(part))) == word(part)
        self.at = self.at + size
        return _column_of_words(here, size).copy()

    def values(self, prefix: bytes, following: bytes, last: bool) -> MemberValues:
        """Skips `prefix` and takes the values up to `following`: the next prefix or, behind the last, the suffix.

        The prefix holds two quotes, so the next quote is a string's own first one, or the first of `following`.
        """
        begin = self.skip(prefix)
        start = self.at
        string = (begin & first_bytes(1)) == np.uint64(_QUOTE)
        quote = self.quotes[self.next_quote + 2 + string]
        end = np.where(string, quote + 1, self.end - len(following) if last else quote - following.find(b'"'))
        self.fits &= (end > start) & (end <= self.end)
        length = end - start
        null = (length == 4) & ((begin & first_bytes(4)) == word(b"null"))
        self.at = np.where(self.fits, end, self.begin)
        self.next_quote = self.next_quote + 2 + 2 * string
        return MemberValues(start, length, string, null, begin)

    def texts(self, start: Index, length: Index, wanted: Mask) -> pa.StringArray:
        """The texts at `start`, null where not wanted; `wanted` messages must fit. One copy, made by Arrow's take.

        An Arrow array over the batch's own bytes whose elements are in turn a text and the gap behind it.
        """
        borders = np.empty(2 * len(start), dtype=np.int32)
        borders[::2] = np.where(wanted, start, self.begin)
        borders[1::2] = np.where(wanted, start + length, self.begin)
        both = pa.StringArray.from_buffers(len(borders) - 1, pa.py_buffer(borders), pa.py_buffer(self.raw))
        return both.take(pa.array(np.arange(0, len(borders), 2), mask=None if wanted.all() else ~wanted))
