"""What a roll-forward would find, without doing it: the files of a pending snapshot, looked at one by one."""

from collections.abc import Iterable
from dataclasses import dataclass

from kafka2hive.ledger.file_state import FileState, find
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.files import DataFile
from kafka2hive.storage.port import FileSystem


@dataclass(frozen=True, slots=True)
class PendingFiles:
    """Counts of a pending snapshot's files, and the first that a roll-forward would stop at."""

    staged: int
    already_there: int
    problem: ManualActionRequired | None = None


def pending_files(files: FileSystem, wanted: Iterable[DataFile]) -> PendingFiles:
    """Raises StorageError."""
    found = [find(files, file) for file in wanted]
    return PendingFiles(
        found.count(FileState.STAGED),
        found.count(FileState.MOVED),
        next((stop for stop in found if isinstance(stop, ManualActionRequired)), None),
    )
