"""Start a table over: rename its ledger into the archive (docs/protocol.md, Starting a table over).

Before `put_away` the ledger is unchanged. After it, the table's directory has no generation, which is a STOP for every start.
`end_reset` moves the directory away; then the table has no ledger, as before the first init.
"""

from dataclasses import asdict, dataclass

import orjson

from kafka2hive.ledger.location import is_there, read_marker
from kafka2hive.ledger.owned_ledger import OwnedLedger, fenced
from kafka2hive.ledger.ports import Answer, Ports, answer_to, log, retry
from kafka2hive.model.errors import AmbiguousOutcome, Fenced, ManualActionRequired
from kafka2hive.model.paths.ledger import (
    ARCHIVE_DIRECTORY,
    RESET_RECORD,
    RESET_TABLE,
    Generation,
    LedgerPaths,
)
from kafka2hive.model.paths.path import base_name, join, parent
from kafka2hive.model.paths.table_directory import (
    EARLY_PLACES,
    STAGING_DIRECTORY,
    owner_marker,
    reset_aside,
    staging_directory,
)
from kafka2hive.storage.port import FileStatus, FileSystem, NotFound, StorageError, children, write_file


@dataclass(frozen=True, slots=True)
class ResetRecord:
    """The record of a reset, written before anything moves. `id` has 32 hex digits and is new for each reset.

    `letters` is the directory of the table's dead letters. Each of `positions` is (topic, number, next offset).
    """

    id: str
    at: str
    table: str
    ledger_id: str
    generation: str
    epoch: int
    pending: bool
    location: str
    letters: str
    move_data: bool
    positions: tuple[tuple[str, int, int], ...]


def put_away(ports: Ports, owned: OwnedLedger, record: ResetRecord) -> None:
    """Write the record to `<archive>/reset/<table>/<id>` and rename this owner's generation directory into it.

    The rename also fences, because it removes all paths that any owner has into the ledger. A crash before the rename leaves
    the record, which is read only if the generation directory is next to it. Raises Fenced, AmbiguousOutcome, TableError.
    """
    files, home = ports.files, owned.paths.reset(record.id)
    target = join(home, owned.generation.name)
    text = orjson.dumps(asdict(record), option=orjson.OPT_INDENT_2) + b"\n"
    try:
        files.mkdirs(home)
        write_file(files, join(home, RESET_RECORD), text)
    except StorageError as error:
        raise AmbiguousOutcome(
            "ledger.no_answer",
            f"writing {home}: {error}",
            "type the same `kafka2hive reset` command again",
        ) from error

    def move() -> Answer:
        try:
            files.rename(owned.directory, target)
        except StorageError as error:
            log.warning("reset %s: %s", owned.directory, error)
            if is_there(files, target):
                return Answer.DONE
            if not is_there(files, owned.directory):
                raise fenced(owned.paths, owned.generation) from error
            return answer_to(error)
        return Answer.DONE

    retry(ports, "reset", owned.directory, move)
    log.info("reset %s: its ledger is in %s", owned.paths.table, target)


def unfinished_reset(files: FileSystem, paths: LedgerPaths) -> ResetRecord | None:
    """Return the record of a reset that did not end, or None. Raises ManualActionRequired (damaged record), StorageError."""
    for home in children(files, paths.resets):
        names = {child.name for child in children(files, home.path)}
        if any(map(Generation.parse, names)) and RESET_TABLE not in names:
            path = join(home.path, RESET_RECORD)
            try:
                record = orjson.loads(files.read(path))
                return ResetRecord(**{**record, "positions": tuple(map(tuple, record["positions"]))})
            except (NotFound, ValueError, KeyError, TypeError) as error:
                raise ManualActionRequired(
                    "reset.damaged", f"{path}: {error}", "restore it from a backup; nothing was changed"
                ) from error
    return None


