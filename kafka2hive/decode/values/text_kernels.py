"""Convert whole columns of texts by Arrow's kernels, and mark the rows that the exact path must read again.

The kernels accept more than the acceptance table does (docs/decoding.md, "What the libraries get wrong"). They do not round,
and everything that they may have accepted wrongly is marked.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.decode.values.batch import Mask, cast_or_null, mask_of
from kafka2hive.decode.values.scalars import standard_base64
from kafka2hive.model.wall_clock import EARLIEST, LATEST, NAIVE, wall_clock

_WHOLE_LIMIT = {pa.float64(): 2.0**53, pa.float32(): 2.0**24}
"""From this number on a float type does not hold every integer."""
_FIRST_DATE, _LAST_DATE = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, days since 1970-01-01


def parse_timestamps(texts: pa.StringArray, zone: str) -> tuple[pa.Array, Mask]:
    """Return naive timestamps, and the mask of rows that only the exact path can decide."""
    zoned = _has_offset(texts)
    if not zoned.any():
        parsed, bad = cast_or_null(_without_idle_zeros(texts), NAIVE)
    elif zoned.all():
        parsed, bad = _parse_zoned(texts, zone)
    else:
        bad = np.zeros(len(texts), dtype=np.bool_)
        naive, bad[~zoned] = cast_or_null(_without_idle_zeros(texts.filter(pa.array(~zoned))), NAIVE)
        moved, bad[zoned] = _parse_zoned(texts.filter(pa.array(zoned)), zone)
        order = np.empty(len(texts), dtype=np.int64)
        order[np.concatenate([np.flatnonzero(~zoned), np.flatnonzero(zoned)])] = np.arange(len(texts))
        parsed = pa.concat_arrays([naive, moved]).take(pa.array(order))
    return parsed, bad | _has_no_minutes(texts) | _beyond(parsed)


def _parse_zoned(texts: pa.StringArray, zone: str) -> tuple[pa.Array, Mask]:
    instants, bad = cast_or_null(_without_idle_zeros(texts), pa.timestamp("us", tz="UTC"))
    return wall_clock(instants, zone), bad


def _without_idle_zeros(texts: pa.StringArray) -> pa.StringArray:
    """Shorten fractions such as `.123456000` to `.123456`, which is the same time."""
    longest = pc.max(pc.binary_length(texts)).as_py() or 0
    if longest <= len("2013-01-01T05:00:00.123456"):
        return texts
    return pc.replace_substring_regex(texts, pattern=r"(\.[0-9]{6})0+(Z|[+-][0-9:]+)?$", replacement=r"\1\2")


def _has_offset(texts: pa.StringArray) -> Mask:
    """Return the mask of texts with an offset. Nulls count as most other rows do, so that a uniform column needs one cast."""
    utc = pc.ends_with(texts, "Z")
    if pc.all(utc, min_count=0).as_py():
        return np.ones(len(texts), dtype=np.bool_)
    if (pc.max(pc.binary_length(texts)).as_py() or 0) <= len("2013-01-01T05:00"):
        return np.zeros(len(texts), dtype=np.bool_)
    zoned = pc.match_substring_regex(texts, r"(Z|:[0-9.]+[+-][0-9:]+)$")
    mask: Mask = pc.fill_null(zoned, bool(pc.any(zoned).as_py())).to_numpy(zero_copy_only=False)
    return mask


def _has_no_minutes(texts: pa.StringArray) -> Mask:
    colon = pc.equal(pc.utf8_slice_codeunits(texts, 13, 14), ":")
    return mask_of(pc.invert(colon))


def _beyond(parsed: pa.Array) -> Mask:
    micros = pc.fill_null(parsed.cast(pa.int64()), 0).to_numpy()
    mask: Mask = (micros < EARLIEST) | (micros > LATEST)
    return mask


@dataclass(frozen=True, slots=True)
class KernelColumn:
    """A column, and the mask of rows that the exact path must read."""

    column: pa.Array
    doubtful: Mask


def of_texts(texts: pa.StringArray, dtype: pa.DataType, zone: str) -> KernelColumn:
    """Convert texts to timestamps, dates or binary."""
    if dtype == NAIVE:
        return KernelColumn(*parse_timestamps(texts, zone))
    return _dates(texts) if dtype == pa.date32() else _binary(texts)


def beyond_exactness(numbers: pa.Array) -> Mask:
    """Return the mask of floats that are infinite, NaN, or so large that an integer may have been rounded to them."""
    values = pc.fill_null(numbers, 0.0).to_numpy(zero_copy_only=False)
    mask: Mask = ~(np.abs(values) < _WHOLE_LIMIT[numbers.type])
    return mask


def _dates(texts: pa.StringArray) -> KernelColumn:
    dates, bad = cast_or_null(texts, pa.date32())
    days = pc.fill_null(dates.cast(pa.int32()), 0).to_numpy()
    return KernelColumn(dates, bad | (days < _FIRST_DATE) | (days > _LAST_DATE))


def _binary(texts: pa.StringArray) -> KernelColumn:
    bad = np.zeros(len(texts), dtype=np.bool_)
    values: list[bytes | None] = []
    for row, text in enumerate(texts.to_pylist()):
        value = None if text is None else standard_base64(text)
        bad[row] = text is not None and value is None
        values.append(value)
    return KernelColumn(pa.array(values, pa.binary()), bad)
