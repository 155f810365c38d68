"""Columns of simple values as text, which Hive reads in JSON and in delimited text. Columns are converted as a whole."""

import binascii

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_PAD = ord("=")


def base64_texts(column: pa.Array) -> pa.Array:
    """Return the base64 text of each binary value. Null stays null."""
    lengths = np.array(pc.fill_null(pc.binary_length(column), 0), np.int64)
    padded = -(-lengths // 3) * 3
    starts = np.concatenate([[0], np.cumsum(padded)])
    copy = pa.concat_arrays([column])  # its buffers begin at offset 0
    data = np.zeros(int(starts[-1]), np.uint8)
    offsets = np.frombuffer(copy.buffers()[1], np.int32)[copy.offset : copy.offset + len(copy) + 1]
    values = np.frombuffer(copy.buffers()[2] or b"", np.uint8)[int(offsets[0]) : int(offsets[-1])]
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
    validity = pc.is_valid(column)
    texts = pa.StringArray.from_buffers(len(column), pa.py_buffer(text_offsets), pa.py_buffer(text))
    return pc.if_else(validity, texts, pa.scalar(None, pa.string()))


def texts_of(column: pa.Array) -> pa.Array:
    """Return values as text: strings unchanged, binary as base64, floats as the shortest text that reads back equal.

    Null stays null.
    """
    kind = column.type
    if pa.types.is_binary(kind):
        return base64_texts(column)
    texts = column.cast(pa.string())
    return _float_texts(column, texts) if pa.types.is_floating(kind) else texts


def _float_texts(column: pa.Array, texts: pa.Array) -> pa.Array:
    texts = pc.if_else(pc.equal(texts, "-0"), "-0.0", texts)  # a reader may take -0 for an integer
    if pc.all(pc.is_finite(column)).as_py() is False:
        texts = pc.if_else(pc.is_nan(column), "NaN", texts)
        texts = pc.if_else(pc.equal(column, float("inf")), "Infinity", texts)
        texts = pc.if_else(pc.equal(column, float("-inf")), "-Infinity", texts)
    return texts


def replace_characters(texts: pa.Array, replacements: tuple[tuple[str, str], ...]) -> pa.Array:
    """Replace each single-byte character by its text, in order; characters that do not occur are skipped."""
    counts = np.bincount(np.frombuffer(texts.buffers()[2] or b"", np.uint8), minlength=256)
    for character, text in replacements:
        if counts[ord(character)]:
            texts = pc.replace_substring(texts, character, text)
    return texts
