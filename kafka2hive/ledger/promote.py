"""Move the files of a committed snapshot to where readers see them, and hide the dead letters that it replaces: R6, R11.

Only this code puts files into their final places (W3). It may be repeated, because it finds a moved file at its final place.
"""

import functools
import shlex
from collections.abc import Sequence
from enum import Enum

from kafka2hive.ledger.owned_ledger import OwnedLedger, list_own_directory
from kafka2hive.ledger.ports import Answer, Ports, answer_to, log, retry
from kafka2hive.model.errors import ManualActionRequired, StateUnknown
from kafka2hive.model.files import DataFile, FileMoves
from kafka2hive.model.paths.path import base_name, parent
from kafka2hive.model.paths.table_directory import hidden_letters
from kafka2hive.model.text import counted
from kafka2hive.storage.port import FileSystem, StorageError, children, in_its_directory, length_at

MISSING = "ledger.missing"
"""The code of the STOP for a committed file that is at neither place."""


class FileState(Enum):
    """The place of an undamaged committed file."""

    STAGED = "staged"
    MOVED = "moved"


def find(files: FileSystem, table: str, file: DataFile) -> FileState | ManualActionRequired:
    """Return where the file is, or the STOP if it is missing or damaged. `table` is the table whose ledger names the file.

    The staged name is looked up first: in the other order a move in between would look like a loss. Raises StorageError.
    """
    staged = length_at(files, file.staged)
    final = length_at(files, file.final)
    return classify(table, file, staged, final)


def classify(
    table: str, file: DataFile, staged: int | None, final: int | None
) -> FileState | ManualActionRequired:
    """Return the result of `find` for the lengths in bytes at both places; None means that the place has no file.

    If the final file has the right length, a staged file is junk of a delayed create.
    """
    if final == file.length:
        return FileState.MOVED
    if staged not in (None, file.length):
        return stop_for(
            "ledger.length", table, file, f"{staged} bytes were staged, but {file.length} committed"
        )
    if final is not None:
        return stop_for(
            "ledger.conflict",
            table,
            file,
            f"a file of {final} bytes is there, but {file.length} were committed",
        )
    if staged is not None:
        return FileState.STAGED
    return stop_for(MISSING, table, file, f"neither there nor staged ({base_name(file.staged)})")


def stop_for(code: str, table: str, file: DataFile, what: str) -> ManualActionRequired:
    """Return the STOP of one file. Its commands name only this table, because a live run may own the service's other tables."""
    ranges = ", ".join(map(str, file.ranges))
    path = shlex.quote(file.final)
    return ManualActionRequired(
        code,
        f"{file.final}: {what}; {file.rows} rows of {ranges}",
        f"`kafka2hive recover --table {table} --refetch {path} -c MAP` reads its records again if Kafka still has them;"
        f" `kafka2hive recover --table {table} --accept-loss {path} -c MAP` gives them up;"
        " no file was overwritten or deleted",
    )


class Move(Enum):
    """What a promote did with one file (see FileMoves)."""

    RENAMED = "renamed"
    ALREADY_THERE = "already_there"
    GIVEN_UP = "given_up"


def promote(
    ports: Ports, owned: OwnedLedger, files: Sequence[DataFile], given_up: frozenset[str] = frozenset()
) -> FileMoves:
    """Move every file of a pending snapshot to its final place, and check its length.

    Files whose final paths are in `given_up` were accepted as lost, and are left out. A crash leaves some files moved; a second
    call moves the rest. Raises ManualActionRequired (a file is missing or damaged, or a different file has its name; then no
    file was overwritten or deleted), Fenced, AmbiguousOutcome, TableError.
    """
    lengths = _staged_lengths(ports, files)
    retries = [0]

    def move(file: DataFile) -> Move:
        if file.final in given_up:
            return Move.GIVEN_UP
        staged = lengths.get(file.staged)
        if staged is not None and staged != file.length:
            return _expect_moved(ports, owned, file, staged)
        return _move(ports, owned, file, retries)

    moves = ports.concurrency.map(move, files)
    if already := moves.count(Move.ALREADY_THERE):
        log.info(
            "%s epoch %d: %s moved before", owned.paths.table, owned.state.epoch, counted(already, "file")
        )
    return FileMoves(
        created=len(files),
        renamed=moves.count(Move.RENAMED),
        already_there=moves.count(Move.ALREADY_THERE),
        given_up=moves.count(Move.GIVEN_UP),
        retried=retries[0],
    )


