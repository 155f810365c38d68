"""Convert days, seconds or fractions of a second since 1970 UTC to timestamps and dates of the table's zone."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.decode.values.batch import Mask, mask_of
from kafka2hive.model.wall_clock import DAY, EARLIEST, LATEST, NAIVE, wall_clock

UNITS = {"d": (86_400_000_000, 1), "s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}
"""For each unit a factor and a divisor: microseconds are number * factor // divisor."""
UNIT_OF = {ratio: unit for unit, ratio in UNITS.items()}
UNIT_HINT = "; a column of numbers that count from 1970 needs its unit (d, s, ms, us or ns)"
"""The end of the reason against a number in a column of dates or timestamps without a unit."""


def zone_of(unit: str, zone: str) -> str:
    """Return the zone whose wall clock a number becomes; UTC for a number of days, which is the same day in every zone."""
    return "UTC" if unit == "d" else zone


def of_epoch_numbers(
    numbers: pa.Int64Array, dtype: pa.DataType, unit: str, zone: str, truncate: bool = False
) -> tuple[pa.Array, Mask]:
    """Return timestamps or dates, and the mask of numbers that are out of range or, as timestamps, not exact.

    `truncate`: a number that is not exact becomes the microsecond before it.
    """
    factor, divisor = UNITS[unit]
    values = pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False)
    low, high = (EARLIEST - DAY) * divisor // factor, (LATEST + DAY) * divisor // factor
    bad = (values < max(low, -(2**63))) | (values > min(high, 2**63 - 1))
    if divisor > 1 and dtype == NAIVE and not truncate:
        bad |= values % divisor != 0
    micros = np.where(bad, 0, values) * factor // divisor
    walls = (
        wall_clock(pa.array(micros, pa.int64()).cast(NAIVE), zone_of(unit, zone)).cast(pa.int64()).to_numpy()
    )
    bad |= (walls < EARLIEST) | (walls > LATEST)
    nulls = mask_of(numbers.is_null()) if numbers.null_count else None
    if dtype == NAIVE:
        return pa.array(np.where(bad, 0, walls), pa.int64(), mask=nulls).cast(NAIVE), bad
    days = (np.where(bad, 0, walls) // DAY).astype(np.int32)
    return pa.array(days, pa.int32(), mask=nulls).cast(pa.date32()), bad


def finer_than_micros(numbers: pa.Int64Array, unit: str) -> Mask:
    """Return the mask of numbers that are not whole microseconds."""
    values = pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False)
    finer: Mask = values % UNITS[unit][1] != 0
    return finer
