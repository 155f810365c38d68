"""Convert instants to the wall clock of a time zone, whole columns at a time.

Arrow's kernel is wrong for instants after 2037: it ignores the rule for later times in time zone files (RFC 8536), and so
misses summer time. Python's zoneinfo converts these instants one by one.
"""

import datetime
import functools
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

NAIVE = pa.timestamp("us")
"""The type of a wall clock: microseconds without a zone."""

EARLIEST = -62_135_596_800_000_000  # 0001-01-01T00:00:00, microseconds
LATEST = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999
DAY = 86_400_000_000

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
Micros = npt.NDArray[np.int64]
_ARROW_LIMIT = 2_114_380_800_000_000  # 2037-01-01T00:00:00Z, microseconds


@functools.lru_cache(maxsize=1024)
def check_zone(zone: str) -> None:
    """Raise ValueError if Python or Arrow does not know the zone."""
    try:
        ZoneInfo(zone)
        pc.local_timestamp(pa.array([0], pa.timestamp("us", tz=zone)))
    except (pa.ArrowInvalid, ValueError, OSError, KeyError) as error:
        raise ValueError(f"time zone {zone!r} is not known here: {error}") from error


def wall_clock(instants: pa.TimestampArray, zone: str) -> pa.TimestampArray:
    """Return the wall clock of `zone` as naive microseconds. `instants` are timestamps in microseconds; naive ones are UTC.

    For an instant outside the years 1 to 9999, the result is outside these years, too, but not meaningful.
    """
    if zone == "UTC":
        return instants.cast(NAIVE)
    clock = pc.local_timestamp(instants.cast(pa.timestamp("us", tz=zone)))
    micros = instants.cast(pa.int64())
    if (pc.max(micros).as_py() or 0) < _ARROW_LIMIT:
        return clock
    instant_micros = pc.fill_null(micros, 0).to_numpy()
    clock_micros = pc.fill_null(clock.cast(pa.int64()), 0).to_numpy().copy()
    zone_info = ZoneInfo(zone)
    for at in np.flatnonzero(instant_micros >= _ARROW_LIMIT):
        try:
            local = (_EPOCH + datetime.timedelta(microseconds=int(instant_micros[at]))).astimezone(zone_info)
        except OverflowError:
            continue  # beyond the year 9999
        offset = local.utcoffset()
        assert offset is not None
        clock_micros[at] = instant_micros[at] + offset // datetime.timedelta(microseconds=1)
    nulls = micros.is_null().to_numpy(zero_copy_only=False)
    return pa.array(clock_micros, pa.int64(), mask=nulls).cast(NAIVE)


def wall_clock_of(instant: int, zone: str) -> int:
    """Return the wall clock of a single instant; both are microseconds since 1970."""
    if zone == "UTC":
        return instant
    clock = wall_clock(pa.array([instant], pa.timestamp("us", tz="UTC")), zone)
    micros: int = clock.cast(pa.int64())[0].as_py()
    return micros


def zone_instants(walls: Micros, zone: str) -> tuple[Micros, npt.NDArray[np.bool_]]:
    """Return the instant of each wall clock of `zone`, and the mask of those that are certain.

    A wall clock that the zone has twice or never, or after 2036, is not certain.
    """
    naive = pa.array(walls, pa.int64()).cast(NAIVE)
    first, last = (
        pc.assume_timezone(naive, zone, ambiguous=which, nonexistent=which).cast(pa.int64()).to_numpy()
        for which in ("earliest", "latest")
    )
    return first, (first == last) & has_wall_clock(first, walls, zone)


def has_wall_clock(instants: Micros, walls: Micros, zone: str) -> npt.NDArray[np.bool_]:
    """Return the mask of instants that certainly have these wall clocks in `zone`; none after 2036 is certain."""
    clock = pc.local_timestamp(pa.array(instants, pa.int64()).cast(pa.timestamp("us", tz=zone)))
    mask: npt.NDArray[np.bool_] = clock.cast(pa.int64()).to_numpy() == walls
    return mask & (walls < _ARROW_LIMIT - DAY) & (walls >= EARLIEST + DAY)
