"""What `completion.delay` means is one rule on whole numbers, at every edge of time: three deciders, one answer."""

import datetime
from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka2hive.config.keys import Bucketing, CompletionOptions
from kafka2hive.config.keys.bucket_path import BucketEnds, read_bucket_path
from kafka2hive.ledger.snapshot.compaction import may_move, place_of
from kafka2hive.model.files import HivePartition
from kafka2hive.model.instant import NEVER, as_datetime, instant_seconds, last_end_over
from kafka2hive.model.snapshot import EarlyPartition, OpenPartition, Tracking
from kafka2hive.model.text import utc_text
from kafka2hive.service.hive.places import period_ends
from kafka2hive.service.run.completion import Decider
from kafka2hive.service.tables.read_through import event_bounds
from tests.harness.values import snapshot
from tests.simulation.service.maps import rule_of

ZONES = (
    *("UTC", "America/New_York", "Europe/Berlin", "Pacific/Kiritimati", "Etc/GMT+12", "Etc/GMT-14"),
    *("Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns", "Pacific/Apia"),
)
PATH = "dt=%Y-%m-%d/hr=%H"
FIRST, LAST = -62_135_596_800, 253_402_300_799
"""The first and last second that a timestamp of Hive can have: 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z."""

seconds = st.one_of(
    st.integers(FIRST, FIRST + 200_000), st.integers(LAST - 200_000, LAST), st.integers(FIRST, LAST)
)


@given(st.integers(FIRST - 10**9, LAST + 10**12))
def test_an_instant_survives_its_text_in_every_year(at: int) -> None:
    assert instant_seconds(utc_text(at)) == at


@pytest.mark.parametrize(
    "text", ["", "-", "2026-13-01T00:00:00Z", "2026-11-21T24:00:00Z", "٢٠٢٦-11-21T00:00:00Z", "2026-11-21"]
)
def test_a_text_that_is_no_instant_is_before_all_instants(text: str) -> None:
    assert instant_seconds(text) == NEVER < instant_seconds("0001-01-01T00:00:00Z")


def test_the_year_10000_comes_after_all_others() -> None:
    assert instant_seconds("10000-01-01T00:00:00Z") == LAST + 1 > instant_seconds("9999-12-31T23:59:59Z")
    assert (
        as_datetime(LAST + 1)
        == as_datetime(LAST)
        == datetime.datetime(9999, 12, 31, 23, 59, 59, 0, datetime.UTC)
    )
    assert as_datetime(FIRST - 1) == datetime.datetime(1, 1, 1, tzinfo=datetime.UTC)


@given(seconds, st.sampled_from(ZONES))
def test_every_hour_that_a_row_can_have_ends_after_the_row(at: int, zone: str) -> None:
    try:
        local = as_datetime(at).astimezone(ZoneInfo(zone))
    except OverflowError:
        return  # no clock of this zone shows such a time
    path = f"dt={local.year:04}-{local:%m-%d}/hr={local:%H}"
    end_ms = BucketEnds(read_bucket_path(PATH), zone).end_ms(path)
    assert end_ms is not None
    assert 0 < end_ms // 1000 - at <= 3 * 3600
    assert read_bucket_path(PATH).can_make(path)


@given(
    seconds, st.sampled_from(ZONES), st.integers(-3, 3), st.sampled_from([0.0, 1.0, 3600.0, 86_400.0 * 366])
)
def test_the_three_deciders_agree_on_what_is_over(at: int, zone: str, apart: int, delay: float) -> None:
    """Complete partitions, early partitions that were never certified, and the bound of late rows."""
    try:
        local = as_datetime(at).astimezone(ZoneInfo(zone))
    except OverflowError:
        return
    path = f"dt={local.year:04}-{local:%m-%d}/hr={local:%H}"
    rule = replace(
        rule_of("d.t", ("t",)),
        bucketing=Bucketing(PATH, zone=zone),
        completion=CompletionOptions(delay_seconds=delay),
        late="dead_letter",
    )
    home = HivePartition("d.t", path, f"/w/{path}")
    end_ms = BucketEnds(read_bucket_path(PATH), zone).end_ms(path)
    assert end_ms is not None
    through = end_ms // 1000 + round(delay) + apart
    opened = OpenPartition(partition=home, since=1, opened_at="0001-01-01T00:00:00Z", files=1, rows=1)
    completes = Decider(rule, "d.t").complete([opened], through * 1000) == {home}

    closes = period_ends(rule, [path])[path]
    early = EarlyPartition(partition=home, since=1, closes=closes, files=1, rows=1, certified=0)
    state = replace(snapshot(), tracking=Tracking(1, utc_text(through)), early=(early,), open=())
    moves = bool(may_move(state, frozenset(), delay))

    bounds = event_bounds(rule, state)
    assert bounds is not None and bounds.late_before_ms is not None
    is_late = end_ms <= bounds.late_before_ms
    assert completes == moves == is_late == (apart >= 0)
    assert last_end_over(through, delay) >= end_ms // 1000 or apart < 0


def test_a_partition_of_the_year_9999_is_placed_early_although_an_earlier_one_has_moved() -> None:
    home = HivePartition("d.t", "dt=9999-12-31/hr=18", "/w/dt=9999-12-31/hr=18")
    state = replace(snapshot(), closed_through="2026-11-21T00:00:00Z", early=(), moved=())
    place = place_of(state, home, "10000-01-01T00:00:00Z", lambda _: False)
    assert place.location == "/w/_open/dt=9999-12-31/hr=18"
