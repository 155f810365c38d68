"""A start of one table: rules R0 to R5 and R9 of docs/protocol.md. `recover` is exactly this; `run` begins with it."""

from collections.abc import Callable
from dataclasses import dataclass

from kafka2hive.ledger.cleanup import clean_up
from kafka2hive.ledger.epoch import roll_forward
from kafka2hive.ledger.marker import claim_location
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.ports import Ports
from kafka2hive.ledger.retry import begin_again
from kafka2hive.ledger.take_over import Owners, take_over
from kafka2hive.model.files import FileMoves
from kafka2hive.model.paths.ledger import Generation, LedgerPaths


@dataclass(frozen=True, slots=True)
class Started:
    """A table taken over, everything pending rolled forward. `orphans_deleted` counts stale snapshots, too."""

    owned: OwnedLedger
    rolled_forward: int | None
    moves: FileMoves
    orphans_deleted: int = 0


@dataclass(frozen=True, slots=True)
class StartOrder:
    """What to start.

    `check` looks at the present state and returns the generation that may be taken over, or raises. `owners` are this
    process's names, the same at every start of it. `location` is the table's directory by the map, None: as the ledger
    says. `keep` final snapshots stay outside the archive.
    `before_roll_forward` hears of each take-over and gives the final addresses that are given up as lost; what it raises
    leaves a pending epoch pending, and so the STOP of a lost file in force.
    """

    paths: LedgerPaths
    check: Callable[[], Generation | None]
    owners: Owners
    location: str | None = None
    keep: int = 10
    before_roll_forward: Callable[[OwnedLedger], frozenset[str]] = lambda _: frozenset()


def start(ports: Ports, order: StartOrder) -> Started:
    """Take over, roll forward, clean up. Safe at any moment, any number of times, against any number of others.

    Raises NoLedger, OwnedByLiveRun (from `check`), TakeOverLost, Fenced, ManualActionRequired, TableError;
    AmbiguousOutcome only after the budget of R0 is spent.
    """
    return begin_again(ports, f"start {order.paths.table}", lambda: _start_once(ports, order))


def _start_once(ports: Ports, order: StartOrder) -> Started:
    owned = take_over(
        ports=ports, paths=order.paths, owner=order.owners.fresh(), checked=order.check(), own=order.owners
    )
    location = order.location or owned.state.location
    claim_location(ports, location, owned.state)
    pending = owned.state.epoch if owned.pending else None
    given_up = order.before_roll_forward(owned)
    published = roll_forward(ports, owned, given_up)
    deleted = clean_up(ports, published.owned, location, order.keep)
    return Started(published.owned, pending, published.moves, deleted)
