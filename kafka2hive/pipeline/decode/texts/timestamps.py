"""ISO-8601 text to naive microseconds that hold the wall clock of the table's zone.

Arrow's kernels do the work for whole columns; they are a little laxer than the acceptance table (date only, hour
only) and a little stricter (zeros beyond the microsecond), so what they must not decide is given back as suspect.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.pipeline.decode.tolerant_cast import Mask, cast_or_null
from kafka2hive.pipeline.wall_clock import EARLIEST, LATEST, NAIVE, wall_clock


def parse_timestamps(texts: pa.StringArray, zone: str) -> tuple[pa.Array, Mask]:
    """A column of texts to naive microseconds; the mask marks what only the exact path may decide."""
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
    """`.123456000` (nanosecond clocks) to `.123456`, which is the same time; nothing else is touched."""
    longest = pc.max(pc.binary_length(texts)).as_py() or 0
    if longest <= len("2013-01-01T05:00:00.123456"):
        return texts
    return pc.replace_substring_regex(texts, pattern=r"(\.[0-9]{6})0+(Z|[+-][0-9:]+)?$", replacement=r"\1\2")


def _has_offset(texts: pa.StringArray) -> Mask:
    """Nulls take the side of the others, so that a column of one kind needs one cast only."""
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
    mask: Mask = pc.fill_null(pc.invert(colon), False).to_numpy(zero_copy_only=False)
    return mask


def _beyond(parsed: pa.Array) -> Mask:
    micros = pc.fill_null(parsed.cast(pa.int64()), 0).to_numpy()
    mask: Mask = (micros < EARLIEST) | (micros > LATEST)
    return mask
