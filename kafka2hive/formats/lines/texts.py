"""Values that are no lists, maps or structs as texts, whole columns at once, as Hive reads them in JSON and in text."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.formats.lines.base64_text import base64_texts


def texts_of(column: pa.Array) -> pa.Array:
    """Null where the value is. Strings are as they stand, binary is base64, floats are the shortest that read back equal."""
    kind = column.type
    if pa.types.is_binary(kind):
        return base64_texts(column)
    texts = column.cast(pa.string())
    return _of_floats(column, texts) if pa.types.is_floating(kind) else texts


def _of_floats(column: pa.Array, texts: pa.Array) -> pa.Array:
    texts = pc.if_else(pc.equal(texts, "-0"), "-0.0", texts)  # a reader may take -0 for the integer
    if pc.all(pc.is_finite(column)).as_py() is False:
        texts = pc.if_else(pc.is_nan(column), "NaN", texts)
        texts = pc.if_else(pc.equal(column, float("inf")), "Infinity", texts)
        texts = pc.if_else(pc.equal(column, float("-inf")), "-Infinity", texts)
    return texts


def replaced(texts: pa.Array, replacements: tuple[tuple[str, str], ...]) -> pa.Array:
    """Every single-byte character by another text, one after the other, where it occurs at all."""
    there = np.bincount(np.frombuffer(texts.buffers()[2] or b"", np.uint8), minlength=256)
    for plain, other in replacements:
        if there[ord(plain)]:
            texts = pc.replace_substring(texts, plain, other)
    return texts
