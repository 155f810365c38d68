"""One epoch of one table, from commit to final. A start takes the same steps for a snapshot that is pending."""

from dataclasses import dataclass
from functools import partial

from kafka2hive.ledger.certify import certify
from kafka2hive.ledger.commit import commit
from kafka2hive.ledger.draft import draft
from kafka2hive.ledger.owned_ledger import OwnedLedger, list_own_directory
from kafka2hive.ledger.ports import Ports, log
from kafka2hive.ledger.promote import hide_replayed, promote
from kafka2hive.ledger.retry import Answer, answer_to, retry
from kafka2hive.ledger.snapshot.change import Change
from kafka2hive.model.errors import AmbiguousOutcome
from kafka2hive.model.files import FileMoves
from kafka2hive.model.paths.ledger import SnapshotState
from kafka2hive.model.paths.path import base_name
from kafka2hive.model.paths.table_directory import other_place
from kafka2hive.storage.port import StorageError


def finalise(ports: Ports, owned: OwnedLedger) -> OwnedLedger:
    """Rename `e<N>.pending` to `e<N>.final`, after which N+1 may be committed (R7).

    A crash before it leaves the epoch pending: the next start finds all files moved, and finalises.
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


def anchor(ports: Ports, owned: OwnedLedger) -> None:
    """Create the home of each partition that is early since this epoch, before Hive learns of it (K2).

    MSCK SYNC PARTITIONS drops a partition without a directory at its home. It may be repeated.
    """

    def attempt(home: str) -> Answer:
        try:
            ports.files.mkdirs(home)
        except StorageError as error:
            log.warning("create %s: %s", home, error)
            return answer_to(error)
        return Answer.DONE

    for each in owned.state.early:
        if each.since == owned.state.epoch:
            home = other_place(each.partition.location, each.partition.path)
            retry(ports, "create", home, partial(attempt, home))


@dataclass(frozen=True, slots=True)
class Publication:
    """An owned ledger whose state is final, and how its files were moved."""

    owned: OwnedLedger
    moves: FileMoves


def publish(ports: Ports, owned: OwnedLedger, change: Change, service: str | None = None) -> Publication:
    """Draft the next snapshot, commit it (C1, C2), then roll forward. `service` defaults to the state's.

    Raises OffsetsDoNotJoin, AccountingMismatch, NotOpen (bugs: nothing was written), Fenced, ManualActionRequired,
    AmbiguousOutcome, TableError.
    """
    snapshot = draft(owned, service or owned.state.service, ports.clock.now(), change)
    return roll_forward(ports, commit(ports, owned, snapshot))


def roll_forward(ports: Ports, owned: OwnedLedger, given_up: frozenset[str] = frozenset()) -> Publication:
    """Promote, hide and finalise the state if it is pending (R6, R11, R7), then certify (R10). A start does this as R4.

    Raises Fenced, ManualActionRequired, AmbiguousOutcome, TableError.
    """
    if not owned.pending:
        return Publication(certify(ports, owned, given_up), FileMoves())
    moves = promote(ports, owned, owned.state.files, given_up)
    hide_replayed(ports, owned)
    anchor(ports, owned)
    final = finalise(ports, owned)
    return Publication(certify(ports, final, given_up), moves)
