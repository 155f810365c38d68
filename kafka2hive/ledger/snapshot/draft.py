"""Drafting the next snapshot: pure. Offsets must join without hole or overlap (I3), accounts must add up."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.codec import checksum_of
from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.model.offset_accounting import RangeAccounting
from kafka2hive.model.offsets import UNKNOWN_ID, Position, TopicPartition
from kafka2hive.model.snapshot import (
    AcceptedGap,
    AcceptedLoss,
    ComparedTable,
    ForgottenRegistration,
    Snapshot,
)


class OffsetsDoNotJoin(ValueError):
    """A draft would leave a hole or read an offset twice: a bug, never committed."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one epoch does to a table's state.

    `first` are positions (start == end) that join the table's; one that replaces another (records gone, log cut off,
    topic made again) needs a gap of its topic partition in `gaps`: a person accepted it. `accounts` begin where the
    table stands after those. `leader_epochs` are those of the last records read. `topic_ids`, by topic, are learned by the
    positions that have none; one that is known is never changed by them.
    `registered` are the pending registrations of the state that Hive has confirmed since it was written. `compared` replace what
    the state
    says of the same Hive tables. A partition of `forgotten` is a pending registration no more, nor will it be one again.
    """

    files: tuple[DataFile, ...] = ()
    accounts: tuple[RangeAccounting, ...] = ()
    first: tuple[Position, ...] = ()
    gaps: tuple[AcceptedGap, ...] = ()
    losses: tuple[AcceptedLoss, ...] = ()
    leader_epochs: Mapping[TopicPartition, int] | None = None
    topic_ids: Mapping[str, str] | None = None
    registered: frozenset[HivePartition] = frozenset()
    compared: tuple[ComparedTable, ...] = ()
    forgotten: tuple[ForgottenRegistration, ...] = ()
    cluster_id: str | None = None
    location: str | None = None
    start: str | None = None
    newest_ms: int | None = None


def draft(owned: OwnedLedger, service: str, written_at: str, change: Change) -> Snapshot:
    """The snapshot of the owned ledger's next epoch. Raises OffsetsDoNotJoin, AccountMismatch."""
    state = owned.state
    forgotten = state.forgotten + change.forgotten
    compared = {c.table: c for c in state.compared + change.compared}
    registered = change.registered.intersection(state.unregistered)
    unregistered = (frozenset(state.unregistered) - registered | touched(change.files)) - {
        f.partition for f in forgotten
    }
    return Snapshot(
        ledger_id=state.ledger_id,
        service=service,
        table=state.table,
        generation=owned.generation.number,
        owner=owned.generation.owner or "init",
        epoch=owned.next_epoch,
        written_at=written_at,
        previous=checksum_of(state),
        cluster_id=change.cluster_id or state.cluster_id,
        location=change.location or state.location,
        start=change.start or state.start,
        newest_ms=max((ms for ms in (state.newest_ms, change.newest_ms) if ms is not None), default=None),
        files=change.files,
        positions=_advance(state, change),
        accounts=change.accounts,
        gaps=state.gaps + change.gaps,
        losses=state.losses + change.losses,
        unregistered=tuple(sorted(unregistered)),
        registered=tuple(sorted(registered)),
        compared=tuple(compared[table] for table in sorted(compared)),
        forgotten=forgotten,
    )


def touched(files: Iterable[DataFile]) -> frozenset[HivePartition]:
    """The Hive partitions files go to; that of an unpartitioned table (path '') stands for the table itself."""
    return frozenset(f.hive_partition for f in files)


def _advance(state: Snapshot, change: Change) -> tuple[Position, ...]:
    positions = {p.topic_partition: _go_on(p, change.topic_ids or {}) for p in state.positions}
    explained = {gap.range.topic_partition for gap in change.gaps}
    for first in change.first:
        if first.start != first.end or (first.topic_partition in positions) > (
            first.topic_partition in explained
        ):
            raise OffsetsDoNotJoin(
                f"{state.table}: {first.topic_partition} has a position, and no gap explains a new one"
            )
        positions[first.topic_partition] = first
    for account in change.accounts:
        account.check()
    for step in sorted(account.range for account in change.accounts):
        position = positions.get(step.topic_partition)
        if position is None or position.end != step.start:
            stands = "has no position" if position is None else f"stands at {position.end}"
            raise OffsetsDoNotJoin(f"{state.table}: {step} does not follow, {step.topic_partition} {stands}")
        positions[step.topic_partition] = replace(position, end=step.end)
    for topic_partition, leader_epoch in (change.leader_epochs or {}).items():
        positions[topic_partition] = replace(positions[topic_partition], leader_epoch=leader_epoch)
    return tuple(sorted(positions.values(), key=lambda p: p.topic_partition))


def _go_on(position: Position, topic_ids: Mapping[str, str]) -> Position:
    topic_id = position.topic_id
    if topic_id == UNKNOWN_ID:
        topic_id = topic_ids.get(position.topic_partition.topic, UNKNOWN_ID)
    return replace(position, start=position.end, topic_id=topic_id)
