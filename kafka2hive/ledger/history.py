"""Reading a ledger's snapshots back in time: the generation directory, then the archive; or all of it. Touches nothing."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from kafka2hive.ledger.look import View, look
from kafka2hive.ledger.take_over import read_snapshot
from kafka2hive.model.errors import ManualActionRequired, ServiceUnavailable
from kafka2hive.model.files import DataFile
from kafka2hive.model.paths.ledger import LedgerPaths, SnapshotState, parse_snapshot_name
from kafka2hive.model.snapshot import REBUILT, Snapshot
from kafka2hive.storage.port import FileStatus, FileSystem, NotFound, children


def final_snapshots(files: FileSystem, paths: LedgerPaths, directory: str) -> Iterator[Snapshot]:
    """Every final snapshot, newest first.

    The archive is looked at only when it is reached, or when the generation directory does not hold just the newest ones;
    a snapshot that a run moves there meanwhile comes once. A history ends with the first snapshot of a rebuilt ledger, which
    lists all that was before it. Raises ManualActionRequired (damaged, or two that differ for one epoch), StorageError.
    """
    rebuilt: Snapshot | None = None
    for snapshot in _all(files, paths, directory):
        if rebuilt is not None and (snapshot.owner, snapshot.generation) != (REBUILT, rebuilt.generation):
            return
        yield snapshot
        rebuilt = snapshot if snapshot.owner == REBUILT else None


def _all(files: FileSystem, paths: LedgerPaths, directory: str) -> Iterator[Snapshot]:
    given: dict[int, Snapshot] = {}
    finals = _finals(files, [directory])
    if _without_a_gap(finals):  # then all of the archive are older, and need not be looked at yet
        yield from _read(files, finals, given)
        finals = []
    finals += _finals(files, _archives(files, paths))
    yield from _read(files, _without_junk(finals, given), given)


def _without_a_gap(finals: list[tuple[int, FileStatus]]) -> bool:
    """Whole ones of successive epochs: nothing was left behind when older ones were archived."""
    numbers = sorted(epoch for epoch, file in finals if file.length)
    return (
        bool(finals)
        and len(numbers) == len(finals)
        and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    )


def _finals(files: FileSystem, directories: list[str]) -> list[tuple[int, FileStatus]]:
    """Return epoch and file of every final snapshot, from the file names."""
    found = []
    for directory in directories:
        for child in files.list(directory):
            parsed = parse_snapshot_name(child.name)
            if parsed and parsed[1] == SnapshotState.FINAL:
                found.append((parsed[0], child))
    return found


def _without_junk(
    finals: list[tuple[int, FileStatus]], given: Collection[int]
) -> list[tuple[int, FileStatus]]:
    """Without the empty files of epochs that have another one: a commit's calls, repeated late, leave such a file.

    An empty file that is the only one of its epoch is damage, and is read.
    """
    whole = {*given, *(epoch for epoch, file in finals if file.length)}
    return [(epoch, file) for epoch, file in finals if file.length or epoch not in whole]


def _read(
    files: FileSystem, finals: list[tuple[int, FileStatus]], given: dict[int, Snapshot]
) -> Iterator[Snapshot]:
    """Newest first, each epoch once."""
    for epoch, file in sorted(finals, key=lambda item: (item[0], item[1].path), reverse=True):
        snapshot = read_snapshot(files, file.path)
        if epoch not in given:
            given[epoch] = snapshot
            yield snapshot
        elif given[epoch] != snapshot:
            raise ManualActionRequired(
                "ledger.impossible",
                f"{file.path}: there is another snapshot of epoch {epoch}",
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
    """Epochs of the snapshots in the archives of all generations, by names and lengths. Raises StorageError."""
    return {epoch for epoch, file in _finals(files, _archives(files, paths)) if file.length}


def _archives(files: FileSystem, paths: LedgerPaths) -> list[str]:
    return [child.path for child in children(files, paths.archives) if child.is_directory]


_MOST_READS = 5


@dataclass(frozen=True, slots=True)
class History:
    """All final snapshots from the first to the newest, and the pending one above them, as `view` showed them."""

    view: View
    finals: tuple[Snapshot, ...]
    pending: Snapshot | None

    @property
    def newest(self) -> Snapshot:
        return self.pending or self.finals[-1]

    @property
    def all(self) -> tuple[Snapshot, ...]:
        return self.finals + ((self.pending,) if self.pending else ())


def read_history(files: FileSystem, view: View) -> History:
    """A take-over or the archiving of snapshots in between makes us read again.

    Raises ServiceUnavailable (it keeps moving), StorageError, and what `look` raises.
    """
    for _ in range(_MOST_READS):
        try:
            finals = tuple(final_snapshots(files, view.paths, view.directory))[::-1]
        except NotFound:
            view = look(files, view.paths)
            continue
        pending = view.newest.pending and view.state.epoch > finals[-1].epoch
        return History(view, finals, view.state if pending else None)
    raise ServiceUnavailable("ledger.moving", f"{view.directory} moves while it is read", "ask again")
