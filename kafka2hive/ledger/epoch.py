"""One epoch of one table, from commit to final: the same steps a start takes with what it finds pending."""

from dataclasses import dataclass

from kafka2hive.ledger.certify import certify
from kafka2hive.ledger.commit import commit
from kafka2hive.ledger.finalise import finalise
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.ports import Ports
from kafka2hive.ledger.promote import promote
from kafka2hive.ledger.snapshot.change import Change
from kafka2hive.ledger.snapshot.draft import draft
from kafka2hive.model.files import FileMoves


@dataclass(frozen=True, slots=True)
class Published:
    """An owned ledger whose state is final, and how its files came there."""

    owned: OwnedLedger
    moves: FileMoves


def publish(ports: Ports, owned: OwnedLedger, change: Change, service: str | None = None) -> Published:
    """Draft the next snapshot, commit it (C1, C2), then roll forward. `service` None: as the state says.

    Raises OffsetsDoNotJoin, AccountingMismatch, NotOpen (bugs: nothing was written), Fenced, ManualActionRequired,
    AmbiguousOutcome, TableError.
    """
    snapshot = draft(owned, service or owned.state.service, ports.clock.now(), change)
    return roll_forward(ports, commit(ports, owned, snapshot))


def roll_forward(ports: Ports, owned: OwnedLedger, given_up: frozenset[str] = frozenset()) -> Published:
    """R6 and R7 when the state is pending, then R10. Also R4 of a start."""
    if not owned.pending:
        return Published(certify(ports, owned, given_up), FileMoves())
    moves = promote(ports, owned, owned.state.files, given_up)
    final = finalise(ports, owned)
    return Published(certify(ports, final, given_up), moves)
