"""Draft the next snapshot. Pure. Offsets must join without gap or overlap (I3), and accounts must add up."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, assert_never

from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import (
    Change,
    Compaction,
    DataEpoch,
    Expiry,
    FirstPositions,
    NewColumns,
    PauseUpdate,
    PlaceUpdate,
    RegistrationUpdate,
    Repair,
    Replay,
)
from kafka2hive.ledger.snapshot.codec import checksum_of
from kafka2hive.ledger.snapshot.compaction import (
    committed_by,
    with_early_partitions,
    with_late_data,
    with_looks,
    with_moves,
)
from kafka2hive.ledger.snapshot.completeness import with_completeness
from kafka2hive.ledger.snapshot.expiry import bounds_after, refuse_filled, with_expiry
from kafka2hive.ledger.snapshot.line import Life
from kafka2hive.ledger.snapshot.lines import HEADER, LINES
from kafka2hive.ledger.snapshot.withheld import with_withheld, without_released
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.offsets import UNKNOWN_ID, AccountingMismatch, Position, TopicPartition
from kafka2hive.model.snapshot import (
    MOST_ORDERS,
    ComparedTable,
    EventBounds,
    NewsProgress,
    RunningReplay,
    Snapshot,
)
from kafka2hive.model.window_counts import check_windows

_EMPTY_EPOCH: dict[str, Any] = {
    line.attribute: () for line in LINES if line.life is Life.EPOCH and line is not HEADER
}
"""The values of the attributes that hold only for one epoch, before a change fills them in."""


class BoundGoesBack(ValueError):
    """A draft would reopen closed or expired periods and accept their rows: a bug. The draft is never committed."""


class NewsGoBack(ValueError):
    """A draft would tell news again that a receiver has taken, or leave some out: a bug. The draft is never committed."""


class OffsetsDoNotJoin(ValueError):
    """A draft would skip an offset or read it twice: a bug. The draft is never committed."""


def draft(owned: OwnedLedger, service: str, written_at: str, change: Change) -> Snapshot:
    """Return the snapshot of the owned ledger's next epoch.

    Raises OffsetsDoNotJoin, AccountingMismatch, NotOpen, BoundGoesBack, UnitsDoNotFit, NotMoved, NotExpired, NewsGoBack.
    """
    state = owned.state
    registered = change.registered & owned.pending_registrations
    lapsed = change.lapsed - (change.dropped if isinstance(change, Expiry) else frozenset())
    compared = _compared(state, change)
    unchanged = replace(
        without_released(state, owned.released),
        service=service,
        generation=owned.generation.number,
        owner=owned.generation.owner or "init",
        epoch=owned.next_epoch,
        written_at=written_at,
        previous=checksum_of(state),
        positions=tuple(replace(p, start=p.end) for p in state.positions),
        compared=compared,
        orders=(state.orders + change.orders)[-MOST_ORDERS:],
        replaying=_still_running(state, change),
        told=_news_progress(state, change),
        **{**_EMPTY_EPOCH, "registered": tuple(sorted(registered)), "lapsed": tuple(sorted(lapsed))},
    )
    withdrawn = change.withdrawn if isinstance(change, Repair) else ()
    changed = with_completeness(
        before=state,
        after=_apply(unchanged, change),
        completeness=change.completeness,
        certified=owned.certified,
        withdrawn=withdrawn,
    )
    rows = change if isinstance(change, DataEpoch | Replay) else None
    changed = with_early_partitions(state, changed, rows.closes if rows else {}, owned.certified)
    changed = with_late_data(changed, rows.moved if rows else frozenset())
    if isinstance(change, Compaction):
        changed = with_moves(changed, change)
    if isinstance(change, PlaceUpdate):
        changed = with_looks(changed, change)
    if isinstance(change, Expiry):
        changed = with_expiry(changed, change)
    refuse_filled(changed)
    changed = with_withheld(changed, change)
    gone = {e.partition for e in state.early} - {e.partition for e in changed.early}
    pending = frozenset(changed.unregistered) - registered | lapsed
    given_up = {f.partition for f in changed.forgotten}
    unregistered = (pending - gone | partitions_of(changed.files)) - given_up - frozenset(changed.withheld)
    return replace(changed, unregistered=tuple(sorted(unregistered)))


def _compared(state: Snapshot, change: Change) -> tuple[ComparedTable, ...]:
    """Return the comparisons after the change; one that does not say when the table was created keeps the known time."""
    compared = {each.table: each for each in state.compared}
    for each in change.compared:
        known = compared.get(each.table)
        created = each.created or ("" if known is None else known.created)
        compared[each.table] = replace(each, created=created)
    return tuple(compared[table] for table in sorted(compared))


def _news_progress(state: Snapshot, change: Change) -> tuple[NewsProgress, ...]:
    """Return how far the news are told after the change (N4). Raises NewsGoBack."""
    if change.told is None:
        return state.told
    known = {each.receiver: each.through for each in state.told}
    for each in change.told:
        if not known.get(each.receiver, each.through) <= each.through <= state.epoch:
            raise NewsGoBack(f"{state.table}: {each} does not fit to {known} and epoch {state.epoch}")
    return tuple(sorted(change.told))


def partitions_of(files: Iterable[DataFile]) -> frozenset[HivePartition]:
    """Return the Hive partitions of the files. An unpartitioned table counts as one partition with the path ""."""
    return frozenset(f.hive_partition for f in files)


def _apply(state: Snapshot, change: Change) -> Snapshot:
    match change:
        case DataEpoch():
            return replace(
                state,
                files=change.files,
                accounts=change.accounts,
                windows=change.windows,
                positions=_advance(state, change),
                newest_ms=max(
                    (ms for ms in (state.newest_ms, change.newest_ms) if ms is not None), default=None
                ),
                cluster_id=change.cluster_id or state.cluster_id,
                location=change.location or state.location,
                bounds=_bounds(state, change),
            )
        case FirstPositions():
            with_ids = replace(state, positions=_with_topic_ids(state.positions, change.topic_ids))
            return replace(_with_positions(with_ids, change), start=change.start or state.start)
        case Repair():
            return replace(
                _with_positions(state, change), files=change.files, losses=state.losses + change.losses
            )
        case Replay():
            _check_replay(change)
            running = change.running or state.replaying
            return replace(state, files=change.files, replayed=change.replayed, replaying=running)
        case RegistrationUpdate():
            return replace(state, forgotten=state.forgotten + change.forgotten)
        case NewColumns():
            return replace(state, added=state.added + change.added)
        case PauseUpdate():
            return replace(state, paused=change.paused)
        case Compaction():
            files = (committed_by(file, state.generation, state.epoch) for file in change.files)
            return replace(state, files=tuple(files))
        case PlaceUpdate():
            return state
        case Expiry():
            return replace(state, bounds=bounds_after(state, change))
        case _:
            assert_never(change)


def _still_running(state: Snapshot, change: Change) -> RunningReplay | None:
    """Return the state's running replay; None if the change records its order, which ends it."""
    running = state.replaying
    return None if running is None or any(o.id == running.order for o in change.orders) else running


