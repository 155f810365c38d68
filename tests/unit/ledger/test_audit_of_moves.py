"""A table that goes on in another cluster: a topic partition ends there and nowhere else, and `verify` can prove it."""

from dataclasses import replace

import pytest

from kafka2hive.ledger.draft import OffsetsDoNotJoin
from kafka2hive.ledger.snapshot.change import Repair
from kafka2hive.model.offsets import OffsetRange, Position, TopicPartition
from kafka2hive.model.snapshot import AcceptedGap, Snapshot
from kafka2hive.service.verify.history import audit_history
from tests.unit.ledger.test_audit_of_losses import BEGINNING, NOW, TP, following

EAST = TopicPartition("east/t", 0)
STATE = replace(BEGINNING, cluster_id="c", positions=(Position(TP, 7, 7, "id"),))


def move(at: int = 7, to: str = "east/t") -> AcceptedGap:
    return AcceptedGap(range=OffsetRange(TP, at, at), reason="moved", accepted_at=NOW, epoch=1, moved_to=to)


def repair(*gaps: AcceptedGap, to: Position | None = None, cluster_id: str = "c") -> Repair:
    return Repair(gaps=gaps, positions=() if to is None else (to,), cluster_id=cluster_id)


MOVED = following(STATE, repair(move(), to=Position(EAST, 7, 7, "id")))


def found(after: Snapshot) -> list[str]:
    return [finding.code for finding in audit_history([STATE, after])]


def test_a_moved_topic_partition_has_one_position_and_the_audit_finds_nothing() -> None:
    assert [(p.topic_partition, p.end) for p in MOVED.positions] == [(EAST, 7)]
    assert found(MOVED) == []


def test_another_cluster_may_be_named_only_with_a_move() -> None:
    elsewhere = following(STATE, repair(move(), to=Position(EAST, 40, 40, "other"), cluster_id="d"))
    assert found(elsewhere) == []
    assert "verify.header" in found(replace(STATE, epoch=1, cluster_id="d"))


@pytest.mark.parametrize(
    "change",
    [
        repair(move(), to=None),
        repair(move(at=6), to=Position(EAST, 6, 6)),
        repair(move(), to=Position(EAST, 5, 7)),
        repair(replace(move(), range=OffsetRange(TopicPartition("other", 0), 7, 7)), to=Position(EAST, 7, 7)),
    ],
    ids=["nowhere", "too early", "not empty", "never read"],
)
def test_a_move_that_does_not_join_is_not_drafted(change: Repair) -> None:
    with pytest.raises(OffsetsDoNotJoin):
        following(STATE, change)


@pytest.mark.parametrize(
    "edit",
    [
        {"positions": (Position(EAST, 6, 6, "id"),)},
        {"positions": ()},
        {"gaps": (move(at=6),)},
        {"gaps": ()},
    ],
    ids=["other offset", "no target", "not where it ended", "no record"],
)
def test_an_edited_move_is_found(edit: dict[str, tuple[object, ...]]) -> None:
    assert "verify.position" in found(replace(MOVED, **edit))  # type: ignore[arg-type]
