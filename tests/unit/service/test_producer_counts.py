"""The counts of producers: what is a count, which one of several holds, and how windows agree with a table's."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka2hive.model.errors import ExitCode
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.service.inspect.counts import ALL, CountRequest, TableCounts, WindowKey, WindowSum, moment
from kafka2hive.service.inspect.producer_counts import (
    Comparison,
    CountVerdict,
    MalformedCount,
    ProducerCount,
    ProducerCounts,
    compare,
    parse_count,
)

EIGHT = "2026-11-21T08:00:00Z"
START = int(moment(EIGHT))
GOOD: dict[str, Any] = {"topic": "t", "window": EIGHT, "seconds": 600, "records": 12, "producer": "web-1"}
PLACE = TopicPartition("counts", 0)
MISSING = object()
ALWAYS = CountRequest()


def message(**changes: Any) -> bytes:
    return json.dumps(
        {key: value for key, value in {**GOOD, **changes}.items() if value is not MISSING}
    ).encode()


def test_a_count_says_topic_window_producer_and_records() -> None:
    assert parse_count(message()) == ProducerCount("t", START, 600, "web-1", ALL, 12)
    assert parse_count(message(partition=3, more="is ignored")).number == 3


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not a JSON object"),
        (message(topic=MISSING), "topic is missing"),
        (message(topic=5), "topic is not a text"),
        (message(producer=""), "producer is not a text"),
        (message(window="yesterday"), "window is not a time"),
        (message(window="2026-11-21T08:00:00"), "window is not a time"),
        (message(window="2026-02-30T08:00:00Z"), "window is not a time"),
        (message(window="2026-11-21T08:01:00Z"), "no window of 600 seconds begins at 2026-11-21T08:01:00Z"),
        (message(seconds=0), "seconds is 0"),
        (message(seconds=7000), "seconds is 7000"),
        (message(records=-1), "records is not a number"),
        (message(records=1.5), "records is not a number"),
        (message(records=True), "records is not a number"),
        (message(records=MISSING), "records is missing"),
        (message(partition="0"), "partition is not a number"),
    ],
)
def test_a_message_that_is_no_count_says_why(value: bytes, why: str) -> None:
    with pytest.raises(MalformedCount, match=why):
        parse_count(value)


@given(
    st.binary()
    | st.recursive(
        st.none() | st.integers() | st.text() | st.floats(),
        lambda inner: st.dictionaries(st.sampled_from([*GOOD, "partition"]), inner),
    ).map(lambda content: json.dumps(content).encode())
)
def test_no_message_is_another_error(value: bytes) -> None:
    producers = ProducerCounts(frozenset({"t"}), CountRequest())
    producers.take(PLACE, 0, 0, value)
    assert producers.malformed_count + len(producers.sums()) <= 1


def told(*messages: bytes, times: tuple[int, ...] = (), request: CountRequest = ALWAYS) -> ProducerCounts:
    producers = ProducerCounts(frozenset({"t"}), request)
    for offset, value in enumerate(messages):
        producers.take(PLACE, offset, times[offset] if times else offset, value)
    return producers


def test_counts_add_up_over_producers_and_a_later_one_replaces_an_earlier_one() -> None:
    producers = told(
        message(records=1),
        message(records=5),
        message(producer="web-2", records=7),
        message(partition=1, records=100),
        message(topic="other", records=9),
        message(window="2026-11-21T08:10:00Z", records=3),
    )
    assert producers.sums() == {("t", START, 600): 112, ("t", START + 600, 600): 3}
    late = told(message(records=5), message(records=1), times=(9, 8))
    assert late.sums() == {("t", START, 600): 5}
    some = told(message(), message(window="2026-11-21T08:10:00Z"), request=CountRequest(begin=START + 600))
    assert list(some.sums()) == [("t", START + 600, 600)]


def table(*windows: tuple[str, int, int], uncounted_through: str = "") -> TableCounts:
    """Windows as start, seconds and records."""
    counts = TableCounts("d.t")
    for start, seconds, records in windows:
        key = WindowKey("t", start and f"2026-11-21T{start}:00Z", seconds, ALL)
        counts.windows[key] = WindowSum(records=records)
    if uncounted_through:
        counts.uncounted = 1
        counts.uncounted_through_ms = int(moment(f"2026-11-21T{uncounted_through}:00Z")) * 1000
    return counts


def verdicts(result: Comparison) -> dict[str, str]:
    return {window.start[11:16]: window.verdict for window in result.windows}


def compared(counts: TableCounts, *messages: bytes, lags: bool = False) -> Comparison:
    return compare(counts, told(*messages), "counts", lags=lags)


def test_windows_agree_only_with_the_same_number_of_records() -> None:
    same = compared(table(("08:00", 600, 12)), message())
    assert verdicts(same) == {"08:00": CountVerdict.AGREE} and same.exit_code is ExitCode.DONE
    for read, lags, verdict, code in (
        (11, False, CountVerdict.FEWER, ExitCode.STOP),
        (11, True, CountVerdict.BEHIND, ExitCode.SET_ASIDE),
        (13, False, CountVerdict.MORE, ExitCode.STOP),
        (13, True, CountVerdict.MORE, ExitCode.STOP),
    ):
        other = compared(table(("08:00", 600, read)), message(), lags=lags)
        assert (verdicts(other), other.exit_code) == ({"08:00": verdict}, code)
    nothing = compared(table(), message())
    assert (verdicts(nothing), nothing.exit_code) == ({"08:00": CountVerdict.FEWER}, ExitCode.STOP)
    assert compared(table(), message(records=0)).exit_code is ExitCode.DONE


def test_shorter_windows_of_the_table_add_up_to_the_producers() -> None:
    parts = (("08:00", 60, 5), ("08:04", 60, 6), ("08:05", 300, 1), ("08:10", 60, 4))
    result = compared(table(*parts), message())
    assert verdicts(result) == {"08:00": CountVerdict.AGREE, "08:10": CountVerdict.UNTOLD}
    assert result.exit_code is ExitCode.SET_ASIDE
    longer = compared(table(("08:00", 3600, 12)), message())
    assert verdicts(longer) == {"08:00": CountVerdict.INCOMPLETE}


def test_windows_that_are_not_whole_say_nothing() -> None:
    counts = table(("08:00", 600, 12), ("08:10", 600, 12), uncounted_through="08:05")
    result = compared(counts, message(), message(window="2026-11-21T08:10:00Z"))
    assert verdicts(result) == {"08:00": CountVerdict.INCOMPLETE, "08:10": CountVerdict.AGREE}
    assert result.exit_code is ExitCode.SET_ASIDE


def test_a_message_that_is_no_count_is_told_with_its_place() -> None:
    result = compared(table(("08:00", 600, 12), ("", 600, 2)), message(), *[b"{"] * 12)
    assert (result.malformed_count, len(result.malformed), result.malformed[0]) == (
        12,
        10,
        ("counts-0@1", "not JSON"),
    )
    assert result.without_window == 2
    assert result.exit_code is ExitCode.STOP
