"""Where a table goes on when its Kafka cluster has another name in the map."""

from dataclasses import replace

import pytest

from kafka2hive.config.keys import StartKind, StartPolicy
from kafka2hive.kafka.cluster_moves import renamed
from kafka2hive.kafka.port import ClusterView, TopicView, Watermark
from kafka2hive.kafka.positions import Halt, Logs, PositionsToCommit, Resume, TableIntent, decide
from kafka2hive.kafka.problems import stop
from kafka2hive.model.offsets import OffsetRange, Position, TopicPartition
from kafka2hive.model.snapshot import Snapshot
from tests.harness.values import snapshot

OLD, NEW = TopicPartition("orders", 3), TopicPartition("east/orders", 3)


def table(*positions: Position, cluster_id: str = "c") -> Snapshot:
    return snapshot(table="db.t", cluster_id=cluster_id, positions=positions)


def test_a_renamed_cluster_goes_on_at_the_same_offsets_and_says_so_for_each_topic_partition() -> None:
    decision = renamed(table(Position(OLD, 2, 9, "id", 4)), "east", "c")
    assert isinstance(decision, PositionsToCommit)
    assert decision.positions == (Position(NEW, 9, 9, "id", 4),)
    (gap,) = decision.gaps
    assert (gap.range, gap.moved_to) == (OffsetRange(OLD, 9, 9), "east/orders")
    (back,) = renamed(table(*decision.positions), "", "c").positions  # type: ignore[union-attr]
    assert back == Position(OLD, 9, 9, "id", 4)


def test_a_table_that_reads_the_cluster_already_has_nothing_to_change() -> None:
    assert renamed(table(Position(NEW, 2, 9)), "east", "c") is None


@pytest.mark.parametrize(
    ("before", "now", "code"),
    [
        ("c", "d", "kafka.cluster_changed"),
        ("c", "-", "kafka.cluster_unproven"),
        ("-", "c", "kafka.cluster_unproven"),
    ],
)
def test_without_the_same_cluster_id_nothing_goes_on(before: str, now: str, code: str) -> None:
    decision = renamed(table(Position(OLD, 2, 9), cluster_id=before), "east", now)
    assert isinstance(decision, Halt)
    (problem,) = decision.problems
    assert problem.code == code


def test_a_rebuilt_ledger_with_positions_in_both_keeps_those_of_the_maps_cluster() -> None:
    state = table(Position(OLD, 0, 9), Position(NEW, 9, 20), cluster_id="-")
    decision = renamed(state, "east", "c")
    assert isinstance(decision, PositionsToCommit)
    assert (decision.positions, [gap.moved_to for gap in decision.gaps]) == ((), ["east/orders"])


@pytest.mark.parametrize("positions", [(Position(OLD, 0, 9),), (Position(OLD, 0, 9), Position(NEW, 9, 20))])
def test_a_position_in_a_cluster_that_is_not_read_stops_with_the_command(
    positions: tuple[Position, ...],
) -> None:
    logs = Logs(
        ClusterView("c", {"east/orders": TopicView("east/orders", "-", (3,))}, {"": "c", "east": "c"}),
        {NEW: Watermark(0)},
        {NEW: Watermark(30)},
    )
    intent = TableIntent(("east/orders",), StartPolicy(StartKind.EARLIEST))
    decision = decide(table(*positions), logs, intent)
    assert isinstance(decision, Halt)
    error = stop("db.t", decision.problems)
    assert error.code == "kafka.cluster_changed"
    assert "kafka2hive recover --table db.t --accept-cluster db.t -c MAP" in error.remedy
    moved = replace(table(Position(NEW, 9, 9)), cluster_id="c")
    assert decide(moved, logs, intent) == Resume((OffsetRange(NEW, 9, 30),))
