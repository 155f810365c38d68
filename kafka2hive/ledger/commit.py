"""Commit a snapshot: rules C1 and C2 of docs/protocol.md. The rename of C2 is the commit; before it nothing has an effect."""

from kafka2hive.ledger.owned_ledger import OwnedLedger, fenced, list_own_directory
from kafka2hive.ledger.ports import Ports, log
from kafka2hive.ledger.retry import Answer, answer_to, retry
from kafka2hive.ledger.snapshot.codec import encode, with_checksum_of
from kafka2hive.model.errors import AmbiguousOutcome, StateUnknown
from kafka2hive.model.paths.ledger import SnapshotState, draft_name
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.port import ParentMissing, StorageError, write_file


def commit(ports: Ports, owned: OwnedLedger, snapshot: Snapshot) -> OwnedLedger:
    """Write `snapshot`, whose epoch is the owned ledger's next, and make it the table's state.

    Before: the newest snapshot is `e<N-1>.final`. After: `e<N>.pending` is there, too. A crash leaves a draft, which has no
    effect, or the committed snapshot; the next start's listing shows which. A second call with `owned` raises before it
    changes anything; after an AmbiguousOutcome the caller must start again at R2.
    Raises Fenced, AmbiguousOutcome, TableError.
    """
    if owned.pending or snapshot.epoch != owned.next_epoch or snapshot.generation != owned.generation.number:
        raise ValueError(f"epoch {snapshot.epoch} does not follow {owned.state_path}")
    owned.spend()
    data = encode(snapshot)
    draft = _write_draft(ports, owned, snapshot.epoch, data)
    _rename_to_pending(ports=ports, owned=owned, epoch=snapshot.epoch, draft=draft, data=data)
    return owned.committed(with_checksum_of(snapshot, data))


def _write_draft(ports: Ports, owned: OwnedLedger, epoch: int, data: bytes) -> str:
    """Write the draft (C1) and return its path. Each try uses a new name; a half-written draft is never touched again."""
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
    """Rename the draft to `.pending` (C2, the commit point). After an error the directory shows what happened, else R0."""
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
                "ledger.draft_vanished", f"{draft} is gone and {pending} is not there"
            ) from error
        return Answer.DONE

    retry(ports, "commit", pending, attempt)
    log.debug("commit %s epoch %d: done", owned.paths.table, epoch)


def _check_is_mine(ports: Ports, owned: OwnedLedger, pending: str, data: bytes) -> None:
    """Check that the committed bytes are those of this commit. Raises Fenced, StateUnknown, AmbiguousOutcome (R0).

    Others could only be there if this process committed the epoch twice; a new take-over rolls forward what is there.
    """
    try:
        committed = ports.files.read(pending)
    except StorageError as error:
        list_own_directory(ports.files, owned)
        raise StateUnknown("ledger.no_answer", f"reading {pending} back: {error}") from error
    if committed != data:
        raise AmbiguousOutcome(
            "ledger.other_commit", f"{pending} is there, but holds another snapshot than this one"
        )
