"""Counts of records by time: exact for each range and window, bounded, and compared with the accounts before the commit."""

from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka2hive.config.keys.counts import CountOptions
from kafka2hive.model.offsets import AccountingMismatch, OffsetRange, TopicPartition
from kafka2hive.model.text import utc_text
from kafka2hive.model.window_counts import NO_WINDOW, WindowCount
from kafka2hive.plan.contract import TableManifest
from kafka2hive.task import window_tally
from tests.harness.fake_consumer import FakeLog
from tests.harness.one_task import outcome_of, run_task_of
from tests.harness.task_files import table_settings

MINUTE_MS = 60_000
FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
NOON = 1_795_262_400_000
GOOD, BAD, TOMBSTONE = b'{"id": 1}', b"{", None
Log = list[tuple[int, int, bytes | None]]
"""Offset, timestamp and value of each record."""


def counted(logs: dict[TopicPartition, Log], window: float = 60.0) -> TableManifest:
    """The manifest of a task that reads each of these logs as two ranges."""
    table = replace(table_settings(format="json", columns=[("id", "bigint")]), counts=CountOptions(window))
    fakes, ranges = {}, []
    for place, log in logs.items():
        end = log[-1][0] + 1
        fakes[place.key] = FakeLog(
            {offset: value for offset, _, value in log}, end, times={offset: time for offset, time, _ in log}
        )
        ranges += [OffsetRange(place, 0, end // 2), OffsetRange(place, end // 2, end)]
    return run_task_of(fakes, table, ranges)[0]


def expected(logs: dict[TopicPartition, Log], seconds: int = 60) -> list[WindowCount]:
    """The same counts, record by record."""
    groups: dict[tuple[TopicPartition, bool, str], Log] = defaultdict(list)
    for place, log in logs.items():
        for offset, time, value in log:
            start = (
                utc_text(time // 1000 // seconds * seconds) if 0 <= time < 253_402_300_800_000 else NO_WINDOW
            )
            groups[place, offset >= (log[-1][0] + 1) // 2, start].append((offset, time, value))
    return [
        WindowCount(
            topic_partition=place,
            start=start,
            seconds=seconds,
            records=len(group),
            dead_lettered=sum(value == BAD for _, _, value in group),
            bytes=sum(len(value or b"") for _, _, value in group),
            first=group[0][0],
            last=group[-1][0],
        )
        for (place, _, start), group in groups.items()
    ]


def in_order(windows: object) -> list[str]:
    return sorted(map(str, windows))  # type: ignore[call-overload]


times = st.integers(NOON, NOON + 5 * MINUTE_MS) | st.sampled_from(
    [-1, 0, NOON - 1, NOON, 253_402_300_799_999, 253_402_300_800_000, 2**62]
)
logs = st.lists(
    st.tuples(st.integers(1, 3), times, st.sampled_from([GOOD, BAD, TOMBSTONE])), min_size=2, max_size=60
).map(
    lambda log: [
        (sum(gap for gap, _, _ in log[: n + 1]), time, value) for n, (_, time, value) in enumerate(log)
    ]
)


@given(logs, logs)
def test_counts_are_those_of_each_record(first: Log, second: Log) -> None:
    both = {FIRST: first, SECOND: second}
    manifest = counted(both)
    assert manifest.windows is not None
    assert in_order(manifest.windows) == in_order(expected(both))
    assert outcome_of(manifest).change.windows == manifest.windows


def test_records_far_apart_are_counted_as_those_of_one_minute() -> None:
    log: Log = [(offset, offset % 7 * 1_000_000 * MINUTE_MS, GOOD) for offset in range(200)]
    manifest = counted({FIRST: log})
    assert in_order(manifest.windows) == in_order(expected({FIRST: log}))


def test_a_task_counts_a_bounded_number_of_windows_and_loses_no_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(window_tally, "MOST_WINDOWS", 5)
    log: Log = [(offset, NOON + offset * MINUTE_MS, GOOD) for offset in range(100)]
    manifest = counted({FIRST: log})
    assert manifest.windows is not None
    assert [window.start for window in manifest.windows].count(NO_WINDOW) == 2, "one for each range"
    assert len(manifest.windows) == 7
    assert sum(window.records for window in manifest.windows) == 100


def test_a_table_without_counts_has_none() -> None:
    manifest, _ = run_task_of(
        {FIRST.key: FakeLog({0: b"x"}, 1)}, table_settings(), [OffsetRange(FIRST, 0, 1)]
    )
    assert manifest.windows is None
    assert outcome_of(manifest).change.windows == ()


_EIGHT: Log = [(offset, NOON + offset, BAD if offset == 2 else GOOD) for offset in range(8)]
WHOLE = counted({FIRST: _EIGHT})
assert WHOLE.windows is not None
LEFT, RIGHT = WHOLE.windows


@pytest.mark.parametrize(
    "windows",
    [
        (LEFT,),
        (),
        (LEFT, RIGHT, RIGHT),
        (LEFT, replace(RIGHT, records=RIGHT.records - 1)),
        (replace(LEFT, dead_lettered=0), RIGHT),
        (replace(LEFT, bytes=LEFT.bytes + 1), RIGHT),
        (replace(LEFT, last=LEFT.last + 1), RIGHT),
        (LEFT, replace(RIGHT, first=RIGHT.last)),
        (LEFT, replace(RIGHT, topic_partition=SECOND)),
        (replace(LEFT, records=LEFT.records + 1, start="x"), RIGHT),
        (LEFT, RIGHT, replace(RIGHT, records=0, bytes=0, start=NO_WINDOW)),
        (replace(LEFT, dead_lettered=-1), RIGHT),
        (
            replace(LEFT, records=2, dead_lettered=0, bytes=18, last=1),
            replace(LEFT, records=2, bytes=10, first=2),
            RIGHT,
        ),
    ],
)
def test_counts_that_do_not_add_up_to_the_accounts_are_not_committed(
    windows: tuple[WindowCount, ...],
) -> None:
    assert outcome_of(WHOLE).change.windows == (LEFT, RIGHT)
    with pytest.raises(AccountingMismatch):
        outcome_of(replace(WHOLE, windows=windows))


def test_a_task_that_did_not_count_is_noticed_if_another_did() -> None:
    log: Log = [(offset, NOON + offset, GOOD) for offset in range(8)]
    other = counted({SECOND: log})
    outcome_of(WHOLE, other)
    with pytest.raises(AccountingMismatch, match="the windows hold 0 records"):
        outcome_of(WHOLE, replace(other, windows=None))
