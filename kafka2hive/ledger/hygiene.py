"""Hygiene: rule R9 of docs/protocol.md. Never needed for right data; every answer is ignored but logged.

Called only after R4 (a start rolled everything forward) and by the owner alone (W2, I5).
"""

from kafka2hive.ledger.ports import Ports, log
from kafka2hive.ledger.tenure import Tenure
from kafka2hive.model.layout import (
    DataFileName,
    SnapshotState,
    is_draft_name,
    join,
    ledger_tag,
    parse_snapshot_name,
    snapshot_name,
)
from kafka2hive.storage.port import FileStatus, NotFound, StorageError


def sweep_staging(ports: Ports, tenure: Tenure, staging: str) -> int:
    """Delete staged files of this ledger below (my generation, my next epoch): orphans, by I5. Returns how many.

    Other ledgers' files, later generations' and the running epoch's are left alone.
    """
    _only_when_final(tenure)
    mine = (tenure.generation.number, tenure.next_epoch)
    tag = ledger_tag(tenure.state.ledger_id)
    orphans = []
    for child in _children(ports, staging):
        parsed = DataFileName.parse(child.name)
        if parsed and parsed[0].ledger == tag and (parsed[0].generation, parsed[0].epoch) < mine:
            orphans.append(child.path)
    return _delete(ports, orphans, "sweep")


def sweep_own_directory(ports: Ports, tenure: Tenure) -> int:
    """Delete stale drafts and junk pendings of my generation directory. Only while no commit is under way."""
    _only_when_final(tenure)
    junk = []
    for child in _children(ports, tenure.directory):
        parsed = parse_snapshot_name(child.name)
        stale_pending = parsed and parsed[1] == SnapshotState.PENDING and parsed[0] <= tenure.state.epoch
        if is_draft_name(child.name) or stale_pending:
            junk.append(child.path)
    return _delete(ports, junk, "sweep")


def purge(ports: Ports, tenure: Tenure, keep: int) -> int:
    """Move final snapshots older than the newest `keep` into the archive by rename. Returns how many moved.

    History is kept: the audit needs it. The newest final and a pending never move.
    """
    finals = []
    for child in _children(ports, tenure.directory):
        parsed = parse_snapshot_name(child.name)
        if parsed and parsed[1] == SnapshotState.FINAL:
            finals.append(parsed[0])
    old = sorted(finals)[: -max(keep, 1)]
    if not old:
        return 0
    archive = tenure.paths.archive(tenure.generation)
    moved = 0
    try:
        ports.files.mkdirs(archive)
        for epoch in old:
            name = snapshot_name(epoch, SnapshotState.FINAL)
            ports.files.rename(join(tenure.directory, name), join(archive, name))
            moved += 1
    except StorageError as error:
        log.warning("purge %s: %s", tenure.directory, error)
    return moved


def _only_when_final(tenure: Tenure) -> None:
    """Before R4 the staged files of the pending epoch are no orphans."""
    if tenure.pending:
        raise ValueError(f"{tenure.state_path} is not rolled forward yet: nothing may be swept")


def _children(ports: Ports, directory: str) -> tuple[FileStatus, ...]:
    try:
        return ports.files.list(directory)
    except NotFound:
        return ()
    except StorageError as error:
        log.warning("list %s: %s", directory, error)
        return ()


def _delete(ports: Ports, paths: list[str], why: str) -> int:
    def delete(path: str) -> bool:
        try:
            done = ports.files.delete(path)
        except StorageError as error:
            log.warning("%s %s: %s", why, path, error)
            return False
        log.info("%s %s: %s", why, path, "deleted" if done else "was not there")
        return done

    return sum(ports.concurrency.map(delete, paths))
