"""Whole columns of texts by Arrow's kernels, and the rows that they may have read too laxly: those need a second look.

The kernels take what the acceptance table does not (docs/decoding.md, "What the libraries get wrong"), but they do not
round, and what raises a doubt is marked.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.pipeline.decode.exact.scalars import standard_base64
from kafka2hive.pipeline.decode.texts.timestamps import parse_timestamps
from kafka2hive.pipeline.decode.tolerant_cast import Mask, cast_or_null
from kafka2hive.pipeline.wall_clock import NAIVE

# From here on neighbouring whole numbers are no longer all representable.
_WHOLE_LIMIT = {pa.float64(): 2.0**53, pa.float32(): 2.0**24}
_FIRST_DATE, _LAST_DATE = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, days from 1970-01-01


@dataclass(frozen=True, slots=True)
class Converted:
    """`doubtful` rows are for the exact way."""

    column: pa.Array
    doubtful: Mask


def of_texts(texts: pa.StringArray, dtype: pa.DataType, zone: str) -> Converted:
    """Texts as timestamps, dates or binary."""
    if dtype == NAIVE:
        return Converted(*parse_timestamps(texts, zone))
    return _dates(texts) if dtype == pa.date32() else _binary(texts)


def beyond_exactness(numbers: pa.Array) -> Mask:
    """Which floats are infinite, not a number, or so large that a whole number might have been rounded to them."""
    values = pc.fill_null(numbers, 0.0).to_numpy(zero_copy_only=False)
    mask: Mask = ~(np.abs(values) < _WHOLE_LIMIT[numbers.type])
    return mask


def _dates(texts: pa.StringArray) -> Converted:
    dates, bad = cast_or_null(texts, pa.date32())
    days = pc.fill_null(dates.cast(pa.int32()), 0).to_numpy()
    return Converted(dates, bad | (days < _FIRST_DATE) | (days > _LAST_DATE))


def _binary(texts: pa.StringArray) -> Converted:
    bad = np.zeros(len(texts), dtype=np.bool_)
    values: list[bytes | None] = []
    for row, text in enumerate(texts.to_pylist()):
        value = None if text is None else standard_base64(text)
        bad[row] = text is not None and value is None
        values.append(value)
    return Converted(pa.array(values, pa.binary()), bad)
