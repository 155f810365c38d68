"""The partitions of a rebuilt ledger that wait for certificates before Hive gets them: rule G5 of docs/protocol.md. Pure."""

from collections.abc import Collection
from dataclasses import replace

from kafka2hive.ledger.snapshot.change import Completeness
from kafka2hive.ledger.snapshot.completeness import with_completeness
from kafka2hive.model.files import FileKind
from kafka2hive.model.snapshot import UNKNOWN_TIME, OpenPartition, Snapshot, Tracking


def with_rebuilt_waiting(
    snapshot: Snapshot, withheld: Collection[str], before: Snapshot | None = None
) -> Snapshot:
    """Return a rebuilt snapshot in which the partitions with these paths wait for certificates, and are open.

    Its files must have their places. `before` is the rebuilt snapshot before this one. Without partitions that wait, nothing is
    tracked, so that the next run's first epoch begins to track.
    """
    known = {} if before is None else {each.path: each for each in before.withheld}
    data = [file for file in snapshot.files if file.kind is FileKind.DATA]
    new = {f.hive_partition.path: f.hive_partition for f in data if f.hive_partition.path in withheld}
    waiting = known | new
    if not waiting:
        return snapshot
    places = tuple(waiting[path] for path in sorted(waiting))
    names = {each.name for each in places}
    pending = tuple(each for each in snapshot.unregistered if each.name not in names)
    snapshot = replace(snapshot, withheld=places, unregistered=pending)
    if before is not None:
        return with_completeness(
            before=before, after=snapshot, completeness=Completeness(), certified=frozenset()
        )
    rows: dict[str, list[int]] = {}
    for file in data:
        rows.setdefault(file.hive_partition.path, []).append(file.rows)
    opened = (
        OpenPartition(
            partition=each,
            since=snapshot.epoch,
            opened_at=snapshot.written_at,
            files=len(rows[each.path]),
            rows=sum(rows[each.path]),
        )
        for each in places
    )
    return replace(snapshot, tracking=Tracking(snapshot.epoch, UNKNOWN_TIME), open=tuple(opened))
