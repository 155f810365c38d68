"""Find out whether a committed file is staged, at its final place, or lost, for R6, `--plan` and repairs."""

from enum import Enum

from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.files import DataFile
from kafka2hive.model.paths.path import base_name
from kafka2hive.storage.port import FileSystem, length_at


class FileState(Enum):
    """The place of an undamaged committed file."""

    STAGED = "staged"
    MOVED = "moved"


def find(files: FileSystem, table: str, file: DataFile) -> FileState | ManualActionRequired:
    """Return where the file is, or the STOP if it is missing or damaged; `table` is the one whose ledger names it.

    Looks at the staged name first: in the other order a move in between would look like a loss. Raises StorageError.
    """
    staged = length_at(files, file.staged)
    final = length_at(files, file.final)
    return classify(table, file, staged, final)


def classify(
    table: str, file: DataFile, staged: int | None, final: int | None
) -> FileState | ManualActionRequired:
    """Decide from the lengths in bytes at both places; None: no file is there.

    If the final file is right, a staged one is junk of a delayed create.
    """
    if final == file.length:
        return FileState.MOVED
    if staged not in (None, file.length):
        return stop_for(
            "ledger.length", table, file, f"staged with {staged} bytes, committed with {file.length}"
        )
    if final is not None:
        return stop_for(
            "ledger.conflict", table, file, f"a file of {final} bytes is there, committed with {file.length}"
        )
    if staged is not None:
        return FileState.STAGED
    return stop_for("ledger.missing", table, file, f"neither there nor staged ({base_name(file.staged)})")


def stop_for(code: str, table: str, file: DataFile, what: str) -> ManualActionRequired:
    """Return the STOP of one file. Its commands name this table alone, because a live run may own the others."""
    ranges = ", ".join(map(str, file.ranges))
    recover = f"kafka2hive recover --table {table}"
    return ManualActionRequired(
        code,
        f"{file.final}: {what}; {file.rows} rows of {ranges}",
        f"`{recover} --refetch {file.final}` dumps its records again while Kafka has them,"
        f" `{recover} --accept-loss {file.final}` goes on without them; nothing was overwritten or deleted",
    )
