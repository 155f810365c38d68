"""Where a committed file lies: staged, at its final place, or lost. The one classification behind R6, `--plan` and repairs."""

from enum import Enum

from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.files import DataFile
from kafka2hive.model.paths.path import base_name
from kafka2hive.storage.port import FileSystem, length_at


class FileState(Enum):
    """A committed file that is unharmed."""

    STAGED = "staged"
    MOVED = "moved"


def find(files: FileSystem, table: str, file: DataFile) -> FileState | ManualActionRequired:
    """Look at the staged name, THEN at the final one: the other order mistakes a move in between for a loss.

    Gives the STOP of a file that is harmed; `table` is whose ledger names it. Raises StorageError.
    """
    staged = length_at(files, file.staged)
    final = length_at(files, file.final)
    return classify(table, file, staged, final)


def classify(
    table: str, file: DataFile, staged: int | None, final: int | None
) -> FileState | ManualActionRequired:
    """From the lengths at both places, None: nothing is there. Right at the final place, what is staged does not matter:
    it is junk of a late create.
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
    """The STOP of one file, with the commands that go on. They are about this table alone: a live run may own others."""
    ranges = ", ".join(map(str, file.ranges))
    recover = f"kafka2hive recover --table {table}"
    return ManualActionRequired(
        code,
        f"{file.final}: {what}; {file.rows} rows of {ranges}",
        f"`{recover} --refetch {file.final}` dumps its records again while Kafka has them,"
        f" `{recover} --accept-loss {file.final}` goes on without them; nothing was overwritten or deleted",
    )
