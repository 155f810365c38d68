"""The plan of an epoch: due, fair, bounded, packed, and every backlog drains."""

import random
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka2hive.config.keys import Flush, Limits
from kafka2hive.config.keys.writer import AUTO
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.plan import TableBacklog, is_due, plan_epoch
from kafka2hive.plan.contract import TaskPlan
from kafka2hive.plan.epoch import TASK_BYTES_AT_LEAST

MB = 1024 * 1024
NOW_MS = 1_700_000_000_000


def backlog(
    table: str,
    lengths: list[int],
    bytes_per_record: float = 100.0,
    seconds: float = 1e9,
    flush: Flush | None = None,
) -> TableBacklog:
    ranges = tuple(
        OffsetRange(TopicPartition(f"topic-of-{table}", n), 7 * n, 7 * n + length)
        for n, length in enumerate(lengths)
    )
    return TableBacklog(table, f"id-{table}", 3, 41, ranges, bytes_per_record, seconds, flush or Flush())


def planned(plans: tuple[TaskPlan, ...]) -> dict[tuple[str, TopicPartition], list[OffsetRange]]:
    """Return the planned ranges by table and topic partition, in order of offset."""
    ranges: dict[tuple[str, TopicPartition], list[OffsetRange]] = defaultdict(list)
    for plan in plans:
        for task in plan.tables:
            for r in task.ranges:
                ranges[task.table, r.topic_partition].append(r)
    return {key: sorted(value) for key, value in ranges.items()}


def records_of(plans: tuple[TaskPlan, ...]) -> dict[str, int]:
    """Return the number of planned records by table."""
    counts: dict[str, int] = defaultdict(int)
    for (table, _), ranges in planned(plans).items():
        counts[table] += sum(map(len, ranges))
    return dict(counts)


def after(backlogs: list[TableBacklog], plans: tuple[TaskPlan, ...]) -> list[TableBacklog]:
    """Return the backlogs after the epoch is committed, without new records."""
    done = planned(plans)

    def rest(table: str, r: OffsetRange) -> OffsetRange:
        taken = done.get((table, r.topic_partition), [])
        return OffsetRange(r.topic_partition, taken[-1].end if taken else r.start, r.end)

    return [replace(b, ranges=tuple(rest(b.table, r) for r in b.ranges)) for b in backlogs]


lengths = st.lists(st.one_of(st.integers(0, 50), st.integers(0, 3_000_000)), max_size=12)
tables = st.dictionaries(
    st.sampled_from([f"db.t{n}" for n in range(8)]),
    st.tuples(lengths, st.floats(0.0, 50_000.0), st.sampled_from([0.0, 59.0, 60.0, 1e9])),
    max_size=8,
).map(lambda d: [backlog(name, *values) for name, values in d.items()])
limits = st.builds(Limits, epoch_bytes=st.integers(1, 2_000 * MB), epoch_records=st.integers(1, 10_000_000))
slots = st.integers(1, 40)


def test_a_table_is_due_when_its_interval_has_passed_or_enough_bytes_wait() -> None:
    flush = Flush(interval_seconds=60.0, bytes=1000)
    assert not is_due(backlog("t", [9], 100.0, 59.9, flush))
    assert is_due(backlog("t", [9], 100.0, 60.0, flush))
    assert is_due(backlog("t", [5, 5], 100.0, 0.0, flush))


def waiting(records: int, seconds: float, may_wait: bool = True) -> TableBacklog:
    """Records of 100 bytes, an interval of 60 to 600 s, 1,000 bytes that are worth a file, and at most 5,000 waiting."""
    flush = Flush(60.0, 5_000, max_interval_seconds=600.0, min_bytes=1_000)
    return replace(backlog("t", [records], 100.0, seconds, flush), may_wait=may_wait)


def test_a_small_table_waits_until_its_bytes_are_worth_a_file_or_for_its_longest_interval() -> None:
    assert not is_due(waiting(9, 60.0))
    assert not is_due(waiting(9, 599.9))
    assert is_due(waiting(9, 600.0))
    assert is_due(waiting(10, 60.0))
    assert not is_due(waiting(10, 59.9))


def test_a_burst_makes_a_small_table_due_at_once() -> None:
    assert not is_due(waiting(49, 0.0))
    assert is_due(waiting(50, 0.0))


def test_a_table_that_may_not_wait_is_due_after_its_interval() -> None:
    assert is_due(waiting(1, 60.0, may_wait=False))
    assert not is_due(waiting(1, 59.9, may_wait=False))


def test_a_small_table_is_drained_at_once() -> None:
    assert records_of(plan_epoch([waiting(1, 0.0)], Limits(), 4, NOW_MS, drain=True)) == {"t": 1}


