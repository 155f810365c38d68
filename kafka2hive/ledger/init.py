"""Create a ledger: rule R1 of docs/protocol.md. It is built under another name, then renamed into place once."""

from kafka2hive.ledger.ports import Ports, log
from kafka2hive.ledger.retry import Answer, answer_to, retry
from kafka2hive.ledger.snapshot.codec import encode
from kafka2hive.model.paths.ledger import FIRST_GENERATION, LedgerPaths, SnapshotState, snapshot_name
from kafka2hive.model.paths.path import join
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.port import AlreadyExists, StorageError, write_file


def init(ports: Ports, paths: LedgerPaths, service: str, location: str) -> None:
    """Create the table's ledger: no files, no pending registrations, no positions. Do nothing if it exists.

    A crash leaves an `init-<uuid>` directory, which has no effect. Raises AmbiguousOutcome, TableError.
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
    """Delete what this attempt built, if another start was first; failures are logged."""
    for path in paths:
        try:
            ports.files.delete(path)
        except StorageError as error:
            log.warning("cannot delete %s, which has no effect: %s", path, error)
