"""Finalising: rule R7 of docs/protocol.md. All files are visible, so the snapshot becomes `.final`."""

from kafka2hive.ledger.owned_ledger import OwnedLedger, list_own_directory
from kafka2hive.ledger.ports import Ports, log
from kafka2hive.ledger.retry import Answer, answer_to, retry
from kafka2hive.model.errors import AmbiguousOutcome
from kafka2hive.model.paths.ledger import SnapshotState
from kafka2hive.model.paths.path import base_name
from kafka2hive.storage.port import StorageError


def finalise(ports: Ports, owned: OwnedLedger) -> OwnedLedger:
    """Rename `e<N>.pending` to `e<N>.final`; only then may N+1 be committed.

    A crash before it leaves the epoch pending: the next start promotes again (all already moved) and finalises.
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
                "ledger.pending_vanished", f"neither {pending} nor {final} is there"
            ) from error
        return Answer.DONE

    retry(ports, "finalise", final, attempt)
    log.debug("finalise %s epoch %d: done", owned.paths.table, owned.state.epoch)
    return owned.finalised()
