"""Put a rebuilt ledger in place: build it under another name, then rename it once, as init does (R1)."""

from collections.abc import Mapping

from kafka2hive.ledger.ports import Ports, log
from kafka2hive.ledger.repair.rebuild import RebuiltSnapshots
from kafka2hive.ledger.retry import Answer, answer_to, retry
from kafka2hive.ledger.snapshot.codec import encode
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.paths.ledger import Generation, LedgerPaths, SnapshotState, snapshot_name
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import other_place
from kafka2hive.storage.port import AlreadyExists, FileSystem, NotFound, StorageError, write_file


def refuse_present_ledger(files: FileSystem, paths: LedgerPaths) -> None:
    """Raise ManualActionRequired if the table has a ledger: only a lost one is rebuilt. Raises StorageError."""
    try:
        files.stat(paths.table_directory)
    except NotFound:
        return
    raise _ledger_exists(paths)


def put_in_place(ports: Ports, paths: LedgerPaths, rebuilt: RebuiltSnapshots) -> None:
    """Create the ledger: one generation directory, one final snapshot, and the pending one above it if there is one.

    A crash leaves an `init-<uuid>` directory, which has no effect; a second call repeats everything.
    Raises ManualActionRequired if the table has a ledger, AmbiguousOutcome, TableError.
    """
    directory = Generation(rebuilt.final.generation).name
    texts = {snapshot_name(rebuilt.final.epoch, SnapshotState.FINAL): encode(rebuilt.final)}
    if rebuilt.pending is not None:
        texts[snapshot_name(rebuilt.pending.epoch, SnapshotState.PENDING)] = encode(rebuilt.pending)

    def attempt() -> Answer:
        draft = paths.draft(ports.new_uuid())
        generation = join(draft, directory)
        try:
            for each in rebuilt.newest.early:  # K2: the lost ledger may not have come to it
                ports.files.mkdirs(other_place(each.partition.location, each.partition.path))
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


def _outcome(
    files: FileSystem, paths: LedgerPaths, directory: str, texts: Mapping[str, bytes], failure: StorageError
) -> Answer:
    """Return DONE if the ledger in place is this one: an earlier rename was done although its answer was an error.

    Raises ManualActionRequired if another ledger is in place.
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
        f"{paths.table_directory} is there: nothing is rebuilt over a ledger",
        "if it is damaged beyond repair, move that directory away first; `kafka2hive verify` says what is wrong with it",
    )
