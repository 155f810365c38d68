"""The judges of the drill of a table's life see what they must see, on results made up here."""

import orjson

from tests.drills.visible_counts import VisibleCounts
from tests.oracle.fates import LATE, OUT_OF_RANGE, ROW, TimedRecord, fate

HOUR, NEXT = "dt=2026-11-22/hr=00", "dt=2026-11-22/hr=01"
AT_MS = 1_795_309_200_000  # 2026-11-22T01:00:00Z
BOUNDS = {"planned_ms": AT_MS + 60_000, "max_future_ms": 7_200_000, "max_past_ms": 36_000_000}


def counts_of(**sent: int) -> VisibleCounts:
    counts = VisibleCounts()
    for name, number in sent.items():
        counts.note_sent({"hour": HOUR, "next": NEXT}[name[:4]], number)
    return counts


def test_a_result_that_shows_more_over_time_is_right() -> None:
    counts = counts_of(hour1=1, hour2=2, next1=3)
    assert counts.check_partitions({}, counts.floor()) is None
    assert counts.check_partitions({HOUR: (1, 2)}, counts.floor()) is None
    assert counts.check_partitions({HOUR: (2, 3), NEXT: (1, 3)}, counts.floor()) is None
    assert counts.check_whole((3, 6), counts.floor()) is None


def test_rows_that_were_seen_and_are_gone_are_noticed() -> None:
    counts = counts_of(hour1=1, hour2=2, next1=3)
    assert counts.check_partitions({HOUR: (2, 3)}, counts.floor()) is None
    lost = counts.check_partitions({NEXT: (1, 3)}, counts.floor())
    assert lost is not None and lost.startswith(f"{HOUR}: (0, 0)") and "had shown (2, 3)" in lost
    assert counts.check_partitions({HOUR: (1, 2)}, counts.floor(), HOUR) is not None
    assert counts.check_whole((1, 2), counts.floor()) is not None


def test_a_query_that_began_before_another_ended_may_show_less() -> None:
    counts = counts_of(hour1=1, hour2=2)
    floor = counts.floor()
    assert counts.check_partitions({HOUR: (2, 3)}, counts.floor()) is None
    assert counts.check_partitions({HOUR: (1, 1)}, floor) is None


def test_rows_that_nobody_sent_or_that_are_doubled_are_noticed() -> None:
    counts = counts_of(hour1=1, hour2=2)
    doubled = counts.check_partitions({HOUR: (4, 6)}, counts.floor())
    assert doubled is not None and "of (2, 3) produced" in doubled
    assert counts.check_partitions({NEXT: (1, 1)}, counts.floor()) is not None
    assert counts.check_whole((3, 3), counts.floor()) is not None


def test_the_fate_of_a_record_follows_from_its_bytes_its_timestamp_and_the_bounds() -> None:
    def decided(time_hour: str | None, late_before_ms: int | None = None) -> str:
        payload = orjson.dumps({"id": 1, "time_hour": time_hour})
        return fate(TimedRecord(payload, AT_MS), {**BOUNDS, "late_before_ms": late_before_ms})

    assert decided("2026-11-22T03:00:00Z") == ROW
    assert decided("2026-11-22T03:00:01Z") == OUT_OF_RANGE
    assert decided("2026-11-21T15:00:00Z", AT_MS - 36_000_000) == ROW
    assert decided("2026-11-21T14:59:59Z", AT_MS) == OUT_OF_RANGE
    assert decided("2026-11-22T00:59:59Z", AT_MS) == LATE
    assert decided("2026-11-22T00:59:59Z", AT_MS - 1) == ROW
    assert decided("2026-11-22T01:00:00Z", AT_MS) == ROW
    assert decided(None) == "bucket.no_time"
    assert fate(TimedRecord(b'{"id":1', AT_MS), BOUNDS) == "json.syntax"
    assert fate(TimedRecord(b'{"id":"1"}', AT_MS), BOUNDS) == "json.type"
