"""The start of one table: rules R0 to R5 and R9 of docs/protocol.md. `run` begins with it, `recover` does nothing else."""

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
class StartResult:
    """A table that was taken over; `rolled_forward` is its epoch that was pending. Stale snapshots count as orphans."""

    owned: OwnedLedger
    rolled_forward: int | None
    moves: FileMoves
    orphans_deleted: int = 0


@dataclass(frozen=True, slots=True)
class StartRequest:
    """The parameters of a start.

    `check` returns the generation that may be taken over (None: any), or raises. `owners` are this process's names, the same
    object at each of its starts. `location` is the table's directory in the map; None: the one in the ledger. `keep` final
    snapshots stay outside the archive.
    `before_roll_forward` is called after each take-over and returns the final addresses that are given up as lost; if it
    raises, a pending epoch stays pending, and the STOP of a lost file stays in force.
    """

    paths: LedgerPaths
    check: Callable[[], Generation | None]
    owners: Owners
    location: str | None = None
    keep: int = 10
    before_roll_forward: Callable[[OwnedLedger], frozenset[str]] = lambda _: frozenset()


def start(ports: Ports, order: StartRequest) -> StartResult:
    """Take over, roll forward, clean up. It may be repeated after any crash, and run at the same time as other starts.

    Raises NoLedger, OwnedByLiveRun (from `check`), TakeOverLost, Fenced, ManualActionRequired, TableError;
    AmbiguousOutcome only after the budget of R0 is spent.
    """
    return begin_again(ports, f"start {order.paths.table}", lambda: _start_once(ports, order))


def _start_once(ports: Ports, order: StartRequest) -> StartResult:
    owned = take_over(
        ports=ports, paths=order.paths, owner=order.owners.new_name(), checked=order.check(), own=order.owners
    )
    location = order.location or owned.state.location
    claim_location(ports, location, owned.state)
    pending = owned.state.epoch if owned.pending else None
    given_up = order.before_roll_forward(owned)
    published = roll_forward(ports, owned, given_up)
    deleted = clean_up(ports, published.owned, location, order.keep)
    return StartResult(published.owned, pending, published.moves, deleted)
