"""Epochs keep to their bytes while records grow: the planner follows what the epoch before showed."""

import pytest

from kafka2hive.config.keys import Flush, Limits
from kafka2hive.config.load import load_text
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, RangeAccounting, TopicPartition
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.plan import TableBacklog, plan_epoch
from kafka2hive.service.tables.table_state import MapTable, Table

MIB = 1024 * 1024
LIMITS = Limits(epoch_bytes=64 * MIB)
MAP = """\
service: sizes
kafka: {bootstrap.servers: "127.0.0.1:9092"}
storage: {uri: "file:///nowhere"}
defaults: {format: raw}
tables: [{table: d.t, topics: [t]}]
"""


@pytest.fixture
def table() -> Table:
    rule = load_text(MAP, "map.yaml", {}).tables[0]
    return Table(MapTable(rule, LedgerPaths("/ledgers", "d.t"), ("t",)))


def epoch(table: Table, sizes: list[int]) -> int:
    """The bytes of the next epoch of a topic whose partitions have records of these sizes, in plenty."""
    waiting = tuple(OffsetRange(TopicPartition("t", n), 0, 10**7) for n in range(len(sizes)))
    backlog = TableBacklog(
        "d.t",
        "id",
        1,
        1,
        waiting,
        table.record_sizes.mean,
        1e9,
        Flush(),
        most_bytes_per_record=table.record_sizes.bound,
    )
    accounts = [
        RangeAccounting(plan.index, r, OffsetAccounting(read=len(r), bytes=len(r) * size, written=len(r)))
        for plan in plan_epoch([backlog], LIMITS, 4, 0)
        for share in plan.tables
        for r in share.ranges
        for size in [sizes[r.topic_partition.number]]
    ]
    table.record_sizes.learn(accounts)
    return sum(a.account.bytes for a in accounts)


def test_records_that_grow_from_epoch_to_epoch_make_no_epoch_larger_than_its_bytes(table: Table) -> None:
    sizes = [int(600 * 1.2**n) for n in range(20)]
    assert all(epoch(table, [size]) <= LIMITS.epoch_bytes for size in sizes)


def test_an_epoch_after_one_with_larger_records_keeps_to_its_bytes(table: Table) -> None:
    epoch(table, [500])
    epoch(table, [500])
    assert LIMITS.epoch_bytes < epoch(table, [50_000])
    assert epoch(table, [50_000]) <= LIMITS.epoch_bytes


def test_the_partition_with_the_largest_records_may_be_the_only_one_that_waits_next(table: Table) -> None:
    epoch(table, [200, 200, 200, 4000])
    assert epoch(table, [4000]) <= LIMITS.epoch_bytes


def test_a_new_table_of_records_of_two_kilobytes_keeps_to_its_bytes(table: Table) -> None:
    assert epoch(table, [2048]) <= LIMITS.epoch_bytes


def test_the_second_epoch_of_a_new_table_uses_most_of_its_bytes(table: Table) -> None:
    epoch(table, [300])
    assert epoch(table, [300]) > 0.75 * LIMITS.epoch_bytes


def test_a_few_small_records_do_not_end_the_caution_about_a_new_table(table: Table) -> None:
    few = OffsetRange(TopicPartition("t", 0), 0, 100)
    table.record_sizes.learn([RangeAccounting(0, few, OffsetAccounting(read=100, bytes=5_000, written=100))])
    assert epoch(table, [1000]) <= LIMITS.epoch_bytes


def test_many_small_records_do_not_hide_at_once_that_few_were_large(table: Table) -> None:
    for size, read in ((20_000, 5_000), (100, 10_000)):
        of_topic = OffsetRange(TopicPartition("t", 0), 0, read)
        account = OffsetAccounting(read=read, bytes=read * size, written=read)
        table.record_sizes.learn([RangeAccounting(0, of_topic, account)])
    assert epoch(table, [10_000]) <= LIMITS.epoch_bytes


def test_sizes_that_stay_use_most_of_the_bytes(table: Table) -> None:
    assert [epoch(table, [3000]) for _ in range(12)][-1] > 0.75 * LIMITS.epoch_bytes


def test_one_large_record_does_not_make_epochs_small(table: Table) -> None:
    epoch(table, [500])
    few = RangeAccounting(
        0, OffsetRange(TopicPartition("t", 0), 0, 1), OffsetAccounting(read=1, bytes=MIB, written=1)
    )
    many = RangeAccounting(
        0,
        OffsetRange(TopicPartition("t", 1), 0, 10_000),
        OffsetAccounting(read=10_000, bytes=5_000_000, written=10_000),
    )
    table.record_sizes.learn([few, many])
    assert epoch(table, [500]) > LIMITS.epoch_bytes / 4
