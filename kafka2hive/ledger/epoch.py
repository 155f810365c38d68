"""One epoch of one table: commit (C1, C2), promote, finalise (R7). A start calls the same code for a pending snapshot."""

from dataclasses import dataclass
from functools import partial

from kafka2hive.ledger.certify import certify
from kafka2hive.ledger.draft import draft
from kafka2hive.ledger.owned_ledger import OwnedLedger, fenced, list_own_directory
from kafka2hive.ledger.ports import Answer, Ports, answer_to, log, retry
from kafka2hive.ledger.promote import hide_replayed, promote
from kafka2hive.ledger.retire import is_retired
from kafka2hive.ledger.snapshot.change import Change
from kafka2hive.ledger.snapshot.codec import encode, with_checksum_of
from kafka2hive.model.errors import AmbiguousOutcome, StateUnknown
from kafka2hive.model.files import FileMoves
from kafka2hive.model.paths.ledger import SnapshotState, draft_name
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.model.paths.table_directory import other_place
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.port import ParentMissing, StorageError, write_file


@dataclass(frozen=True, slots=True)
class Publication:
    """The result of a publish: the owned ledger with its final state, and how the files were moved."""

    owned: OwnedLedger
    moves: FileMoves


def publish(ports: Ports, owned: OwnedLedger, change: Change, service: str | None = None) -> Publication:
    """Draft the next snapshot, commit it (C1, C2), then roll forward. `service` defaults to the service in the state.

    A crash leaves the old state, or a committed snapshot that the next start rolls forward. Raises what `draft` raises (bugs;
    then nothing was written), Fenced, ManualActionRequired, AmbiguousOutcome, TableError.
    """
    snapshot = draft(owned, service or owned.state.service, ports.clock.now(), change)
    return roll_forward(ports, commit(ports, owned, snapshot))


def roll_forward(ports: Ports, owned: OwnedLedger, given_up: frozenset[str] = frozenset()) -> Publication:
    """Promote, hide and finalise the state if it is pending (R6, R11, R7), then certify (R10). At a start, this is step R4.

    `given_up` has the final paths of files that were accepted as lost. A second call after a crash does the rest. Raises
    Fenced, ManualActionRequired, AmbiguousOutcome, TableError.
    """
    if not owned.pending:
        return Publication(certify(ports, owned, given_up), FileMoves())
    # a rebuilt ledger may name early files that were retired before
    files = [file for file in owned.state.files if not is_retired(owned.state, file)]
    moves = promote(ports, owned, files, given_up)
    hide_replayed(ports, owned)
    anchor(ports, owned)
    final = finalise(ports, owned)
    return Publication(certify(ports, final, given_up), moves)


def commit(ports: Ports, owned: OwnedLedger, snapshot: Snapshot) -> OwnedLedger:
    """Write `snapshot`, whose epoch is the owned ledger's next, and make it the table's state.

    Before: the newest snapshot is `e<N-1>.final`. After: `e<N>.pending` exists, too. A crash leaves a draft, which the next
    start deletes, or the committed snapshot, which the next start rolls forward. A second call with `owned` raises before it
    changes anything. Raises Fenced, TableError, and AmbiguousOutcome, after which the caller must start again at R2.
    """
    if owned.pending or snapshot.epoch != owned.next_epoch or snapshot.generation != owned.generation.number:
        raise ValueError(f"epoch {snapshot.epoch} does not follow {owned.state_path}")
    owned.spend()
    data = encode(snapshot)
    draft_path = _write_draft(ports, owned, snapshot.epoch, data)
    _rename_to_pending(ports=ports, owned=owned, epoch=snapshot.epoch, draft=draft_path, data=data)
    return owned.committed(with_checksum_of(snapshot, data))