def _check_replay(change: Replay) -> None:
    """Raise AccountingMismatch unless each task's files have the rows and letters that the account of its replay counts."""
    for replayed_file in change.replayed:
        replayed_file.account.check(replayed_file.path)
        of_task = [file for file in change.files if file.task == replayed_file.task]
        for kind, expected in (
            (FileKind.DATA, replayed_file.account.rows),
            (FileKind.DEAD_LETTER, replayed_file.account.dead_lettered),
        ):
            rows = sum(file.rows for file in of_task if file.kind is kind)
            if rows != expected:
                raise AccountingMismatch(
                    f"{replayed_file.path}: {rows} rows in {kind.value} files, {expected} replayed"
                )


def _with_positions(state: Snapshot, change: FirstPositions | Repair) -> Snapshot:
    """Add the change's positions to the table's. A position that replaces a known one must have a gap.

    A gap that moves to another topic ends a position, and needs one there. Raises OffsetsDoNotJoin.
    """
    positions = {p.topic_partition: p for p in state.positions}
    explained = {gap.range.topic_partition for gap in change.gaps}
    moves = [gap for gap in change.gaps if gap.moved_to]
    for gap in moves:
        left = positions.pop(gap.range.topic_partition, None)
        if left is None or (gap.range.start, gap.range.end) != (left.end, left.end):
            raise OffsetsDoNotJoin(
                f"{state.table}: {gap.range} moves to {gap.moved_to}, but the position is {left}"
            )
    for first in change.positions:
        replaces_position = first.topic_partition in positions
        if first.start != first.end or (replaces_position and first.topic_partition not in explained):
            raise OffsetsDoNotJoin(
                f"{state.table}: the new position of {first.topic_partition} is not empty, or replaces the known one without"
                " a gap"
            )
        positions[first.topic_partition] = first
    if homeless := [gap for gap in moves if gap.target not in positions]:
        raise OffsetsDoNotJoin(
            f"{state.table}: {homeless[0].range} moves to {homeless[0].target}, which has no position"
        )
    return replace(
        state,
        positions=_sorted(positions),
        gaps=state.gaps + change.gaps,
        cluster_id=change.cluster_id or state.cluster_id,
        location=change.location or state.location,
    )