def test_bytes_that_are_worth_a_file_are_worth_a_task() -> None:
    assert (
        AUTO.min_bytes == TASK_BYTES_AT_LEAST
    )  # more bytes would be read by more tasks, and make as many files


@given(st.integers(0, 100), st.floats(0.0, 1e4), st.floats(0.0, 1e4), st.booleans())
def test_a_longer_interval_is_never_shorter_than_the_interval_or_longer_than_its_bound(
    records: int, seconds: float, bytes_per_record: float, may_wait: bool
) -> None:
    both = replace(waiting(records, seconds, may_wait), bytes_per_record=bytes_per_record)
    soonest = replace(both, flush=Flush(60.0, 5_000))
    latest = replace(both, flush=Flush(600.0, 5_000))
    assert is_due(latest) <= is_due(both) <= is_due(soonest)


def test_a_table_without_a_record_is_never_due() -> None:
    assert not is_due(backlog("t", [], seconds=1e9))
    assert not is_due(backlog("t", [0, 0], seconds=float("inf")))


def test_nothing_due_means_no_task() -> None:
    assert plan_epoch([backlog("t", [5], seconds=1.0)], Limits(), 4, NOW_MS) == ()
    assert plan_epoch([], Limits(), 4, NOW_MS, drain=True) == ()


def test_draining_plans_what_is_not_due_yet() -> None:
    plans = plan_epoch([backlog("t", [5], seconds=1.0), backlog("u", [0])], Limits(), 4, NOW_MS, drain=True)
    assert records_of(plans) == {"t": 5}


def test_isolation_plans_the_suspects_alone_due_or_not() -> None:
    backlogs = [backlog("t", [5], seconds=1.0), backlog("u", [5]), backlog("v", [5])]
    plans = plan_epoch(backlogs, Limits(), 4, NOW_MS, only_tables=frozenset({"t", "v"}))
    assert records_of(plans) == {"t": 5, "v": 5}


def test_a_task_carries_the_names_of_its_ledger_and_the_time_of_planning() -> None:
    (plan,) = plan_epoch([backlog("t", [5])], Limits(), 4, NOW_MS)
    (task,) = plan.tables
    assert (plan.index, task.table, task.ledger_id, task.generation, task.epoch, task.planned_at_ms) == (
        0, "t", "id-t", 3, 41, NOW_MS,
    )  # fmt: skip


def test_a_tiny_epoch_is_one_task_whatever_the_number_of_slots() -> None:
    plans = plan_epoch([backlog(f"t{n}", [10] * 3) for n in range(20)], Limits(), 64, NOW_MS)
    assert len(plans) == 1
    assert len(plans[0].tables) == 20


def test_one_big_topic_partition_is_split_evenly_over_all_slots() -> None:
    plans = plan_epoch([backlog("t", [1_000_000])], Limits(), 4, NOW_MS)
    sizes = [sum(map(len, t.ranges)) for p in plans for t in p.tables]
    assert len(sizes) == 4
    assert max(sizes) - min(sizes) < 10_000


def test_tables_that_fit_a_task_are_never_spread_over_two() -> None:
    plans = plan_epoch([backlog(f"t{n}", [40_000] * 4) for n in range(9)], Limits(), 3, NOW_MS)
    assert len(plans) == 3
    assert sum(len(p.tables) for p in plans) == 9


def test_a_backlog_of_one_table_does_not_starve_a_small_one() -> None:
    backlogs = [
        backlog("big", [10**9], 500.0),
        backlog("huge", [10**10], 500.0),
        backlog("small", [1000], 500.0),
    ]
    got = records_of(plan_epoch(backlogs, Limits(), 2, NOW_MS))
    assert got["small"] == 1000
    assert got["big"] == got["huge"]
    assert 0.99 * 512 * MB < sum(got.values()) * 500 <= 512 * MB


def test_every_topic_partition_of_a_table_moves_on() -> None:
    plans = plan_epoch([backlog("t", [10**9] + [1000] * 9, 500.0)], Limits(), 2, NOW_MS)
    assert {tp.number for _, tp in planned(plans)} == set(range(10))
    assert all(sum(map(len, r)) == 1000 for (_, tp), r in planned(plans).items() if tp.number)


def test_more_topic_partitions_than_the_record_budget_each_get_one_record() -> None:
    plans = plan_epoch([backlog("t", [50] * 20)], replace(Limits(), epoch_records=10), 2, NOW_MS)
    assert records_of(plans) == {"t": 20}


