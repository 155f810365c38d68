"""The commit: rules C1 and C2 of docs/protocol.md. After C2 the epoch is decided; before it, nothing happened."""

from kafka2hive.ledger.owned_ledger import OwnedLedger, fenced, list_own_directory
from kafka2hive.ledger.ports import Ports, log
from kafka2hive.ledger.retry import Answer, answer_to, retry
from kafka2hive.ledger.snapshot.codec import encode, written
from kafka2hive.model.errors import AmbiguousOutcome, StateUnknown
from kafka2hive.model.paths.ledger import SnapshotState, draft_name
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.port import ParentMissing, StorageError, write_file


def commit(ports: Ports, owned: OwnedLedger, snapshot: Snapshot) -> OwnedLedger:
    """Write `snapshot` (epoch = owned ledger's next) and make it the table's state.

    State before: newest is `e<N-1>.final`. After: `e<N>.pending` is there, too. A crash in the middle leaves a draft
    that means nothing, or the committed snapshot: the next start's listing tells. `owned` is spent by it: a second call
    is refused before it changes anything; after an AmbiguousOutcome start again at R2.
    Raises Fenced, AmbiguousOutcome, TableError.
    """
    if owned.pending or snapshot.epoch != owned.next_epoch or snapshot.generation != owned.generation.number:
        raise ValueError(f"epoch {snapshot.epoch} does not follow {owned.state_path}")
    owned.spend()
    data = encode(snapshot)
    draft = _write_draft(ports, owned, snapshot.epoch, data)
    _rename_to_pending(ports=ports, owned=owned, epoch=snapshot.epoch, draft=draft, data=data)
    return owned.committed(written(snapshot, data))


def _write_draft(ports: Ports, owned: OwnedLedger, epoch: int, data: bytes) -> str:
    """C1. Every try uses a fresh name; a half-written draft is never touched again."""
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
    """C2, the commit point. Any answer but OK is settled by what the directory shows, or is R0."""
    pending = owned.snapshot_path(epoch, SnapshotState.PENDING)

    def attempt() -> Answer:
        try:
            ports.files.rename(draft, pending)
        except StorageError as error:
            log.warning("commit %s: %s", pending, error)
            names = {child.name for child in list_own_directory(ports.files, owned)}
            if base_name(pending) in names:
                _must_be_mine(ports, owned, pending, data)
                return Answer.DONE
            if base_name(draft) in names:
                return answer_to(error)
            raise AmbiguousOutcome(
                "ledger.draft_vanished", f"{draft} is gone and {pending} is not there"
            ) from error
        return Answer.DONE

    retry(ports, "commit", pending, attempt)
    log.debug("commit %s epoch %d: done", owned.paths.table, epoch)


def _must_be_mine(ports: Ports, owned: OwnedLedger, pending: str, data: bytes) -> None:
    """What is committed is what was to be committed, byte for byte. Raises Fenced, StateUnknown, AmbiguousOutcome (R0).

    Another commit of this epoch by this process would have to be under way; a new take-over rolls forward what is there.
    """
    try:
        there = ports.files.read(pending)
    except StorageError as error:
        list_own_directory(ports.files, owned)
        raise StateUnknown("ledger.no_answer", f"reading {pending} back: {error}") from error
    if there != data:
        raise AmbiguousOutcome(
            "ledger.other_commit", f"{pending} is there, but holds another snapshot than this one"
        )
