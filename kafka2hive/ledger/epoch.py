"""One epoch of one table, from commit to final: the same three steps a start takes with what it finds pending."""

from dataclasses import dataclass

from kafka2hive.ledger.commit import commit
from kafka2hive.ledger.finalise import finalise
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.ports import Ports
from kafka2hive.ledger.promote import MoveCounts, promote
from kafka2hive.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Published:
    """A owned ledger whose state is final, and how its files came there."""

    owned: OwnedLedger
    moves: MoveCounts


def publish_epoch(ports: Ports, owned: OwnedLedger, snapshot: Snapshot) -> Published:
    """C1, C2: commit. Then roll forward. Raises Fenced, ManualActionRequired, AmbiguousOutcome, TableError."""
    return roll_forward(ports, commit(ports, owned, snapshot))


def roll_forward(ports: Ports, owned: OwnedLedger, given_up: frozenset[str] = frozenset()) -> Published:
    """R6 and R7 when the state is pending, nothing when it is final. Also R4 of a start."""
    if not owned.pending:
        return Published(owned, MoveCounts())
    moves = promote(ports, owned, owned.state.files, given_up)
    return Published(finalise(ports, owned), moves)
