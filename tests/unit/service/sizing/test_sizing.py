"""The sums of `size` against what a soak and epochs on real services took (docs/sizing.md), and against `plan.epoch`."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.config.keys import Flush, Limits, ServiceMap
from kafka2hive.config.load import load_map
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.plan.epoch import TableBacklog, is_due
from kafka2hive.service.sizing.loads import ExpectedLoad, loads_of
from kafka2hive.service.sizing.model import HOUR, RecordKind, ServiceCost, TableLoad, cost_of

CONFIGS = Path(__file__).parents[4] / "configs"
TRIGGER = 10.0
AUTO = Flush(max_interval_seconds=600.0)
SOAK = cost_of([TableLoad("many", 300 / 2000, 200, RecordKind.JSON, AUTO, tables=2000)], Limits(), TRIGGER)
"""`scripts/soak 1 --tables 2000 --peak 300`."""


def within(share: float, reckoned: float, *measured: float) -> bool:
    """Whether the sum is so near to the range of what was measured."""
    return min(measured) / (1 + share) <= reckoned <= max(measured) * (1 + share)


def test_a_service_of_2000_tables_took_what_the_sums_say() -> None:
    assert within(0.1, SOAK.tables[0].epochs_per_hour, 12_000)
    idle_calls, epoch_calls = 19_100 + 24_000, 6 * 2000 * 21
    assert within(0.3, SOAK.namenode_calls_per_second * HOUR, idle_calls + epoch_calls)
    idle_cpu, epochs_cpu = (340, 405), 12_000 * 0.0105
    assert within(0.4, SOAK.busy_cores * HOUR, *(each + epochs_cpu for each in idle_cpu))


@pytest.mark.parametrize(
    ("flush", "calls", "cpu_seconds"),
    [
        (Flush(interval_seconds=10.0), 12_010, 140),
        (Flush(interval_seconds=10.0, max_interval_seconds=600.0), 2_980, 40),
    ],
    ids=["interval", "max_interval"],
)
def test_one_small_table_took_what_the_sums_say(flush: Flush, calls: int, cpu_seconds: int) -> None:
    cost = cost_of([TableLoad("small", 1, 300, RecordKind.JSON, flush)], Limits(), TRIGGER)
    assert within(0.25, cost.namenode_calls_per_second * HOUR, calls)
    assert within(0.5, cost.busy_cores * HOUR, cpu_seconds)


@pytest.mark.parametrize("records", [0.5, 40, 333, 1_000, 100_000, 3_000_000])
@pytest.mark.parametrize(
    "flush", [Flush(), AUTO, Flush(interval_seconds=5.0, bytes=1 << 20)], ids=["60s", "auto", "5s"]
)
def test_a_table_is_due_when_the_plan_says_so(records: float, flush: Flush) -> None:
    load = TableLoad("t", records, 300, RecordKind.JSON, flush)
    interval = load.interval(0.0)

    def due(seconds: float) -> bool:
        ends = int(records * seconds + 1e-6)
        backlog = TableBacklog(
            table="air.t",
            ledger_id="l",
            generation=1,
            epoch=1,
            ranges=(OffsetRange(TopicPartition("t", 0), 0, ends),),
            bytes_per_record=300,
            seconds_since_epoch=seconds,
            flush=flush,
            may_wait=True,
        )
        return is_due(backlog)

    assert due(interval * 1.01 + 1 / records) and not due(interval * 0.99)


def test_a_service_without_records_is_idle() -> None:
    cost = cost_of([TableLoad("t", 0, 300, RecordKind.JSON, Flush())], Limits(), TRIGGER)
    assert (cost.cores, cost.services, cost.files_per_day) == (1, 1, 0)
    assert cost.busy_cores < 0.01


def test_large_records_cost_as_bytes_and_small_ones_as_records() -> None:
    small, usual, large = (RecordKind.JSON.cpu_seconds(length) for length in (30, 300, 3000))
    assert small == 1 / 800_000
    assert usual == pytest.approx(small, rel=0.02)
    assert large == pytest.approx(10 * usual, rel=0.02)


def test_many_tables_with_a_short_interval_are_split() -> None:
    quick = TableLoad("t", 1, 300, RecordKind.JSON, Flush(interval_seconds=10.0), tables=5000)
    assert _cost(quick).services == 4
    assert _cost(replace(quick, flush=Flush())).services == 1


def _cost(load: TableLoad) -> ServiceCost:
    return cost_of([load], Limits(), TRIGGER)


def test_much_of_a_table_is_read_at_each_look_by_several_tasks() -> None:
    cost = _cost(TableLoad("t", 1_000_000, 300, RecordKind.JSON, Flush()))
    (table,) = cost.tables
    assert table.interval == TRIGGER and cost.epoch_bytes == 3e9 > Limits().epoch_bytes
    assert table.files_per_epoch % cost.cores == 0 and table.file_bytes <= Limits().file_bytes


@pytest.fixture
def service_map() -> ServiceMap:
    return load_map(str(CONFIGS / "smallest.yaml"), {})


def test_tables_share_the_rate_that_is_left(service_map: ServiceMap) -> None:
    (rule,) = service_map.tables
    several = replace(service_map, tables=(rule, replace(rule, table="air.b"), replace(rule, table="air.c")))
    loads = loads_of(several, 100, [ExpectedLoad.parse("air.b=20,50x3")])
    assert [(load.name, load.records, load.record_bytes, load.tables) for load in loads] == [
        (rule.table, 50, 300, 1),
        ("air.b", 20, 50, 3),
        ("air.c", 50, 300, 1),
    ]


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (["air.x=5"], "the map has no table air.x"),
        (["air.flights=5", "air.flights=6"], "a table is named twice"),
        (["air.flights"], "'air.flights' is no load of a table"),
        (["air.flights=-1"], "'air.flights=-1' is no load of a table"),
        (["air.flights=5,0"], "'air.flights=5,0' is no load of a table"),
    ],
)
def test_a_wrong_load_is_refused(service_map: ServiceMap, texts: list[str], why: str) -> None:
    with pytest.raises(ConfigError, match=r"^") as caught:
        loads_of(service_map, 0, [ExpectedLoad.parse(text) for text in texts])
    assert caught.value.code == "usage.load" and why in caught.value.message


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("smallest", RecordKind.JSON),
        ("avro", RecordKind.SCHEMA),
        ("protobuf", RecordKind.SCHEMA),
        ("debezium", RecordKind.CHANGES),
    ],
)
def test_the_kind_of_records_follows_from_the_map(name: str, kind: RecordKind) -> None:
    assert {
        load.kind
        for load in loads_of(load_map(str(CONFIGS / f"{name}.yaml"), {"REGISTRY_PASSWORD": "x"}), 10, [])
    } == {kind}
