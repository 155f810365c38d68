"""Install a rebuilt ledger: build it completely under another name, then rename it once, as init does (R1)."""

from collections.abc import Mapping

from kafka2hive.ledger.ports import Ports, log
from kafka2hive.ledger.repair.rebuild import Rebuilt
from kafka2hive.ledger.retry import Answer, answer_to, retry
from kafka2hive.ledger.snapshot.codec import encode
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.paths.ledger import Generation, LedgerPaths, SnapshotState, snapshot_name
from kafka2hive.model.paths.path import join
from kafka2hive.storage.port import AlreadyExists, FileSystem, NotFound, StorageError, write_file


def refuse_present_ledger(files: FileSystem, paths: LedgerPaths) -> None:
    """Only a ledger that is gone is rebuilt. Raises ManualActionRequired, StorageError."""
    try:
        files.stat(paths.table_directory)
    except NotFound:
        return
    raise _there(paths)


def put_in_place(ports: Ports, paths: LedgerPaths, rebuilt: Rebuilt) -> None:
    """Before: no ledger. After: one generation directory, one final snapshot, perhaps one pending above it.

    A crash in the middle leaves an `init-<uuid>` directory that means nothing; a second call does it again, and finds
    the ledger there (ManualActionRequired) once one has succeeded. Raises ManualActionRequired, AmbiguousOutcome, TableError.
    """
    directory = Generation(rebuilt.final.generation).name
    texts = {snapshot_name(rebuilt.final.epoch, SnapshotState.FINAL): encode(rebuilt.final)}
    if rebuilt.pending is not None:
        texts[snapshot_name(rebuilt.pending.epoch, SnapshotState.PENDING)] = encode(rebuilt.pending)

    def attempt() -> Answer:
        beside = paths.draft(ports.new_uuid())
        generation = join(beside, directory)
        try:
            ports.files.mkdirs(generation)
            for name, text in texts.items():
                write_file(ports.files, join(generation, name), text)
            ports.files.rename(beside, paths.table_directory)
        except StorageError as error:
            log.warning("rebuild %s: %s", paths.table_directory, error)
            return _look_again(
                files=ports.files, paths=paths, directory=directory, texts=texts, refused=error
            )
        log.info("rebuild %s: done", paths.table_directory)
        return Answer.DONE

    retry(ports, "rebuild", paths.table_directory, attempt)


def _look_again(
    files: FileSystem, paths: LedgerPaths, directory: str, texts: Mapping[str, bytes], refused: StorageError
) -> Answer:
    """DONE where this very ledger is there: an earlier rename without an answer was carried out. Raises ManualActionRequired:
    another is.
    """
    try:
        present = {name: files.read(join(paths.table_directory, directory, name)) for name in texts}
    except NotFound:
        present = {}
    except StorageError as error:
        return answer_to(error)
    if present == texts:
        return Answer.DONE
    if isinstance(refused, AlreadyExists):
        raise _there(paths) from refused
    return answer_to(refused)


def _there(paths: LedgerPaths) -> ManualActionRequired:
    return ManualActionRequired(
        "rebuild.ledger_there",
        f"{paths.table_directory} is there: nothing is rebuilt over a ledger",
        "if it is damaged beyond repair, move that directory away first; `kafka2hive verify` says what is wrong with it",
    )
