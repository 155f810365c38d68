"""Instants to the wall clock of a zone, for whole columns.

Arrow's kernel knows a zone's changes up to 2037 only (it does not read the rule that time zone files, RFC 8536, give for
the time after): from then on it takes summer for winter. Those instants are converted by Python's zoneinfo, one by one.
"""

import datetime
import functools
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

NAIVE = pa.timestamp("us")
"""The type of a wall clock: microseconds without a zone."""

EARLIEST = -62_135_596_800_000_000  # 0001-01-01T00:00:00, microseconds
LATEST = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999
DAY = 86_400_000_000

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_ARROW_KNOWS = 2_114_380_800_000_000  # 2037-01-01T00:00:00Z, microseconds


@functools.lru_cache(maxsize=1024)
def check_zone(zone: str) -> None:
    """Raise ValueError if Python or Arrow does not know the zone."""
    try:
        ZoneInfo(zone)
        pc.local_timestamp(pa.array([0], pa.timestamp("us", tz=zone)))
    except (pa.ArrowInvalid, ValueError, OSError, KeyError) as error:
        raise ValueError(f"time zone {zone!r} is not known here: {error}") from error


def wall_clock(instants: pa.TimestampArray, zone: str) -> pa.TimestampArray:
    """Instants (timestamp us, of any zone or none: then UTC) to naive microseconds that hold the wall clock of `zone`.

    Instants outside the years 1 to 9999 come out as anything outside of them.
    """
    if zone == "UTC":
        return instants.cast(NAIVE)
    clock = pc.local_timestamp(instants.cast(pa.timestamp("us", tz=zone)))
    micros = instants.cast(pa.int64())
    if (pc.max(micros).as_py() or 0) < _ARROW_KNOWS:
        return clock
    known = pc.fill_null(micros, 0).to_numpy()
    mended = pc.fill_null(clock.cast(pa.int64()), 0).to_numpy().copy()
    of_zone = ZoneInfo(zone)
    for at in np.flatnonzero(known >= _ARROW_KNOWS):
        try:
            there = (_EPOCH + datetime.timedelta(microseconds=int(known[at]))).astimezone(of_zone)
        except OverflowError:
            continue  # beyond the year 9999
        offset = there.utcoffset()
        assert offset is not None
        mended[at] = known[at] + offset // datetime.timedelta(microseconds=1)
    nulls = micros.is_null().to_numpy(zero_copy_only=False)
    return pa.array(mended, pa.int64(), mask=nulls).cast(NAIVE)


def wall_clock_of(instant: int, zone: str) -> int:
    """Return the wall clock of a single instant; both are microseconds since 1970."""
    if zone == "UTC":
        return instant
    moved = wall_clock(pa.array([instant], pa.timestamp("us", tz="UTC")), zone)
    micros: int = moved.cast(pa.int64())[0].as_py()
    return micros
