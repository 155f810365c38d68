"""The wall clock of a zone is that of Python's zoneinfo at any time, also after 2037, where Arrow is wrong (found by fuzzing)."""

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from kafka2hive.model.wall_clock import wall_clock

ZONES = ["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Sydney", "Asia/Kolkata", "Antarctica/Troll"]


@pytest.mark.parametrize("zone", ZONES)
def test_a_column_of_instants_of_all_centuries_equals_single_conversions(zone: str) -> None:
    dice = random.Random(zone)
    instants: list[datetime | None] = [
        datetime(1, 1, 3) + timedelta(seconds=dice.randrange(9997 * 365 * 86_400), microseconds=7)
        for _ in range(500)
    ]
    instants += [datetime(1890, 1, 1) + timedelta(hours=dice.randrange(250 * 8766)) for _ in range(2000)]
    instants += [None, datetime(2037, 12, 31, 23, 59, 59), datetime(2073, 6, 21, 14), datetime(2038, 1, 19)]
    expected = [t and t.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None) for t in instants]
    found = wall_clock(pa.array(instants, pa.timestamp("us", tz="UTC")), zone)
    assert found.type == pa.timestamp("us")
    assert found.to_pylist() == expected


def test_instants_beyond_the_last_year_stay_beyond_it() -> None:
    beyond = 253_402_300_800_000_000
    found = wall_clock(pa.array([beyond + 86_400_000_000], pa.timestamp("us")), "Europe/Berlin")
    assert found.cast(pa.int64())[0].as_py() > beyond


def test_a_column_without_instants_stays_empty() -> None:
    assert len(wall_clock(pa.array([], pa.timestamp("us")), "Europe/Berlin")) == 0
