"""Reading a ledger's snapshots back in time: the generation directory, then the archive. Touches nothing."""

from collections.abc import Iterator

from kafka2hive.ledger.take_over import read_snapshot
from kafka2hive.model.errors import Stop
from kafka2hive.model.files import DataFile
from kafka2hive.model.layout import LedgerPaths, SnapshotState, parse_snapshot_name
from kafka2hive.model.snapshot import REBUILT, Snapshot
from kafka2hive.storage.port import FileSystem, NotFound


def final_snapshots(files: FileSystem, paths: LedgerPaths, directory: str) -> Iterator[Snapshot]:
    """Every final snapshot, newest first: those in the generation directory are newer than all in the archive.

    The archive is looked at only when it is reached; a snapshot that a run moves there meanwhile comes once. A history
    ends with the first snapshot of a rebuilt ledger, which lists all that was before it. Raises Stop (damaged, or two
    that differ for one epoch), StorageError.
    """
    rebuilt: Snapshot | None = None
    for snapshot in _all(files, paths, directory):
        if rebuilt is not None and (snapshot.owner, snapshot.generation) != (REBUILT, rebuilt.generation):
            return
        yield snapshot
        rebuilt = snapshot if snapshot.owner == REBUILT else None


def _all(files: FileSystem, paths: LedgerPaths, directory: str) -> Iterator[Snapshot]:
    given: dict[int, Snapshot] = {}
    yield from _read(files, [directory], given)
    yield from _read(files, _archives(files, paths), given)


def _read(files: FileSystem, directories: list[str], given: dict[int, Snapshot]) -> Iterator[Snapshot]:
    found: list[tuple[int, str]] = []
    for directory in directories:
        for child in files.list(directory):
            parsed = parse_snapshot_name(child.name)
            if parsed and parsed[1] == SnapshotState.FINAL:
                found.append((parsed[0], child.path))
    for epoch, path in sorted(found, reverse=True):
        snapshot = read_snapshot(files, path)
        if given.setdefault(epoch, snapshot) is snapshot:
            yield snapshot
        elif given[epoch] != snapshot:
            raise Stop(
                "ledger.impossible",
                f"{path}: there is another snapshot of epoch {epoch}",
                "find out which one is right, and move the other one out of the ledger",
            )


def find_file(files: FileSystem, paths: LedgerPaths, directory: str, final: str) -> DataFile | None:
    """The file with this final address in the newest snapshot that names it. Raises as final_snapshots."""
    for snapshot in final_snapshots(files, paths, directory):
        for file in snapshot.files:
            if file.final == final:
                return file
    return None


def archived_epochs(files: FileSystem, paths: LedgerPaths) -> set[int]:
    """Epochs of the snapshots in the archive, by their names alone. Raises StorageError."""
    names = (child.name for directory in _archives(files, paths) for child in files.list(directory))
    return {parsed[0] for name in names if (parsed := parse_snapshot_name(name))}


def _archives(files: FileSystem, paths: LedgerPaths) -> list[str]:
    try:
        return [child.path for child in files.list(paths.archives) if child.is_directory]
    except NotFound:
        return []
