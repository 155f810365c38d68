"""Record in the next snapshot which Hive partitions have expired and are dropped: rules E1 to E4 of docs/protocol.md. Pure."""

from collections.abc import Mapping
from dataclasses import replace

from kafka2hive.ledger.snapshot.change import Expiry
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import FileKind, HivePartition
from kafka2hive.model.snapshot import DroppedPartition, EventBounds, Snapshot

NEEDS_HIVE = "Hive may have it, and the map has no hive section"


class NotExpired(ValueError):
    """A draft would drop a partition that is in use, or fill or clear a dropped one: a bug. The draft is never committed."""


def reasons_to_keep(
    state: Snapshot, certified: frozenset[HivePartition] | None = None, *, has_hive: bool = True
) -> Mapping[tuple[str, str], str]:
    """Return why partitions, also those of its dead letters, must not be dropped yet, by table and path.

    Each of these reasons ends by itself, or after an operator's decision. `certified` are the partitions whose certificates of
    `state` are in place, None if that is not known. `has_hive`: the map has a `hive` section; without it, nobody confirms
    registrations, and only partitions of `unknown_to_hive` may be dropped.
    """
    reasons: dict[tuple[str, str], str] = {}
    why, known = (
        ("Hive has not confirmed it yet", frozenset()) if has_hive else (NEEDS_HIVE, unknown_to_hive(state))
    )
    reasons.update((each.name, why) for each in state.unregistered if each not in known)
    reasons.update((each.name, why) for each in state.withheld_until_certified)
    reasons.update((each.partition.name, "it is not complete yet") for each in state.open)
    reasons.update((each.partition.name, "it is not compacted yet") for each in state.early)
    reasons.update((each.partition.name, "its small files are not deleted yet") for each in state.moved)
    reasons.update((each.partition.name, "its small files are not deleted yet") for each in state.retired)
    if certified is not None:
        withdrawn = {each.partition for each in state.certificates} - certified
        reasons.update((each.name, "its certificate is not written yet") for each in withdrawn)
    reasons.update((each.partition.name, "it is already being dropped") for each in state.dropped)
    return reasons


def unknown_to_hive(state: Snapshot) -> frozenset[HivePartition]:
    """Return the partitions that no run has told Hive of: still to be registered, of Hive tables that were never compared."""
    compared = {each.table for each in state.compared}
    return frozenset(each for each in state.unregistered if each.table not in compared)


def bounds_after(state: Snapshot, change: Expiry) -> EventBounds | None:
    """Return the bounds after the change: what has expired stays expired (E1)."""
    if change.expired_before_ms <= state.expired_before_ms:
        return state.bounds
    return replace(state.bounds or EventBounds(), expired_before_ms=change.expired_before_ms)


def with_expiry(after: Snapshot, change: Expiry) -> Snapshot:
    """Return `after` with its dropped partitions. Its bounds must be set already. Raises NotExpired."""
    kept = dict(reasons_to_keep(after, has_hive=not change.without_hive))
    if change.without_hive:
        kept.update((each.name, NEEDS_HIVE) for each in change.dropped - unknown_to_hive(after))
    if refused := sorted(each.name for each in change.dropped if each.name in kept):
        raise NotExpired(f"{after.table}: {refused[0][1]} cannot be dropped: {kept[refused[0]]}")
    if change.dropped and not after.expired_before_ms:
        raise NotExpired(f"{after.table}: {min(change.dropped)} is dropped, but nothing has expired")
    gone = {each.partition for each in after.dropped if each.gone_since}
    if early := change.cleared - gone | change.cleared & change.back:
        raise NotExpired(f"{after.table}: {min(early)} is cleared, but Hive may still have it")
    dropped = [_after_look(each, change) for each in after.dropped if each.partition not in change.cleared]
    since = change.gone_at if change.without_hive else ""
    dropped += [
        DroppedPartition(partition=each, epoch=after.epoch, gone_since=since)
        for each in sorted(change.dropped)
    ]
    pending = tuple(each for each in after.unregistered if each not in change.dropped)
    return replace(after, dropped=tuple(dropped), unregistered=pending)


def _after_look(each: DroppedPartition, change: Expiry) -> DroppedPartition:
    if each.partition in change.back:
        return replace(each, gone_since="")
    if each.partition in change.gone and not each.gone_since:
        return replace(each, gone_since=change.gone_at)
    return each


def refuse_filled(after: Snapshot) -> None:
    """Raise TableError if the epoch has files for a dropped partition: they would be hidden, and never deleted.

    This happens to rows only if the map's time zone was changed, so that a period that had expired ends later now; to dead
    letters only if the clock has gone back by more than `retain`.
    """
    names = {each.partition.name for each in after.dropped}
    for file in after.files if names else ():
        if file.hive_partition.name in names:
            is_letters = file.kind is FileKind.DEAD_LETTER
            cause = "correct this machine's clock" if is_letters else "undo the change of bucket.zone"
            raise TableError(
                "retain.filled",
                f"{after.table}: {file.final} is for a dropped partition, whose files are being deleted",
                f"{cause}, or wait until the partition's files are deleted; the records stay in Kafka",
            )
