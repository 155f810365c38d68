"""Texts of times that are finer than a microsecond; ISO times without what is finer, as if they were written so.

Digits are taken away from texts only where they are of a fraction of a second, so that what is refused stays refused.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.pipeline.decode.epochs import finer_than_micros
from kafka2hive.pipeline.decode.tolerant_cast import Mask, cast_or_null

_FINER = (
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6})[0-9]*[1-9][0-9]*(Z|[+-][0-9:]+)?$"
)
_SHORTEST = len("2013-01-01T05:00:00.1234567")


def truncated(texts: pa.StringArray) -> tuple[pa.StringArray, Mask]:
    """ISO times; and which of them were finer."""
    if (pc.max(pc.binary_length(texts)).as_py() or 0) < _SHORTEST:
        return texts, np.zeros(len(texts), np.bool_)
    finer = pc.fill_null(pc.match_substring_regex(texts, _FINER), False)
    shorter = pc.replace_substring_regex(texts, _FINER, r"\1\2")
    return shorter, finer.to_numpy(zero_copy_only=False)


def finer_numbers(texts: pa.StringArray, unit: str) -> Mask:
    """Which numbers that count from 1970, as they stand in JSON, are no whole microseconds."""
    numbers, _ = cast_or_null(texts, pa.int64())
    is_plain = pc.fill_null(pc.equal(numbers.cast(pa.string()), texts), False).to_numpy(zero_copy_only=False)
    finer: Mask = finer_than_micros(numbers, unit) & is_plain
    return finer
