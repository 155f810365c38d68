"""Buckets compared with the plainest computation: one row at a time, with Python's own time zones."""

import datetime
from typing import Literal
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka2hive.config.keys import Bucketing, BucketTime
from kafka2hive.model.errors import TableError
from kafka2hive.task.write.bucketer import NO_BUCKET, BucketAssignment, Bucketer
from tests.harness.reasons import texts_of

ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/St_Johns",  # half hours, and changes at one minute past midnight
    "Asia/Kathmandu",  # +05:45
    "Australia/Lord_Howe",  # daylight saving of half an hour
    "Pacific/Apia",  # skipped a day
    "Africa/Monrovia",  # -00:44:30 until 1972
]
PATH = "dt=%Y-%m-%d/hr=%H/mi=%M"
EPOCH = datetime.datetime(1970, 1, 1)
UTC_EPOCH = EPOCH.replace(tzinfo=datetime.UTC)


def no_record_times() -> pa.Array:
    raise AssertionError("the record's timestamp does not count here")


def bucket(
    bucketing: Bucketing, rows: pa.RecordBatch, zone: str = "UTC"
) -> tuple[list[str | None], BucketAssignment]:
    bucketer = Bucketer(bucketing, zone, rows.schema, planned_at_ms=0)
    assigned = bucketer.assign(rows, no_record_times)
    return [None if i == NO_BUCKET else bucketer.paths[i] for i in assigned.ids.tolist()], assigned


def path_of(wall: datetime.datetime) -> str:
    return f"dt={wall.year:04d}-{wall:%m-%d}/hr={wall:%H}/mi={wall:%M}"


instants = st.datetimes(datetime.datetime(1890, 1, 1), datetime.datetime(2037, 12, 31))


@given(st.lists(instants, min_size=1, max_size=50), st.sampled_from(ZONES))
def test_an_instant_falls_into_the_bucket_of_its_wall_clock(
    times: list[datetime.datetime], zone: str
) -> None:
    micros = [(time - EPOCH) // datetime.timedelta(microseconds=1) for time in times]
    rows = pa.record_batch({"at": pa.array(micros, pa.int64())})
    paths, _ = bucket(Bucketing(PATH, BucketTime.EVENT, "at", "us", zone), rows)
    assert paths == [path_of(time.replace(tzinfo=datetime.UTC).astimezone(ZoneInfo(zone))) for time in times]


@given(st.lists(instants, min_size=1, max_size=50), st.sampled_from(ZONES), st.sampled_from(ZONES))
def test_a_wall_clock_of_the_table_is_moved_to_the_bucketing_zone(
    times: list[datetime.datetime], table_zone: str, zone: str
) -> None:
    rows = pa.record_batch({"at": pa.array(times, pa.timestamp("us"))})
    paths, _ = bucket(Bucketing(PATH, BucketTime.EVENT, "at", zone=zone), rows, table_zone)
    for time, path in zip(times, paths, strict=True):
        if table_zone == zone:
            assert path == path_of(time)
            continue
        known = time.replace(tzinfo=ZoneInfo(table_zone))  # fold 0: the first of two
        if known.astimezone(datetime.UTC).astimezone(ZoneInfo(table_zone)).replace(tzinfo=None) == time:
            assert path == path_of(known.astimezone(ZoneInfo(zone)))


def test_a_wall_clock_that_happened_twice_is_the_first_and_one_that_never_was_is_the_moment_of_the_change() -> (
    None
):
    times = [datetime.datetime(2024, 10, 27, 2, 30), datetime.datetime(2024, 3, 31, 2, 30)]
    rows = pa.record_batch({"at": pa.array(times, pa.timestamp("us"))})
    paths, _ = bucket(Bucketing(PATH, field="at"), rows, "Europe/Berlin")
    assert paths == ["dt=2024-10-27/hr=00/mi=30", "dt=2024-03-31/hr=01/mi=00"]


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 1_000), ("us", 1_000_000)])
def test_an_epoch_number_counts_in_its_unit_and_beyond_the_calendar_it_has_no_bucket(
    unit: Literal["s", "ms", "us"], factor: int
) -> None:
    last = 253_402_300_799 * factor
    first = -62_135_596_800 * factor
    numbers = [0, -1, last, last + factor, first, first - 1, None, 2**63 - 1, -(2**63)]
    rows = pa.record_batch({"at": pa.array(numbers, pa.int64())})
    paths, assigned = bucket(Bucketing("dt=%Y-%m-%d", field="at", unit=unit), rows)
    assert paths == ["dt=1970-01-01", "dt=1969-12-31", "dt=9999-12-31", None, "dt=0001-01-01"] + [None] * 4
    assert assigned.refused.tolist() == [3, 5, 6, 7, 8]
    assert {reason.code for reason in assigned.reasons} == {"bucket.no_time"}


def test_the_edge_of_the_calendar_moves_with_the_zone() -> None:
    rows = pa.record_batch({"at": pa.array([253_402_300_799, -62_135_596_800], pa.int64())})
    east, _ = bucket(Bucketing("dt=%Y-%m-%d", field="at", unit="s", zone="Asia/Tokyo"), rows)
    west, _ = bucket(Bucketing("dt=%Y-%m-%d", field="at", unit="s", zone="America/New_York"), rows)
    assert east == [None, "dt=0001-01-01"]
    assert west == ["dt=9999-12-31", None]


