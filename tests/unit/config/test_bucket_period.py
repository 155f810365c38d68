"""The end of a Hive partition's period, from the codes of its path, its zone's clock and its name."""

from datetime import UTC, datetime

import pytest

from kafka2hive.config.keys.bucket_path import BucketEnds, period_of, read_bucket_path
from kafka2hive.model.paths.path import partition_path

DEFAULT = "__HIVE_DEFAULT_PARTITION__"
BERLIN = "Europe/Berlin"


def end(path: str, hive_partition: str, zone: str = "UTC") -> str | None:
    """Return the first moment after the partition's period, in UTC."""
    ms = BucketEnds(read_bucket_path(path), zone).end_ms(hive_partition)
    if ms is None:
        return None
    assert ms % 1000 == 0
    return f"{datetime.fromtimestamp(ms // 1000, UTC):%Y-%m-%d %H:%M}"


@pytest.mark.parametrize(
    ("path", "period"),
    [
        ("y=%Y", "year"),
        ("y=%y", "year"),
        ("dt=%Y-%m", "month"),
        ("m=%m/y=%y", "month"),
        ("w=%G-W%V", "week"),
        ("w=%V/y=%G", "week"),
        ("dt=%Y-%m-%d", "day"),
        ("d=%d/m=%m/y=%Y", "day"),
        ("dt=%Y-%j", "day"),
        ("w=%G-%V/dt=%Y-%m-%d", "day"),
        ("dt=%Y-%m-%d/hr=%H", "hour"),
        ("dt=%Y%j%H", "hour"),
        ("dt=%Y-%m-%d/hr=%H/m=%M", "minute"),
        ("c={country}/dt=%Y-%m-%d", "day"),
    ],
)
def test_the_smallest_code_names_the_period(path: str, period: str) -> None:
    assert period_of(read_bucket_path(path)) == period


@pytest.mark.parametrize(
    "path",
    [
        "",
        "c={country}",
        "dt=today",
        "m=%m",
        "d=%m-%d",
        "d=%d",
        "d=%Y-%d",
        "j=%j",
        "hr=%H",
        "hr=%Y-%H",
        "hr=%Y-%m/h=%H",
        "hr=%d-%H",
        "m=%Y-%m-%d/min=%M",
        "min=%M",
        "w=%V",
        "w=%G",
        "w=%Y-W%V",  # the year of the date is not that of its week
        "w=%G-%V/hr=%H",
        "w=%G-%m-%d",
    ],
)
def test_codes_that_do_not_name_a_period_have_no_end(path: str) -> None:
    read = read_bucket_path(path)
    assert not read.faults and period_of(read) is None
    with pytest.raises(ValueError, match="do not name a period"):
        BucketEnds(read, "UTC")


@pytest.mark.parametrize(
    ("path", "hive_partition", "over"),
    [
        ("y=%Y", "y=2025", "2026-01-01 00:00"),
        ("y=%y", "y=25", "2026-01-01 00:00"),
        ("y=%y", "y=68", "2069-01-01 00:00"),  # as strptime takes them
        ("y=%y", "y=69", "1970-01-01 00:00"),
        ("y=%y", "y=99", "2000-01-01 00:00"),
        ("dt=%Y-%m", "dt=2025-11", "2025-12-01 00:00"),
        ("dt=%Y-%m", "dt=2025-12", "2026-01-01 00:00"),
        ("y=%Y/m=%m", "y=2026/m=01", "2026-02-01 00:00"),
        ("dt=%Y-%m-%d", "dt=2025-12-31", "2026-01-01 00:00"),
        ("dt=%Y-%m-%d", "dt=2026-02-28", "2026-03-01 00:00"),
        ("dt=%Y-%m-%d", "dt=2024-02-28", "2024-02-29 00:00"),
        ("dt=%Y-%m-%d", "dt=2024-02-29", "2024-03-01 00:00"),
        ("dt=%d.%m.%y", "dt=09.11.26", "2026-11-10 00:00"),
        ("dt=%Y-%j", "dt=2025-001", "2025-01-02 00:00"),
        ("dt=%Y-%j", "dt=2025-365", "2026-01-01 00:00"),
        ("dt=%Y-%j", "dt=2024-366", "2025-01-01 00:00"),
        ("dt=%Y%m%d/hr=%H", "dt=20251231/hr=23", "2026-01-01 00:00"),
        ("dt=%Y%m%d/hr=%H", "dt=20251231/hr=00", "2025-12-31 01:00"),
        ("y=%Y/m=%m/d=%d/h=%H/n=%M", "y=2025/m=12/d=31/h=23/n=59", "2026-01-01 00:00"),
        ("y=%Y/m=%m/d=%d/h=%H/n=%M", "y=2025/m=12/d=31/h=05/n=07", "2025-12-31 05:08"),
        # ISO weeks begin on Monday, and belong to the year of their Thursday
        ("w=%G-W%V", "w=2026-W01", "2026-01-05 00:00"),
        ("w=%G-W%V", "w=2025-W52", "2025-12-29 00:00"),
        ("w=%G-W%V", "w=2020-W53", "2021-01-04 00:00"),
        ("y=%G/w=%V", "y=2021/w=01", "2021-01-11 00:00"),
    ],
)
def test_a_period_is_over_when_the_next_one_begins(path: str, hive_partition: str, over: str) -> None:
    assert end(path, hive_partition) == over


