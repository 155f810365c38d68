"""What a roll-forward would find, without doing it: the files of a pending snapshot, looked at one by one."""

from collections.abc import Iterable
from dataclasses import dataclass

from kafka2hive.ledger.promote import stop_for
from kafka2hive.model.errors import Stop
from kafka2hive.model.files import DataFile
from kafka2hive.storage.port import FileSystem, length_at


@dataclass(frozen=True, slots=True)
class PendingFiles:
    """Counts of a pending snapshot's files, and the first that a roll-forward would stop at."""

    staged: int
    already_there: int
    problem: Stop | None = None


def pending_files(files: FileSystem, wanted: Iterable[DataFile]) -> PendingFiles:
    """Raises StorageError."""
    staged = there = 0
    problem: Stop | None = None
    for file in wanted:
        final = length_at(files, file.final)
        waiting = length_at(files, file.staged)
        if final == file.length:
            there += 1
        elif final is not None:
            problem = problem or stop_for("ledger.conflict", file, f"a file of {final} bytes is there")
        elif waiting == file.length:
            staged += 1
        elif waiting is not None:
            problem = problem or stop_for("ledger.length", file, f"staged with {waiting} bytes")
        else:
            problem = problem or stop_for("ledger.missing", file, "neither there nor staged")
    return PendingFiles(staged, there, problem)
