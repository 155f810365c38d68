"""Where a table goes on when its Kafka cluster has another name in the map, or its topics are mirrored to another one."""

from dataclasses import replace

import pytest

from kafka2hive.config.keys import StartKind, StartPolicy
from kafka2hive.kafka.cluster_moves import MoveTarget, moved, renamed
from kafka2hive.kafka.neighbours import NeighbourRecord, Neighbours
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


def around(*values: str, first: int, after: str = "", key: bytes | None = None) -> Neighbours:
    """Records with these values from an offset on, and the one after them."""
    records = [
        NeighbourRecord(key, value.encode(), (1, 7), first + at)
        for at, value in enumerate((*values, after))
        if value
    ]
    return Neighbours(tuple(records[: len(values)]), records[-1] if after else None)


def target(
    here: Neighbours | None, there: Neighbours, *, at: int = 30, end: int = 40, latest: int = 50
) -> MoveTarget:
    return MoveTarget(
        position=Position(OLD, end, end, "id", 4),
        topic_partition=NEW,
        offset=at,
        earliest=0,
        latest=latest,
        topic_id="new id",
        here=here,
        there=there,
    )


SAME = around("a", "b", first=38), around("a", "b", first=28)


@pytest.mark.parametrize(
    ("here", "there"),
    [
        SAME,
        (around("a", "b", first=30, after="c"), around("a", "b", first=28, after="c")),
        (around("a", "b", first=38), around("b", first=29)),  # the mirror began late
        (around("a", "b", first=38), around("a", "b", first=28, after="new")),
        (around(first=0, after="c"), around(first=30, after="c")),
    ],
    ids=["both end", "both go on", "began late", "only the new one grows", "only the next record is left"],
)
def test_the_same_records_around_both_offsets_prove_a_move(here: Neighbours, there: Neighbours) -> None:
    decision = moved([target(here, there)], "d", unproven=False)
    assert isinstance(decision, PositionsToCommit)
    assert decision.positions == (Position(NEW, 30, 30, "new id"),)
    assert decision.gaps[0].moved_to == "east/orders" and "offset 30" in decision.gaps[0].reason


@pytest.mark.parametrize(
    ("here", "there"),
    [
        (around("a", "b", first=38), around("b", "c", first=28)),
        (around("a", "b", first=38, after="c"), around("a", "b", first=28, after="d")),
        (around("a", "b", first=38), around("x", "b", first=28)),
        (around("a", "b", first=38), around("a", "b", first=28, key=b"k")),
        (around("b", "b", first=38), around("b", first=29, after="b")),
        (around("a", "b", first=38, after="c"), around(first=0, after="a")),
    ],
    ids=["shifted", "other next", "other earlier", "other key", "read already", "too early"],
)
@pytest.mark.parametrize("unproven", [False, True])
def test_other_records_refuse_a_move_even_with_consent(
    here: Neighbours, there: Neighbours, unproven: bool
) -> None:
    decision = moved([target(here, there)], "d", unproven=unproven)
    assert isinstance(decision, Halt)
    assert [p.code for p in decision.problems] == ["kafka.cluster_records_differ"]
    assert "orders-3" in decision.problems[0].message and "30" in decision.problems[0].message


@pytest.mark.parametrize(
    ("here", "there"),
    [
        (None, SAME[1]),
        (around(first=40), around("a", first=29)),
        (around("a", first=39), around(first=30)),
        (around(first=40), around(first=30)),
        (around("a", "a", "a", first=37), around("a", "a", "a", first=27)),
    ],
    ids=["no cluster", "aged out", "began there", "nothing", "one record again and again"],
)
def test_what_cannot_be_compared_needs_consent(here: Neighbours | None, there: Neighbours) -> None:
    asked = moved([target(here, there)], "d", unproven=False)
    assert isinstance(asked, Halt)
    assert [p.code for p in asked.problems] == ["kafka.cluster_unproven"]
    consented = moved([target(here, there)], "d", unproven=True)
    assert isinstance(consented, PositionsToCommit) and "without proof" in consented.gaps[0].reason


def test_a_mirror_that_is_behind_and_a_topic_that_was_not_read_yet_are_told_apart() -> None:
    behind = moved([target(*SAME, latest=29)], "d", unproven=True)
    assert isinstance(behind, Halt)
    assert behind.problems[0].code == "kafka.cluster_offset_outside"
    empty = around(first=0)
    unread = moved([target(empty, empty, at=0, end=0)], "d", unproven=False)
    assert isinstance(unread, PositionsToCommit)
    skipping = moved([target(empty, around("a", first=29), end=0)], "d", unproven=False)
    assert isinstance(skipping, Halt)
    assert skipping.problems[0].code == "kafka.cluster_records_differ"