@pytest.mark.parametrize(
    ("path", "hive_partition", "over"),
    [
        ("dt=%Y-%m-%d", "dt=2026-11-23", "2026-11-23 23:00"),
        ("dt=%Y-%m-%d", "dt=2026-07-01", "2026-07-01 22:00"),
        ("y=%Y", "y=2025", "2025-12-31 23:00"),
        # days of 23 and of 25 hours
        ("dt=%Y-%m-%d", "dt=2026-03-29", "2026-03-29 22:00"),
        ("dt=%Y-%m-%d", "dt=2026-10-25", "2026-10-25 23:00"),
        # 02:00 to 03:00 does not happen: 01:00 UTC is 03:00
        ("dt=%Y-%m-%d/hr=%H", "dt=2026-03-29/hr=01", "2026-03-29 01:00"),
        ("dt=%Y-%m-%d/hr=%H", "dt=2026-03-29/hr=03", "2026-03-29 02:00"),
        # 02:00 to 03:00 happens twice, until 02:00 UTC
        ("dt=%Y-%m-%d/hr=%H", "dt=2026-10-25/hr=02", "2026-10-25 02:00"),
        ("dt=%Y-%m-%d/hr=%H", "dt=2026-10-25/hr=03", "2026-10-25 03:00"),
        ("dt=%Y-%m-%d/hr=%H/n=%M", "dt=2026-10-25/hr=02/n=15", "2026-10-25 01:16"),
        # an end that happens twice counts as the later
        ("dt=%Y-%m-%d/hr=%H", "dt=2026-10-25/hr=01", "2026-10-25 01:00"),
    ],
)
def test_a_period_ends_by_the_zones_clock_even_when_it_is_changed(
    path: str, hive_partition: str, over: str
) -> None:
    assert end(path, hive_partition, BERLIN) == over


def test_fields_and_texts_between_the_codes_do_not_matter() -> None:
    path = "c={country}/dt=day {a}: %Y-%m-%d/x={b}"
    for country, a, b in [
        ("US", "a", "b"),
        ("1999-01-01", "2001-02-03", "2005"),
        ("\n", "\n", "="),
        ("", "", ""),
    ]:
        values = (("c", country), ("dt", f"day {a}: 2026-11-23"), ("x", b))
        assert end(path, partition_path(values)) == "2026-11-24 00:00"
    assert end("dt=%%{{%Y.%m/c={c}", f"dt=%25%7B2025.07/c={DEFAULT}") == "2025-08-01 00:00"
    assert end("dt=%Y.%m", "dt=2025x07") is None


def test_escaped_values_are_read_as_hive_writes_them() -> None:
    written = partition_path((("at", "2026-11-23 05:07"),))
    assert written == "at=2026-11-23 05%3A07"
    assert end("at=%Y-%m-%d %H:%M", written) == "2026-11-23 05:08"
    assert end("at=%Y-%m-%d %H:%M", "at=2026-11-23 05%3a07") == "2026-11-23 05:08"


def test_a_repeated_code_must_have_the_same_digits() -> None:
    assert end("dt=%Y%m/d=%Y-%m-%d", "dt=202611/d=2026-11-23") == "2026-11-24 00:00"
    assert end("dt=%Y (%Y)", "dt=2025 (2025)") == "2026-01-01 00:00"
    assert end("dt=%Y (%Y)", "dt=2025 (2026)") is None