def _write_draft(ports: Ports, owned: OwnedLedger, epoch: int, data: bytes) -> str:
    """Write the draft (C1) and return its path. Each try uses a new name, so a half-written draft is never used."""
    draft = ""

    def attempt() -> Answer:
        nonlocal draft
        draft = join(owned.directory, draft_name(epoch, ports.new_uuid()))
        try:
            write_file(ports.files, draft, data)
        except ParentMissing as error:
            raise fenced(owned.paths, owned.generation) from error
        except StorageError as error:
            log.warning("write %s: %s", draft, error)
            return answer_to(error)
        return Answer.DONE

    retry(ports, "write", owned.directory, attempt)
    return draft


def _rename_to_pending(ports: Ports, owned: OwnedLedger, epoch: int, draft: str, data: bytes) -> None:
    """Rename the draft to `.pending` (C2, the commit point). After an error, a listing shows whether it was renamed."""
    pending = owned.snapshot_path(epoch, SnapshotState.PENDING)

    def attempt() -> Answer:
        try:
            ports.files.rename(draft, pending)
        except StorageError as error:
            log.warning("commit %s: %s", pending, error)
            names = {child.name for child in list_own_directory(ports.files, owned)}
            if base_name(pending) in names:
                _check_is_mine(ports, owned, pending, data)
                return Answer.DONE
            if base_name(draft) in names:
                return answer_to(error)
            raise AmbiguousOutcome(
                "ledger.draft_vanished", f"neither {draft} nor {pending} exists"
            ) from error
        return Answer.DONE

    retry(ports, "commit", pending, attempt)
    log.debug("commit %s epoch %d: done", owned.paths.table, epoch)


def _check_is_mine(ports: Ports, owned: OwnedLedger, pending: str, data: bytes) -> None:
    """Check that the committed bytes are those of this commit. Raises Fenced, StateUnknown, AmbiguousOutcome (R0).

    They differ only if this process has committed the epoch twice; the next take-over rolls the committed snapshot forward.
    """
    try:
        committed = ports.files.read(pending)
    except StorageError as error:
        list_own_directory(ports.files, owned)
        raise StateUnknown("ledger.no_answer", f"reading {pending} back: {error}") from error
    if committed != data:
        raise AmbiguousOutcome(
            "ledger.other_commit", f"{pending} exists, but holds a different snapshot than this commit"
        )


def anchor(ports: Ports, owned: OwnedLedger) -> None:
    """Create the home of each partition that became early in this epoch, before Hive learns of it (K2).

    Without a directory at its home, MSCK SYNC PARTITIONS would drop the partition. A second call changes nothing.
    """

    def attempt(home: str) -> Answer:
        try:
            ports.files.mkdirs(home)
        except StorageError as error:
            log.warning("create %s: %s", home, error)
            return answer_to(error)
        return Answer.DONE

    for early in owned.state.early:
        if early.since == owned.state.epoch:
            home = other_place(early.partition.location, early.partition.path)
            retry(ports, "create", home, partial(attempt, home))


def finalise(ports: Ports, owned: OwnedLedger) -> OwnedLedger:
    """Rename `e<N>.pending` to `e<N>.final`, after which N+1 may be committed (R7).

    A crash before the rename leaves the epoch pending; then the next start finds all files moved, and finalises.
    Raises Fenced, AmbiguousOutcome, TableError.
    """
    pending = owned.snapshot_path(owned.state.epoch, SnapshotState.PENDING)
    final = owned.snapshot_path(owned.state.epoch, SnapshotState.FINAL)

    def attempt() -> Answer:
        try:
            ports.files.rename(pending, final)
        except StorageError as error:
            log.warning("finalise %s: %s", final, error)
            names = {child.name for child in list_own_directory(ports.files, owned)}
            if base_name(final) in names:
                return Answer.DONE
            if base_name(pending) in names:
                return answer_to(error)
            raise AmbiguousOutcome(
                "ledger.pending_vanished", f"neither {pending} nor {final} exists"
            ) from error
        return Answer.DONE

    retry(ports, "finalise", final, attempt)
    log.debug("finalise %s epoch %d: done", owned.paths.table, owned.state.epoch)
    return owned.finalised()
