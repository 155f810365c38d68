"""Operators' decisions stay in every later snapshot, also after the next decision."""

from kafka2hive.ledger.draft import draft
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import Change, FirstPositions, RegistrationUpdate, Repair
from kafka2hive.model.offsets import OffsetRange, Position, TopicPartition
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.snapshot import AcceptedGap, AcceptedLoss, Snapshot
from tests.harness.values import snapshot

NOW = "2026-11-21T08:00:00Z"
FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


def following(state: Snapshot, change: Change) -> Snapshot:
    owned = OwnedLedger(LedgerPaths("file:///k", "air.flights"), Generation(1, NOW, "me"), state)
    return draft(owned, "air", NOW, change)


def gap(topic_partition: TopicPartition, epoch: int) -> AcceptedGap:
    lost = OffsetRange(topic_partition, 10, 20)
    return AcceptedGap(range=lost, reason="kafka.offsets_lost", accepted_at=NOW, epoch=epoch)


def resumed(topic_partition: TopicPartition) -> tuple[Position, ...]:
    return (Position(topic_partition, 20, 20),)


def loss(path: str, epoch: int) -> AcceptedLoss:
    return AcceptedLoss(path=path, remedy="accept-loss", rows=1, accepted_at=NOW, epoch=epoch)


STATE = snapshot(table="air.flights", positions=(Position(FIRST, 10, 10), Position(SECOND, 10, 10)))


def test_the_next_accepted_gap_leaves_the_earlier_ones_where_they_are() -> None:
    one, other, third = (gap(tp, epoch) for epoch, tp in enumerate((FIRST, SECOND, FIRST), STATE.epoch + 1))
    repaired = following(STATE, Repair(gaps=(one,), positions=resumed(FIRST)))
    again = following(repaired, Repair(gaps=(other,), positions=resumed(SECOND)))
    later = following(again, FirstPositions(gaps=(third,), positions=resumed(FIRST)))
    assert (repaired.gaps, again.gaps, later.gaps) == ((one,), (one, other), (one, other, third))
    assert following(later, RegistrationUpdate()).gaps == later.gaps


def test_the_next_accepted_loss_leaves_the_earlier_ones_where_they_are() -> None:
    one, other = loss("file:///w/a.final", STATE.epoch + 1), loss("file:///w/b.final", STATE.epoch + 2)
    repaired = following(STATE, Repair(losses=(one,)))
    again = following(repaired, Repair(losses=(other,)))
    assert (repaired.losses, again.losses) == ((one,), (one, other))
    assert following(again, Repair(gaps=(), losses=())).losses == again.losses
