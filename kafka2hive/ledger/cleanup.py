"""Delete the files that crashes and failed epochs left, and archive old snapshots: rule R9 of docs/protocol.md.

No guarantee needs it, so errors are logged, not raised. Only the owner does it (W2, I5).
"""

from collections.abc import Callable, Container, Mapping

from kafka2hive.ledger.history import archived_epochs
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.ports import Ports, log
from kafka2hive.model.paths.ledger import SnapshotState, is_draft_name, parse_snapshot_name
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.model.paths.table_directory import DataFileName, ledger_tag, staging_directory
from kafka2hive.storage.port import FileStatus, StorageError, children


def clean_up(
    ports: Ports, owned: OwnedLedger, location: str, keep: int, units_since: int | None = None
) -> int:
    """Do all of R9 for the table at `location`. Return the number of deleted files.

    `units_since` is the lowest epoch in the file names of compaction units that this process is writing, None without units.
    """
    staging = staging_directory(location)
    deleted = delete_stale_snapshots(ports, owned) + delete_orphans(ports, owned, staging, units_since)
    archive_snapshots(ports, owned, keep)
    return deleted


def delete_orphans(ports: Ports, owned: OwnedLedger, staging: str, units_since: int | None = None) -> int:
    """Delete this ledger's staged files of earlier generations and epochs, which are orphans (I5). Return how many.

    Files of other ledgers, of later generations, of the next epoch, and of units since `units_since` stay.
    """
    _require_final(owned)
    epoch = owned.next_epoch if units_since is None else min(units_since, owned.next_epoch)
    current = (owned.generation.number, epoch)
    return _delete_staged(ports, owned, staging, lambda path, name: (name.generation, name.epoch) < current)


def delete_uncommitted(
    ports: Ports,
    owned: OwnedLedger,
    location: str,
    staged: Container[str],
    units_since: int | None = None,
) -> int:
    """Delete the staged files of the next epoch, whose tasks have ended and which was not committed. Return how many.

    `staged` has the paths in the tasks' manifests. The files of other attempts go too, unless units of compaction, whose files
    have such names, are under way. Does nothing once a commit was tried: the epoch may be committed, and the next start decides.
    """
    if owned.is_spent:
        return 0
    _require_final(owned)
    failed = (owned.generation.number, owned.next_epoch)

    def is_orphan(path: str, name: DataFileName) -> bool:
        return (name.generation, name.epoch) == failed and (units_since is None or path in staged)

    return _delete_staged(ports, owned, staging_directory(location), is_orphan)


def delete_beside_pending(ports: Ports, owned: OwnedLedger) -> int:
    """Delete the staged files of earlier generations that the pending snapshot does not name. Return how many.

    Their owners are fenced, so only the files of the pending snapshot can become visible.
    """
    named = {base_name(file.staged) for file in owned.state.files}

    def is_orphan(path: str, name: DataFileName) -> bool:
        return name.generation < owned.generation.number and base_name(path) not in named

    return _delete_staged(ports, owned, staging_directory(owned.state.location), is_orphan)


def _delete_staged(
    ports: Ports, owned: OwnedLedger, staging: str, is_orphan: Callable[[str, DataFileName], bool]
) -> int:
    """Delete the orphans among this ledger's files in `staging`. Return how many."""
    tag = ledger_tag(owned.state.ledger_id)
    orphans = []
    for child in _children(ports, staging):
        parsed = DataFileName.parse(child.name)
        if parsed and parsed[0].ledger == tag and is_orphan(child.path, parsed[0]):
            orphans.append(child.path)
    return _delete(ports, orphans)


def delete_stale_snapshots(ports: Ports, owned: OwnedLedger) -> int:
    """Delete drafts and outdated pending snapshots in the generation directory. Must not be called during a commit."""
    _require_final(owned)
    junk = []
    for child in _children(ports, owned.directory):
        parsed = parse_snapshot_name(child.name)
        stale_pending = parsed and parsed[1] == SnapshotState.PENDING and parsed[0] <= owned.state.epoch
        if is_draft_name(child.name) or stale_pending:
            junk.append(child.path)
    return _delete(ports, junk)


def archive_snapshots(ports: Ports, owned: OwnedLedger, keep: int) -> int:
    """Rename final snapshots older than the newest `keep` into the archive, for `verify`. Return how many.

    The newest final snapshot and a pending one never move. An empty final file is junk: after its snapshot was archived,
    delayed RPCs repeated the create and the renames of its commit. It is deleted if the archive has the snapshot; otherwise it
    stays, and `verify` reports it.
    """
    finals: dict[int, FileStatus] = {}
    for child in _children(ports, owned.directory):
        parsed = parse_snapshot_name(child.name)
        if parsed and parsed[1] == SnapshotState.FINAL:
            finals[parsed[0]] = child
    old = sorted(finals)[: -max(keep, 1)]
    whole = [epoch for epoch in old if finals[epoch].length]
    if len(whole) < len(old):
        _delete_junk(ports, owned, {epoch: finals[epoch] for epoch in old if not finals[epoch].length})
    archive = owned.paths.archive(owned.generation)
    return sum(_archive(ports, finals[epoch].path, archive) for epoch in whole) if whole else 0


def _archive(ports: Ports, path: str, archive: str) -> bool:
    """Move one snapshot. Return whether it moved; a failure is logged."""
    try:
        ports.files.mkdirs(archive)
        ports.files.rename(path, join(archive, base_name(path)))
    except StorageError as error:
        log.warning("cannot archive %s, the next start tries again: %s", path, error)
        return False
    return True


def _delete_junk(ports: Ports, owned: OwnedLedger, empty: Mapping[int, FileStatus]) -> None:
    try:
        known = archived_epochs(ports.files, owned.paths)
    except StorageError as error:
        log.warning("cannot read the archive of %s: %s", owned.directory, error)
        return
    _delete(ports, [file.path for epoch, file in empty.items() if epoch in known])


def _require_final(owned: OwnedLedger) -> None:
    """Raise ValueError if the state is pending: then the epoch's staged files are not orphans."""
    if owned.pending:
        raise ValueError(f"{owned.state_path} is not rolled forward yet: nothing may be deleted")


def _children(ports: Ports, directory: str) -> tuple[FileStatus, ...]:
    try:
        return children(ports.files, directory)
    except StorageError as error:
        log.warning("cannot list %s, so it is not cleaned up: %s", directory, error)
        return ()


def _delete(ports: Ports, paths: list[str]) -> int:
    def delete(path: str) -> bool:
        try:
            done = ports.files.delete(path)
        except StorageError as error:
            log.warning("cannot delete %s: %s", path, error)
            return False
        log.debug("delete %s: %s", path, "done" if done else "it did not exist")
        return done

    return sum(ports.concurrency.map(delete, paths))