def hide_replayed(ports: Ports, owned: OwnedLedger) -> None:
    """Rename the dead-letter files that this epoch replaces to their hidden names (R11), after the promote.

    Before: readers see both the letters and the rows that replace them. After: only the rows. A crash leaves some files
    visible; a second call hides the rest. A file that is at neither place was deleted by somebody's clean-up job, and counts
    as hidden. Raises AmbiguousOutcome, TableError.
    """

    def hide(path: str) -> None:
        hidden = hidden_letters(path)

        def attempt() -> Answer:
            try:
                ports.files.rename(path, hidden)
            except StorageError as error:
                log.warning("hide %s epoch %d: %s", path, owned.state.epoch, error)
                return Answer.DONE if _is_hidden(ports.files, path, hidden) else answer_to(error)
            log.debug("hide %s epoch %d: renamed", path, owned.state.epoch)
            return Answer.DONE

        retry(ports, "hide", path, attempt)

    ports.concurrency.map(hide, [replayed_file.path for replayed_file in owned.state.replayed])


def _is_hidden(files: FileSystem, path: str, hidden: str) -> bool:
    """Return whether the file has left its place. If both paths have a file, a delayed create has put junk at one of them."""
    try:
        return length_at(files, path) is None or length_at(files, hidden) is not None
    except StorageError as error:
        raise StateUnknown("ledger.no_answer", f"looking at {path}: {error}") from error


def _staged_lengths(ports: Ports, files: Sequence[DataFile]) -> dict[str, int]:
    """Return the length of each staged file by path, from one listing per staging directory."""
    lengths: dict[str, int] = {}

    def look(directory: str) -> Answer:
        try:
            lengths.update({child.path: child.length for child in children(ports.files, directory)})
        except StorageError as error:
            log.warning("listing %s: %s", directory, error)
            return answer_to(error)
        return Answer.DONE

    for directory in sorted({parent(f.staged) for f in files}):
        retry(ports, "list", directory, functools.partial(look, directory))
    return lengths


def _expect_moved(ports: Ports, owned: OwnedLedger, file: DataFile, staged: int) -> Move:
    """Check a file whose staged length is wrong. If the final file is right, the staged one is junk; otherwise raise the STOP."""

    def look() -> Answer:
        try:
            final = length_at(ports.files, file.final)
        except StorageError as error:
            raise _no_answer(file, error) from error
        _undamaged(ports.files, owned, classify(owned.paths.table, file, staged, final))
        return Answer.DONE

    retry(ports, "look at", file.final, look)
    return Move.ALREADY_THERE


def _move(ports: Ports, owned: OwnedLedger, file: DataFile, retries: list[int]) -> Move:
    outcome = Move.RENAMED

    def attempt() -> Answer:
        nonlocal outcome
        try:
            in_its_directory(
                ports.files, file.final, functools.partial(ports.files.rename, file.staged, file.final)
            )
        except StorageError as error:
            log.debug("promote %s epoch %d: %s", file.final, owned.state.epoch, error)
            if _is_moved(ports.files, owned, file):
                outcome = Move.ALREADY_THERE
                return Answer.DONE
            retries[0] += 1
            return answer_to(error)
        log.debug("promote %s epoch %d: renamed", file.final, owned.state.epoch)
        return Answer.DONE

    retry(ports, "promote", file.final, attempt)
    return outcome


def _is_moved(files: FileSystem, owned: OwnedLedger, file: DataFile) -> bool:
    try:
        state = find(files, owned.paths.table, file)
    except StorageError as error:
        raise _no_answer(file, error) from error
    return _undamaged(files, owned, state) is FileState.MOVED


def _undamaged(files: FileSystem, owned: OwnedLedger, state: FileState | ManualActionRequired) -> FileState:
    """Return the state, or raise the STOP. Raises Fenced instead if this process has lost the table to a new owner."""
    if isinstance(state, ManualActionRequired):
        list_own_directory(files, owned)
        raise state
    return state


def _no_answer(file: DataFile, error: StorageError) -> StateUnknown:
    return StateUnknown("ledger.no_answer", f"looking at {file.final}: {error}")