def test_a_date_is_the_same_day_in_every_zone() -> None:
    rows = pa.record_batch({"at": pa.array([datetime.date(2013, 1, 1), None], pa.date32())})
    paths, assigned = bucket(
        Bucketing("dt=%Y-%m-%d", field="at", zone="America/New_York"), rows, "Asia/Tokyo"
    )
    assert paths == ["dt=2013-01-01", None]
    assert texts_of(assigned.reasons) == ["bucket.no_time: column at is null or outside the years 1 to 9999"]


def test_fields_are_escaped_as_hive_does_it_and_null_is_hives_default() -> None:
    rows = pa.record_batch(
        {
            "c": pa.array(["a/b", "ü=%", "", None, "x"]),
            "n": pa.array([1, 2, 3, 4, None], pa.int32()),
            "b": pa.array([True, False, None, True, True]),
        }
    )
    paths, assigned = bucket(Bucketing("c={c}/n=v{n}/b={b}"), rows)
    default = "__HIVE_DEFAULT_PARTITION__"
    assert paths == [
        "c=a%2Fb/n=v1/b=true",
        "c=ü%3D%25/n=v2/b=false",
        f"c={default}/n=v3/b={default}",
        f"c={default}/n=v4/b=true",
        f"c=x/n={default}/b=true",
    ]
    assert len(assigned.refused) == 0


def test_a_value_too_long_for_a_directory_name_is_refused_and_its_neighbours_are_not() -> None:
    rows = pa.record_batch({"c": pa.array(["ok", "ä" * 127, "ä" * 126, "/" * 100])})
    paths, assigned = bucket(Bucketing("c={c}"), rows)
    assert paths == ["c=ok", None, "c=" + "ä" * 126, None]
    assert str(assigned.reasons[0]).startswith("bucket.name_too_long: 256 bytes")


def test_record_time_and_processing_time_do_not_look_at_the_value() -> None:
    rows = pa.record_batch({"v": pa.array(["a", "b"])})
    by_record = Bucketer(Bucketing("dt=%Y-%m-%d", BucketTime.RECORD), "UTC", rows.schema, 0)
    assigned = by_record.assign(rows, lambda: pa.array([86_400_000, None], pa.int64()))
    assert by_record.paths[assigned.ids[0]] == "dt=1970-01-02"
    assert assigned.ids[1] == NO_BUCKET
    by_plan = Bucketer(
        Bucketing("dt=%Y-%m-%d", BucketTime.PROCESSING, zone="Asia/Tokyo"), "UTC", rows.schema, 82_800_000
    )
    assert [by_plan.paths[i] for i in by_plan.assign(rows, no_record_times).ids] == ["dt=1970-01-02"] * 2


def test_without_a_template_every_row_is_in_the_one_bucket_without_a_path() -> None:
    rows = pa.record_batch({"v": pa.array(["a", None])})
    assert bucket(Bucketing("", field=None), rows)[0] == ["", ""]


def test_ids_mean_the_same_in_every_batch() -> None:
    bucketer = Bucketer(Bucketing("c={c}"), "UTC", pa.schema([("c", pa.string())]), 0)
    first = bucketer.assign(pa.record_batch({"c": pa.array(["a", "b"])}), no_record_times).ids.tolist()
    second = bucketer.assign(pa.record_batch({"c": pa.array(["c", "b", "a"])}), no_record_times).ids.tolist()
    assert second[1:] == first[::-1]
    assert second[0] not in first


@pytest.mark.parametrize(
    ("bucketing", "code"),
    [
        (Bucketing("dt=%Y", field="missing"), "bucket.field"),
        (Bucketing("dt=%Y", field="c"), "bucket.field"),
        (Bucketing("c={missing}"), "bucket.field"),
        (Bucketing("c={f}"), "bucket.field"),
        (Bucketing("dt=%B", BucketTime.RECORD), "bucket.template"),
        (Bucketing("nothing"), "bucket.template"),
    ],
)
def test_a_bucketing_that_cannot_work_is_refused_before_the_first_record(
    bucketing: Bucketing, code: str
) -> None:
    schema = pa.schema([("c", pa.string()), ("f", pa.float64())])
    with pytest.raises(TableError) as refused:
        Bucketer(bucketing, "UTC", schema, 0)
    assert refused.value.code == code


def test_an_event_time_within_a_struct_is_found_and_null_where_the_struct_is_null() -> None:
    inner = pa.struct([("deep", pa.struct([("at", pa.timestamp("us"))]))])
    at = datetime.datetime(2013, 1, 1, 5)
    rows = pa.RecordBatch.from_pydict(
        {"p": pa.array([{"deep": {"at": at}}, {"deep": None}, None], inner)}, schema=pa.schema([("p", inner)])
    )
    paths, assigned = bucket(Bucketing("dt=%Y", field="p", inner=("deep", "at")), rows)
    assert paths == ["dt=2013", None, None]
    assert str(assigned.reasons[0]).startswith("bucket.no_time: column p.deep.at is null")
    with pytest.raises(TableError, match="no field 'it'"):
        bucket(Bucketing("dt=%Y", field="p", inner=("it",)), rows)
