"""Cleanup: rule R9 of docs/protocol.md. Never needed for right data; every answer is ignored but logged.

Called only after R4 (a start rolled everything forward) and by the owner alone (W2, I5).
"""

from collections.abc import Mapping

from kafka2hive.ledger.history import archived_epochs
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.ports import Ports, log
from kafka2hive.model.paths.data_file import DataFileName, ledger_tag
from kafka2hive.model.paths.ledger import SnapshotState, is_draft_name, parse_snapshot_name
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.model.paths.table_directory import staging_directory
from kafka2hive.storage.port import FileStatus, StorageError, children


def clean_up(ports: Ports, owned: OwnedLedger, location: str, keep: int) -> int:
    """Do all of R9 for a table whose files are in `location`. Return how many files were deleted."""
    deleted = delete_stale_snapshots(ports, owned) + delete_orphans(ports, owned, staging_directory(location))
    archive_snapshots(ports, owned, keep)
    return deleted


def delete_orphans(ports: Ports, owned: OwnedLedger, staging: str) -> int:
    """Delete staged files of this ledger below (my generation, my next epoch): orphans, by I5. Returns how many.

    Other ledgers' files, later generations' and the running epoch's are left alone.
    """
    _only_when_final(owned)
    mine = (owned.generation.number, owned.next_epoch)
    tag = ledger_tag(owned.state.ledger_id)
    orphans = []
    for child in _children(ports, staging):
        parsed = DataFileName.parse(child.name)
        if parsed and parsed[0].ledger == tag and (parsed[0].generation, parsed[0].epoch) < mine:
            orphans.append(child.path)
    return _delete(ports, orphans)


def delete_stale_snapshots(ports: Ports, owned: OwnedLedger) -> int:
    """Delete stale drafts and junk pendings of my generation directory. Only while no commit is under way."""
    _only_when_final(owned)
    junk = []
    for child in _children(ports, owned.directory):
        parsed = parse_snapshot_name(child.name)
        stale_pending = parsed and parsed[1] == SnapshotState.PENDING and parsed[0] <= owned.state.epoch
        if is_draft_name(child.name) or stale_pending:
            junk.append(child.path)
    return _delete(ports, junk)


def archive_snapshots(ports: Ports, owned: OwnedLedger, keep: int) -> int:
    """Move final snapshots older than the newest `keep` into the archive by rename. Returns how many moved.

    History is kept: the audit needs it. The newest final and a pending never move. An empty final is no snapshot: a
    commit's create and renames that all came again as delayed RPCs leave one, once the real one is archived. It is deleted where
    that one is found in the archive, and otherwise left for `verify` to tell.
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
    """Move one snapshot; a failure does not hold up the others."""
    try:
        ports.files.mkdirs(archive)
        ports.files.rename(path, join(archive, base_name(path)))
    except StorageError as error:
        log.warning("archive %s: %s", path, error)
        return False
    return True


def _delete_junk(ports: Ports, owned: OwnedLedger, empty: Mapping[int, FileStatus]) -> None:
    try:
        known = archived_epochs(ports.files, owned.paths)
    except StorageError as error:
        log.warning("archive %s: %s", owned.directory, error)
        return
    _delete(ports, [file.path for epoch, file in empty.items() if epoch in known])


def _only_when_final(owned: OwnedLedger) -> None:
    """Before R4, the staged files of the pending epoch are not orphans."""
    if owned.pending:
        raise ValueError(f"{owned.state_path} is not rolled forward yet: nothing may be deleted")


def _children(ports: Ports, directory: str) -> tuple[FileStatus, ...]:
    try:
        return children(ports.files, directory)
    except StorageError as error:
        log.warning("list %s: %s", directory, error)
        return ()


def _delete(ports: Ports, paths: list[str]) -> int:
    def delete(path: str) -> bool:
        try:
            done = ports.files.delete(path)
        except StorageError as error:
            log.warning("delete %s: %s", path, error)
            return False
        log.debug("delete %s: %s", path, "done" if done else "was not there")
        return done

    return sum(ports.concurrency.map(delete, paths))