@pytest.mark.parametrize(
    ("path", "hive_partition"),
    [
        ("dt=%Y-%m-%d", f"dt={DEFAULT}"),
        ("dt=%Y-%m-%d/hr=%H", f"dt=2026-11-23/hr={DEFAULT}"),
        ("dt=%Y-%m-%d/hr=%H", "dt=2026-11-23"),
        ("dt=%Y-%m-%d", ""),
        ("dt=%Y-%m-%d", "dt="),
        ("dt=%Y-%m-%d", "dt=yesterday"),
        ("dt=%Y-%m-%d", "dt=2026-11-23 "),
        ("dt=%Y-%m-%d", "dt=2026-11-2"),
        ("dt=%Y-%m-%d", "dt=2026-11-123"),
        ("dt=%Y-%m-%d", "dt=٢٠٢٦-11-23"),
        ("dt=%Y-%m-%d", "dt=2026-02-29"),
        ("dt=%Y-%m-%d", "dt=2026-13-01"),
        ("dt=%Y-%m-%d", "dt=2026-00-01"),
        ("dt=%Y-%m-%d", "dt=0000-01-01"),
        ("y=%Y", "y=0000"),
        ("dt=%Y-%m", "dt=2026-00"),
        ("dt=%Y-%m", "dt=2026-13"),
        ("dt=%Y-%j", "dt=2025-366"),
        ("dt=%Y-%j", "dt=2025-000"),
        ("dt=%Y-%j", "dt=2025-999"),
        ("dt=%Y-%m-%d/hr=%H", "dt=2026-11-23/hr=24"),
        ("dt=%Y-%m-%d/hr=%H", "dt=2026-11-23/hr=5"),
        ("dt=%Y-%m-%d/hr=%H/n=%M", "dt=2026-11-23/hr=05/n=60"),
        ("w=%G-W%V", "w=2025-W53"),
        ("w=%G-W%V", "w=2026-W00"),
    ],
)
def test_a_partition_without_a_time_never_ends(path: str, hive_partition: str) -> None:
    assert end(path, hive_partition) is None


@pytest.mark.parametrize(
    ("path", "hive_partition", "zone", "hours"),
    [
        ("dt=%Y-%m-%d", "dt=9999-12-31", "UTC", 0),
        ("y=%Y", "y=9999", "UTC", 0),
        ("dt=%Y-%m-%d/hr=%H", "dt=9999-12-31/hr=23", "America/New_York", 5),
        ("w=%G-W%V", "w=9999-W52", "UTC", 48),  # after Sunday, the second of January
    ],
)
def test_the_last_periods_that_a_date_can_name_end_where_no_date_is(
    path: str, hive_partition: str, zone: str, hours: int
) -> None:
    year_10000_ms = 253_402_300_800_000
    ends = BucketEnds(read_bucket_path(path), zone)
    assert ends.end_ms(hive_partition) == year_10000_ms + hours * 3_600_000


@pytest.mark.parametrize(
    ("path", "directory", "before", "may"),
    [
        ("y=%Y/m=%m/d=%d", "y=2013", "2013-01-03", True),
        ("y=%Y/m=%m/d=%d", "y=2013", "2012-12-31", False),
        ("y=%Y/m=%m/d=%d", "y=2013/m=05", "2013-05-03", True),
        ("y=%Y/m=%m/d=%d", "y=2013/m=05", "2013-04-30", False),
        ("y=%Y/m=%m/d=%d", "y=2013/m=13", "2030-01-01", True),
        ("dt=%Y-%m-%d/hr=%H", "dt=2013-05-01", "2013-05-01", True),
        ("dt=%Y-%m-%d/hr=%H", "dt=2013-05-02", "2013-04-30", False),
        ("c={country}/dt=%Y-%m-%d", "c=de", "1990-01-01", True),
        ("m=%m/y=%Y", "m=05", "1990-01-01", True),
        ("w=%G-%V/dt=%Y-%m-%d", "w=2013-20", "2013-05-20", True),
        ("y=%Y/m=%m", f"y={DEFAULT}", "2030-01-01", False),
    ],
)
def test_directories_are_left_out_only_if_no_period_below_them_has_ended(
    path: str, directory: str, before: str, may: bool
) -> None:
    before_ms = int(datetime.fromisoformat(before).replace(tzinfo=UTC).timestamp() * 1000)
    ends = BucketEnds(read_bucket_path(path), "UTC")
    assert ends.may_have_ended(directory, before_ms) is may


@pytest.mark.parametrize(
    ("path", "hive_partition", "can"),
    [
        ("dt=%Y-%m-%d", "dt=2013-01-17", True),
        ("dt=%Y-%m-%d", "dt=2013-02-29", False),
        ("dt=%Y-%m-%d", "dt=2013-1-17", False),
        ("dt=%Y-%m-%d", f"dt={DEFAULT}", False),
        ("dt=%Y-%m-%d", "day=2013-01-17", False),
        ("dt=%Y-%m-%d", "dt=2013-01-17/hr=01", False),
        ("dt=%Y-%m-%d/hr=%H", "dt=2013-01-17", False),
        ("dt=%Y-%m-%d/hr=%H", "dt=2013-01-17/hr=24", False),
        ("c={country}/dt=%Y-%m-%d", "c=a%2Fb/dt=2013-01-17", True),
        ("c={country}", "c=DE", True),
        ("c={country}", "dt=2013-01-17", False),
    ],
)
def test_a_partition_has_the_levels_of_the_path_and_a_period_that_exists(
    path: str, hive_partition: str, can: bool
) -> None:
    assert read_bucket_path(path).can_make(hive_partition) is can