def _advance(state: Snapshot, change: DataEpoch) -> tuple[Position, ...]:
    """Return the positions after the ranges of the change. Raises OffsetsDoNotJoin, AccountingMismatch."""
    positions = {p.topic_partition: p for p in state.positions}
    for account in change.accounts:
        account.check()
    if change.windows:
        check_windows(change.accounts, change.windows)
    for step in sorted(account.range for account in change.accounts):
        position = positions.get(step.topic_partition)
        if position is None or position.end != step.start:
            present = "has no position" if position is None else f"has position {position.end}"
            raise OffsetsDoNotJoin(f"{state.table}: {step} does not join: {step.topic_partition} {present}")
        positions[step.topic_partition] = replace(position, end=step.end)
    for topic_partition, leader_epoch in change.leader_epochs.items():
        positions[topic_partition] = replace(positions[topic_partition], leader_epoch=leader_epoch)
    return _sorted(positions)


def _bounds(state: Snapshot, change: DataEpoch) -> EventBounds | None:
    """Return the bounds of the epoch. Raises BoundGoesBack if it closes or expires less than the state."""
    before = None if state.bounds is None else state.bounds.late_before_ms
    after = None if change.bounds is None else change.bounds.late_before_ms
    if before is not None and after is not None and after < before:
        raise BoundGoesBack(
            f"{state.table}: the periods up to {before} are closed, but the epoch closes only those up to {after}"
        )
    expired = state.expired_before_ms
    if expired > (change.bounds.expired_before_ms if change.bounds else 0):
        raise BoundGoesBack(
            f"{state.table}: rows before {expired} have expired, but the epoch would accept some"
        )
    return change.bounds


def _with_topic_ids(positions: Iterable[Position], topic_ids: Mapping[str, str]) -> tuple[Position, ...]:
    """Fill in unknown topic ids; a known id is never changed."""
    return tuple(
        replace(p, topic_id=topic_ids.get(p.topic_partition.topic, UNKNOWN_ID))
        if p.topic_id == UNKNOWN_ID
        else p
        for p in positions
    )


def _sorted(positions: Mapping[TopicPartition, Position]) -> tuple[Position, ...]:
    return tuple(sorted(positions.values(), key=lambda p: p.topic_partition))
