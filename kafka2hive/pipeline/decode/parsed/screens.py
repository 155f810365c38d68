"""Which messages the fast reader may see: vectorised questions over a batch's bytes.

Marking a message costs only time, for the exact path decides; leaving a wrong one unmarked could change a value.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.pipeline.decode.exact.depth import MAX_DEPTH, deeper_than
from kafka2hive.pipeline.decode.parsed.message_bytes import message_bytes
from kafka2hive.pipeline.decode.tolerant_cast import Mask

Numbers = npt.NDArray[np.integer]
_BLANKS = " \t\n\r"  # JSON's white space, nothing more


def doubtful(values: pa.BinaryArray, has_decimals: bool) -> Mask:
    """Messages that must not reach pyarrow.json, each for a hole it has (docs/decoding.md). All must be UTF-8."""
    marked = ~_in_braces(values.cast(pa.string()))
    messages = message_bytes(values)
    raw, offsets = messages.raw, messages.offsets
    marked |= _has_word(raw, offsets, b"NaN") | _has_word(raw, offsets, b"Inf")
    marked |= _too_deep(values, raw, offsets)
    if has_decimals:
        # an exponent or more than 38 digits in a row: Arrow's decimal parser overflows silently, or crashes
        marked |= _mask(pc.match_substring_regex(values, r"[0-9.][eE][-+0-9]|[0-9]{39}"))
    return marked


def _mask(answers: pa.Array) -> Mask:
    mask: Mask = answers.to_numpy(zero_copy_only=False)
    return mask


def _in_braces(texts: pa.StringArray) -> Mask:
    """Begins with `{` and ends with `}`, white space apart: what the proof of alignment needs (arrow_reader)."""
    answers = pc.and_(pc.starts_with(texts, "{"), pc.ends_with(texts, "}"))
    if pc.all(answers, min_count=0).as_py():
        return np.ones(len(texts), dtype=np.bool_)
    trimmed = pc.ascii_trim(texts, characters=_BLANKS)
    return _mask(pc.and_(pc.starts_with(trimmed, "{"), pc.ends_with(trimmed, "}")))


def _has_word(raw: Numbers, offsets: Numbers, word: bytes) -> Mask:
    """Messages that contain `word`; a word across two messages marks the first of them, which does no harm."""
    marked = np.zeros(len(offsets) - 1, dtype=np.bool_)
    places = np.flatnonzero(raw[: len(raw) - len(word) + 1] == word[0]) if len(raw) >= len(word) else raw[:0]
    for step, letter in enumerate(word[1:], 1):
        places = places[raw[places + step] == letter]
    if len(places):
        marked[np.searchsorted(offsets, places, side="right") - 1] = True
    return marked


def _too_deep(values: pa.BinaryArray, raw: Numbers, offsets: Numbers) -> Mask:
    marked = np.zeros(len(values), dtype=np.bool_)
    curly, square = raw == ord("{"), raw == ord("[")
    if np.count_nonzero(curly) + np.count_nonzero(square) < len(values) + MAX_DEPTH:
        return marked  # each begins with a brace, so no message can hold more than MAX_DEPTH of them
    opening = np.searchsorted(np.flatnonzero(curly | square), offsets)
    for row in np.flatnonzero(np.diff(opening) > MAX_DEPTH):
        marked[row] = deeper_than(values[int(row)].as_py(), MAX_DEPTH)
    return marked