def put_files_away(ports: Ports, paths: LedgerPaths, record: ResetRecord) -> int:
    """Move the staging directory, the archived snapshots, and with `move_data` the visible files. Return the number of renames.

    A rename never leaves the table's or the ledger's directory tree, which may be an encryption zone. The staging directory
    moves first, so that a delayed promote cannot find its source. A second call moves what remains. Raises
    ManualActionRequired (two files have the same name, or the table has a ledger again), Fenced (another call has ended the
    reset), AmbiguousOutcome, TableError, StorageError.
    """
    refuse_ledger(ports.files, paths)
    aside = reset_aside(record.location, record.id)
    moves = [
        (staging_directory(record.location), join(aside, STAGING_DIRECTORY)),
        (paths.archives, join(paths.reset(record.id), ARCHIVE_DIRECTORY)),
    ]
    if record.move_data:
        below = children(ports.files, record.location)
        visible = [c.path for c in below if c.is_visible or c.name == EARLY_PLACES]
        moves += [(path, join(aside, base_name(path))) for path in visible]
        letters_aside = reset_aside(parent(record.letters), record.id)
        moves.append((record.letters, join(letters_aside, base_name(record.letters))))
    staging, *others = moves
    mover = _Mover(ports, join(paths.reset(record.id), RESET_TABLE))
    return mover.move(*staging) + sum(ports.concurrency.map(lambda move: mover.move(*move), others))


def refuse_ledger(files: FileSystem, paths: LedgerPaths) -> None:
    """Raise ManualActionRequired if the table has a ledger again, although its reset has not ended."""
    generations = [c.path for c in children(files, paths.table_directory) if Generation.parse(c.name)]
    if generations:
        raise ManualActionRequired(
            "reset.conflict",
            f"{generations[0]} exists, though a reset of {paths.table} has put the ledger away and has not ended",
            f"find out who created it; move it, or the directory of the reset in {paths.resets}, elsewhere",
        )


def end_reset(ports: Ports, paths: LedgerPaths, record: ResetRecord) -> None:
    """Move the owner marker, then the table's directory. The last rename ends the reset; after it, `run` starts over.

    A second call after a crash does the rest. Raises as `put_files_away` does.
    """
    refuse_ledger(ports.files, paths)
    end = join(paths.reset(record.id), RESET_TABLE)
    mover = _Mover(ports, end)
    if read_marker(ports.files, record.location) == record.ledger_id:
        marker = owner_marker(record.location)
        mover.move(marker, join(reset_aside(record.location, record.id), base_name(marker)))

    def attempt() -> Answer:
        try:
            if not is_there(ports.files, end):
                ports.files.rename(paths.table_directory, end)
        except NotFound:
            ports.files.mkdirs(end)  # somebody deleted the empty directory
        except StorageError as error:
            log.warning("end reset of %s: %s", paths.table, error)
            return answer_to(error)
        return Answer.DONE

    retry(ports, "end reset", paths.table_directory, attempt)
    log.info("reset %s: done", paths.table)


@dataclass(frozen=True, slots=True)
class _Mover:
    """Moves files by rename, without overwriting. If the path `end` exists, another call has ended the reset."""

    ports: Ports
    end: str

    def move(self, source: str, target: str) -> int:
        """Move `source` and return the number of renames, 0 if `source` is gone. Directories are merged into `target`."""
        files = self.ports.files
        moved = 0

        def attempt() -> Answer:
            nonlocal moved
            try:
                status = files.stat(source)
                if is_there(files, self.end):
                    raise Fenced("ledger.fenced", f"another call has ended the reset: {self.end} exists")
                if is_there(files, target):
                    moved += self._merge(status, target)
                else:
                    files.mkdirs(parent(target))
                    files.rename(source, target)
                    moved += 1
            except NotFound:
                return Answer.DONE
            except StorageError as error:
                log.warning("move %s to %s: %s", source, target, error)
                return answer_to(error)
            return Answer.DONE

        retry(self.ports, "move", source, attempt)
        return moved

    def _merge(self, source: FileStatus, target: str) -> int:
        if not source.is_directory:
            raise ManualActionRequired(
                "reset.conflict",
                f"both {source.path} and {target} exist",
                "find out who wrote them, move one of them away, and type the same `kafka2hive reset` command again",
            )
        children = self.ports.files.list(source.path)
        moved = sum(self.move(child.path, join(target, child.name)) for child in children)
        self.ports.files.delete(source.path)
        return moved