@given(tables, limits, slots, st.booleans())
def test_each_topic_partition_is_planned_as_one_prefix_in_at_most_slots_tasks(
    backlogs: list[TableBacklog], limits: Limits, slots: int, drain: bool
) -> None:
    plans = plan_epoch(backlogs, limits, slots, NOW_MS, drain=drain)
    waiting = {(b.table, r.topic_partition): r for b in backlogs for r in b.ranges}
    for key, ranges in planned(plans).items():
        assert ranges[0].start == waiting[key].start
        assert all(left.end == right.start for left, right in pairwise(ranges))
        assert ranges[-1].end <= waiting[key].end
        assert all(map(len, ranges))
    assert [p.index for p in plans] == list(range(len(plans)))
    assert len(plans) <= slots
    for plan in plans:
        assert plan.tables
        assert len({t.table for t in plan.tables}) == len(plan.tables)
        assert all(t.ranges for t in plan.tables)


@given(tables, limits, slots, st.booleans())
def test_exactly_the_due_tables_move_and_each_of_their_topic_partitions(
    backlogs: list[TableBacklog], limits: Limits, slots: int, drain: bool
) -> None:
    plans = plan_epoch(backlogs, limits, slots, NOW_MS, drain=drain)
    assert set(planned(plans)) == {
        (b.table, r.topic_partition) for b in backlogs if drain or is_due(b) for r in b.ranges if len(r)
    }


@given(tables, limits, slots)
def test_an_epoch_keeps_to_its_budget_but_for_a_record_of_each_topic_partition(
    backlogs: list[TableBacklog], limits: Limits, slots: int
) -> None:
    plans = plan_epoch(backlogs, limits, slots, NOW_MS, drain=True)
    size = {b.table: b.bytes_per_record for b in backlogs}
    got = records_of(plans)
    ranges = planned(plans)
    assert sum(got.values()) <= limits.epoch_records + len(ranges)
    assert sum(n * size[t] for t, n in got.items()) <= limits.epoch_bytes + sum(size[t] for t, _ in ranges)


@given(tables, limits, slots)
def test_who_did_not_get_all_got_at_least_as_much_as_anybody_else(
    backlogs: list[TableBacklog], limits: Limits, slots: int
) -> None:
    plans = plan_epoch(backlogs, limits, slots, NOW_MS, drain=True)
    got = records_of(plans)
    price = {
        b.table: max(max(1.0, b.bytes_per_record) / limits.epoch_bytes, 1 / limits.epoch_records)
        for b in backlogs
    }
    count = {b.table: sum(1 for r in b.ranges if len(r)) for b in backlogs}
    for b in backlogs:
        if got.get(b.table, 0) < b.records:
            for other, records in got.items():
                excused = (
                    count[other] * price[other] + price[b.table]
                )  # one record each, and one that did not divide
                assert got[b.table] * price[b.table] >= records * price[other] - excused - 1e-9
    for (table, _), ranges in planned(plans).items():
        taken = sum(map(len, ranges))
        mine = next(b for b in backlogs if b.table == table)
        length = {r.topic_partition: len(r) for r in mine.ranges}
        if taken < length[ranges[0].topic_partition]:
            assert all(
                sum(map(len, r)) <= taken + 1 for (other, _), r in planned(plans).items() if other == table
            )


@given(tables, slots)
@settings(max_examples=settings().max_examples // 2)
def test_planning_again_and_again_drains_every_backlog(backlogs: list[TableBacklog], slots: int) -> None:
    limits = Limits()
    total = sum(b.records for b in backlogs)
    # half of the budget of one resource is used at least while there is more than that
    bound = (
        3
        + sum(b.bytes + b.records for b in backlogs) / (limits.epoch_bytes / 2)
        + total / (limits.epoch_records / 2)
    )
    for _ in range(int(bound)):
        plans = plan_epoch(backlogs, limits, slots, NOW_MS, drain=True)
        backlogs = after(backlogs, plans)
        if not plans:
            break
    assert sum(b.records for b in backlogs) == 0


@given(tables, limits, slots, st.randoms(use_true_random=False))
def test_the_order_in_which_tables_and_topic_partitions_are_seen_changes_nothing(
    backlogs: list[TableBacklog], limits: Limits, slots: int, chance: random.Random
) -> None:
    seen = [
        replace(b, ranges=tuple(chance.sample(b.ranges, len(b.ranges))))
        for b in chance.sample(backlogs, len(backlogs))
    ]
    assert plan_epoch(seen, limits, slots, NOW_MS) == plan_epoch(backlogs, limits, slots, NOW_MS)


@given(st.lists(st.integers(0, 2_000_000), min_size=1, max_size=30), slots)
def test_no_task_is_much_heavier_than_an_even_one(lengths: list[int], slots: int) -> None:
    backlogs = [backlog(f"t{n}", [length], 1000.0) for n, length in enumerate(lengths)]
    plans = plan_epoch(backlogs, replace(Limits(), epoch_bytes=10**12, epoch_records=10**12), slots, NOW_MS)
    weights = [sum(len(r) * 1000 + 65536 for t in p.tables for r in t.ranges) for p in plans]
    if weights:
        even = sum(weights) / len(weights)
        assert max(weights) <= 2.3 * even + 100_000
