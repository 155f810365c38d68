"""Create a ledger, empty (R1 of docs/protocol.md) or rebuilt. It is built under a draft name, then renamed into place."""

from collections.abc import Mapping

from kafka2hive.ledger.ports import Answer, Ports, answer_to, log, retry
from kafka2hive.ledger.snapshot.codec import encode
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.paths.ledger import (
    FIRST_GENERATION,
    Generation,
    LedgerPaths,
    SnapshotState,
    snapshot_name,
)
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import other_place
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.port import AlreadyExists, FileSystem, NotFound, StorageError, write_file


def init(ports: Ports, paths: LedgerPaths, service: str, location: str) -> None:
    """Create the table's ledger without files, pending registrations and positions. Do nothing if it exists.

    A crash leaves nothing, the ledger, or a directory `init-<uuid>`, which is never read. Raises AmbiguousOutcome, TableError.
    """

    def attempt() -> Answer:
        draft = paths.draft(ports.new_uuid())
        generation = join(draft, FIRST_GENERATION)
        first = join(generation, snapshot_name(0, SnapshotState.FINAL))
        try:
            ports.files.mkdirs(generation)
            write_file(ports.files, first, encode(_empty(ports, paths.table, service, location)))
            ports.files.rename(draft, paths.table_directory)
        except AlreadyExists:
            _discard(ports, first, generation, draft)
            return Answer.DONE
        except StorageError as error:
            log.warning("init %s: %s", paths.table_directory, error)
            return Answer.DONE if _is_there(ports, paths.table_directory) else answer_to(error)
        log.info("init %s: done", paths.table_directory)
        return Answer.DONE

    retry(ports, "init", paths.table_directory, attempt)


def put_in_place(ports: Ports, paths: LedgerPaths, final: Snapshot, pending: Snapshot | None) -> None:
    """Create a rebuilt ledger: one generation directory with the final snapshot, and with the pending one unless it is None.

    A crash leaves nothing, the ledger, or a directory `init-<uuid>`, which is never read; a second call repeats everything.
    Raises ManualActionRequired if the table has a ledger, AmbiguousOutcome, TableError.
    """
    directory = Generation(final.generation).name
    texts = {snapshot_name(final.epoch, SnapshotState.FINAL): encode(final)}
    if pending is not None:
        texts[snapshot_name(pending.epoch, SnapshotState.PENDING)] = encode(pending)

    def attempt() -> Answer:
        draft = paths.draft(ports.new_uuid())
        generation = join(draft, directory)
        try:
            for early in (pending or final).early:  # K2, which the lost ledger may not have done
                ports.files.mkdirs(other_place(early.partition.location, early.partition.path))
            ports.files.mkdirs(generation)
            for name, text in texts.items():
                write_file(ports.files, join(generation, name), text)
            ports.files.rename(draft, paths.table_directory)
        except StorageError as error:
            log.warning("rebuild %s: %s", paths.table_directory, error)
            return _outcome(files=ports.files, paths=paths, directory=directory, texts=texts, failure=error)
        log.info("rebuild %s: done", paths.table_directory)
        return Answer.DONE

    retry(ports, "rebuild", paths.table_directory, attempt)


def refuse_present_ledger(files: FileSystem, paths: LedgerPaths) -> None:
    """Raise ManualActionRequired if the table has a ledger, because only a lost ledger is rebuilt. Raises StorageError."""
    try:
        files.stat(paths.table_directory)
    except NotFound:
        return
    raise _ledger_exists(paths)


def _empty(ports: Ports, table: str, service: str, location: str) -> Snapshot:
    return Snapshot(
        ledger_id=ports.new_uuid(),
        service=service,
        table=table,
        generation=0,
        owner="init",
        epoch=0,
        written_at=ports.clock.now(),
        location=location,
    )


def _is_there(ports: Ports, directory: str) -> bool:
    try:
        ports.files.stat(directory)
    except StorageError:
        return False
    return True


def _discard(ports: Ports, *paths: str) -> None:
    """Delete the draft of this attempt, after another start was first. Failures are logged."""
    for path in paths:
        try:
            ports.files.delete(path)
        except StorageError as error:
            log.warning("cannot delete %s, which is never read: %s", path, error)


def _outcome(
    files: FileSystem, paths: LedgerPaths, directory: str, texts: Mapping[str, bytes], failure: StorageError
) -> Answer:
    """Return DONE if this ledger is in place, because the rename was done although it returned an error.

    Raises ManualActionRequired if a different ledger is in place.
    """
    try:
        present = {name: files.read(join(paths.table_directory, directory, name)) for name in texts}
    except NotFound:
        present = {}
    except StorageError as error:
        return answer_to(error)
    if present == texts:
        return Answer.DONE
    if isinstance(failure, AlreadyExists):
        raise _ledger_exists(paths) from failure
    return answer_to(failure)


def _ledger_exists(paths: LedgerPaths) -> ManualActionRequired:
    return ManualActionRequired(
        "rebuild.ledger_there",
        f"{paths.table_directory} exists: a ledger is rebuilt only if it is lost",
        "if the ledger is damaged beyond repair (`kafka2hive verify -c MAP` names the damage), move the directory away first",
    )
