"""One epoch of one table, from commit to final: the same three steps a start takes with what it finds pending."""

from dataclasses import dataclass

from kafka2hive.ledger.commit import commit
from kafka2hive.ledger.finalise import finalise
from kafka2hive.ledger.ports import Ports
from kafka2hive.ledger.promote import MoveCounts, promote
from kafka2hive.ledger.tenure import Tenure
from kafka2hive.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Published:
    """A tenure whose state is final, and how its files came there."""

    tenure: Tenure
    moves: MoveCounts


def publish_epoch(ports: Ports, tenure: Tenure, snapshot: Snapshot) -> Published:
    """C1, C2: commit. Then roll forward. Raises Fenced, Stop, Surprise, TableError."""
    return roll_forward(ports, commit(ports, tenure, snapshot))


def roll_forward(ports: Ports, tenure: Tenure, given_up: frozenset[str] = frozenset()) -> Published:
    """R6 and R7 when the state is pending, nothing when it is final. Also R4 of a start."""
    if not tenure.pending:
        return Published(tenure, MoveCounts())
    moves = promote(ports, tenure, tenure.state.files, given_up)
    return Published(finalise(ports, tenure), moves)
