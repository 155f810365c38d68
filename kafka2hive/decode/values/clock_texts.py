"""Times of day as texts, because Hive has no type for them: `05:00:00`, `05:00:00.500`."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.decode.values.batch import Mask

CLOCK = pa.struct([(name, pa.int32()) for name in ("hours", "minutes", "seconds", "nanos")])
"""A google.type.TimeOfDay."""
NO_CLOCK = "is no time of a day"
"""The end of the text against a number beyond a day."""
_NANOSECONDS = {"ms": 1_000_000, "us": 1_000, "ns": 1}
_SECOND = 10**9


def clock_texts(numbers: pa.Int64Array, unit: str) -> tuple[pa.StringArray, Mask]:
    """Return the texts of numbers of `unit` since midnight, and the mask of those that are no time of a day.

    The fraction of a second has 0, 3, 6 or 9 digits, as few as are exact.
    """
    factor = _NANOSECONDS[unit]
    values = pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False)
    bad: Mask = (values < 0) | (values >= 86_400 * _SECOND // factor)
    seconds, nanos = np.divmod(np.where(bad, 0, values) * factor, _SECOND)
    texts = pa.array(seconds.astype(np.int32)).cast(pa.time32("s")).cast(pa.string())
    for digits, of_digit in ((3, 1_000_000), (6, 1_000), (9, 1)):
        finer = nanos % of_digit == 0 if digits < 9 else np.ones(len(nanos), np.bool_)
        here = (nanos != 0) & finer
        if here.any():
            fraction = pc.utf8_lpad(pa.array(nanos // of_digit).cast(pa.string()), digits, "0")
            with_fraction = pc.binary_join_element_wise(texts, fraction, ".")
            texts = pc.if_else(pa.array(here), with_fraction, texts)
            nanos = np.where(here, 0, nanos)
    return pc.if_else(numbers.is_valid(), texts, pa.scalar(None, pa.string())), bad


def clock_nanos(column: pa.StructArray) -> tuple[pa.Int64Array, Mask]:
    """Return the nanoseconds since midnight of CLOCK, and the mask of those whose parts are no time of a day."""
    parts = [
        pc.fill_null(part, 0).to_numpy(zero_copy_only=False).astype(np.int64) for part in column.flatten()
    ]
    bad = np.zeros(len(column), np.bool_)
    total = np.zeros(len(column), np.int64)
    for part, limit, size in zip(parts, (24, 60, 60, _SECOND), (3_600, 60, 1, 0), strict=True):
        bad |= (part < 0) | (part >= limit)
        total += part * size * _SECOND if size else part
    return pa.array(
        np.where(bad, 0, total), pa.int64(), mask=column.is_null().to_numpy(zero_copy_only=False)
    ), bad
