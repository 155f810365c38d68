"""Record in the next snapshot which Hive partitions are open and which are complete. Pure.

`service/run/completion.py` decides which partitions are complete.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import assert_never

from kafka2hive.ledger.snapshot.change import Completeness, NoTracking
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.instant import instant_seconds
from kafka2hive.model.paths.path import base_name, parent
from kafka2hive.model.paths.table_directory import DataFileName, is_early_place
from kafka2hive.model.snapshot import AcceptedLoss, Certificate, OpenPartition, Snapshot, Tracking


class NotOpen(ValueError):
    """A draft would certify a partition that is not open: a bug. The draft is never committed."""


def with_completeness(
    before: Snapshot,
    after: Snapshot,
    completeness: Completeness | NoTracking | None,
    certified: frozenset[HivePartition],
    withdrawn: Sequence[Certificate] = (),
) -> Snapshot:
    """Return `after` with its open partitions and certificates. Its files and losses must be set already. Raises NotOpen.

    `certified` are the partitions whose certificates of `before` are in place. The other partitions that became complete in
    `before` are open again, and those of the certificates that a repair has `withdrawn`.
    """
    match completeness:
        case NoTracking():
            if after.bounds is not None:
                after = replace(after, bounds=replace(after.bounds, late_before_ms=None))
            return replace(after, tracking=None, open=())
        case None if before.tracking is None:
            return after
        case None:
            decision = Completeness()
        case Completeness():
            decision = completeness
        case _:
            assert_never(completeness)
    reopened = [entry.partition for entry in before.certificates if entry.partition not in certified]
    open_now = _open_partitions(before, after, frozenset(reopened), withdrawn)
    reopened += [entry.partition for entry in withdrawn]
    paths = {entry.path for entry in decision.complete}
    if unknown := paths - open_now.keys():
        raise NotOpen(f"{after.table}: {min(unknown)} would be certified, but is not open")
    complete = tuple(
        Certificate(
            partition=open_now[path].partition,
            since=open_now[path].since,
            files=open_now[path].files,
            rows=open_now[path].rows,
            through=decision.through,
            policy=decision.policy,
            success_file=decision.success_file,
        )
        for path in sorted(paths)
    )
    return replace(
        after,
        tracking=tracking_after(before, after.epoch, decision.through),
        open=tuple(open_now[path] for path in sorted(open_now.keys() - paths)),
        certificates=complete,
        reopened=tuple(dict.fromkeys(reopened)),
    )


def tracking_after(before: Snapshot, epoch: int, through: str) -> Tracking:
    """Return the table's tracking. Its time never goes back, because records that were read stay read."""
    known = before.tracking
    if known is None:
        return Tracking(epoch, through)
    return Tracking(known.since, max(known.through, through, key=instant_seconds))


def _open_partitions(
    before: Snapshot,
    after: Snapshot,
    reopened: frozenset[HivePartition],
    withdrawn: Sequence[Certificate],
) -> dict[str, OpenPartition]:
    """Return the open partitions by path, including the partitions that become complete in `after`.

    These are the open partitions of `before`, the `reopened` ones, those of the `withdrawn` certificates, and the partitions of
    this epoch's data files. The compacted files of a repair count, too, but not those of a move, which certifies them. Files
    that this epoch gives up do not count. If a partition has files at two locations (`recover --accept-location`), it counts
    once, at the location of its newest files.
    """
    now: dict[str, OpenPartition] = {}

    def add(more: OpenPartition) -> None:
        path = more.partition.path
        known = now.get(path)
        now[path] = more if known is None else _merge(known, more)

    for certificate in before.certificates:
        if certificate.partition in reopened:
            counts = {"files": certificate.files, "rows": certificate.rows}
            add(_opened(certificate.partition, certificate.since, before.written_at, **counts))
    for known in sorted(before.open, key=lambda entry: entry.since) if before.tracking is not None else ():
        add(known)
    for entry in withdrawn:
        counts = {"files": entry.files, "rows": entry.rows}
        add(_opened(entry.partition, entry.since, after.written_at, **counts))
    repaired = {parent(loss.path) for loss in after.losses[len(before.losses) :]}
    for file in _data(after.files, repaired):
        add(_opened(file.hive_partition, after.epoch, after.written_at, files=1, rows=file.rows))
    for loss in after.losses[len(before.losses) :]:
        _subtract(now, loss)
    return now


def _opened(partition: HivePartition, since: int, at: str, *, files: int, rows: int) -> OpenPartition:
    return OpenPartition(partition=partition, since=since, opened_at=at, files=files, rows=rows)


def _merge(known: OpenPartition, more: OpenPartition) -> OpenPartition:
    """Add the counts. The partition is open since its first file, so that later files do not postpone its certificate."""
    return replace(
        known,
        partition=more.partition,
        since=min(known.since, more.since),
        files=known.files + more.files,
        rows=known.rows + more.rows,
    )


def _subtract(now: dict[str, OpenPartition], loss: AcceptedLoss) -> None:
    """Take the lost file from the counts of its open partition, unless a certificate counts the file."""
    parsed = DataFileName.parse(base_name(loss.path))
    for path, entry in now.items():
        elsewhere = is_early_place(parent(loss.path), path) and parent(loss.path) != entry.partition.location
        if (
            parsed
            and is_lost_from(loss, entry.partition)
            and not elsewhere
            and parsed[0].epoch >= entry.since
        ):
            now[path] = replace(entry, files=entry.files - 1, rows=entry.rows - loss.rows)
            if not now[path].files:
                del now[path]
            return


def is_lost_from(loss: AcceptedLoss, partition: HivePartition) -> bool:
    """Return whether the lost file was in this partition, at the present or an earlier location of the table."""
    directory = parent(loss.path)
    moved = partition.path and directory.endswith("/" + partition.path) and "/source_table=" not in directory
    return bool(directory == partition.location or moved)


def _data(files: Iterable[DataFile], repaired: Collection[str]) -> Iterable[DataFile]:
    """Return the data files, and the compacted files of a repair: `repaired` has the directories of lost files."""
    return (
        file
        for file in files
        if file.kind is FileKind.DATA or (file.kind is FileKind.COMPACTED and parent(file.final) in repaired)
    )
