"""The ceiling of a backfill: a backlog shrinks no faster, what arrives is never held back, and everything is read in the end."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka2hive.config.keys import Flush, Limits
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.plan import TableBacklog, is_due, plan_epoch
from kafka2hive.plan.ceiling import LONGEST_SECONDS, with_ceilings
from tests.unit.plan.test_plan import backlog, records_of

MINUTE = Flush(interval_seconds=60.0, backfill_bytes=1_000)


def waits(
    records: int, fresh: int, seconds: float, flush: Flush = MINUTE, table: str = "db.t"
) -> TableBacklog:
    return replace(backlog(table, [records], 100.0, seconds, flush), fresh_records=fresh)


def readable(*backlogs: TableBacklog, ceiling: int | None = None) -> list[int]:
    return [each.readable for each in with_ceilings(backlogs, ceiling)]


def test_a_table_reads_what_has_come_and_the_ceiling_times_the_time() -> None:
    assert readable(waits(1_000_000, 5_000, 60.0)) == [5_600]
    assert readable(waits(5_300, 5_000, 60.0)) == [5_300]
    assert readable(waits(5_000, 5_000, 60.0)) == [5_000], "nothing of it is old"
    assert readable(waits(1_000_000, 0, float("inf"))) == [int(LONGEST_SECONDS * 10)], (
        "the first epoch of a run"
    )
    assert readable(replace(waits(1_000_000, 0, 60.0), flush=Flush())) == [1_000_000]


def test_tables_with_old_records_share_the_ceiling_of_the_service() -> None:
    free = Flush(interval_seconds=60.0)
    tables = [
        waits(1_000_000, 0, 60.0, free, "db.a"),
        waits(1_000_000, 1_000, 60.0, free, "db.b"),
        waits(70, 70, 60.0, free, "db.c"),
    ]
    assert readable(*tables, ceiling=20_000) == [6_000, 7_000, 70]
    assert readable(tables[0], waits(1_000_000, 0, 60.0, MINUTE, "db.d"), ceiling=20_000) == [6_000, 600]


def test_a_table_with_a_ceiling_waits_for_its_interval_although_much_waits() -> None:
    flush = replace(MINUTE, bytes=50_000)
    assert not is_due(with_ceilings([waits(1_000_000, 10, 5.0, flush)], None)[0])
    assert is_due(with_ceilings([waits(1_000_000, 10, 60.0, flush)], None)[0])
    assert is_due(with_ceilings([waits(1_000_000, 600, 5.0, flush)], None)[0]), "as much as a file has come"


@pytest.mark.parametrize("ceiling", [None, 3_000])
@given(
    old=st.integers(0, 40_000),
    arrivals=st.lists(st.integers(0, 2_000), min_size=1, max_size=40),
    rate=st.integers(1, 5_000),
)
def test_a_backlog_shrinks_by_at_most_the_ceiling_and_never_grows(
    ceiling: int | None, old: int, arrivals: list[int], rate: int
) -> None:
    """A run of epochs, one a minute: the lag after each, and the records in order."""
    flush = Flush(interval_seconds=60.0, backfill_bytes=rate)
    position, end, left = 0, old, old
    tp = TopicPartition("x", 0)
    for came in arrivals:
        end += came
        waiting = TableBacklog(
            "db.t",
            "id",
            1,
            1,
            (OffsetRange(tp, position, end),),
            100.0,
            60.0,
            flush,
            fresh_records=end - position - left,
        )
        plans = plan_epoch(with_ceilings([waiting], ceiling), Limits(), 2, 0)
        position += records_of(plans).get("db.t", 0)
        lag = end - position
        assert lag <= left, "what arrives is read"
        most = min(rate, ceiling or rate) * 60 // 100
        assert lag >= min(left, left - max(most, 1)), "it shrinks no faster"
        left = lag
    assert left == max(old - len(arrivals) * (min(rate, ceiling or rate) * 60 // 100), 0) or rate < 4
