"""The start of one table: rules R0 to R5 and R9 of docs/protocol.md. `run` begins with it, and `recover` consists of it.

The take-over is one rename of the generation directory: it claims the table and fences the earlier owner.
"""

from collections.abc import Callable, Container
from dataclasses import dataclass, field

from kafka2hive.ledger.cleanup import clean_up, delete_beside_pending
from kafka2hive.ledger.epoch import Publication, roll_forward
from kafka2hive.ledger.location import claim_location
from kafka2hive.ledger.look import NoLedger, impossible_ledger, newest_snapshot, read_state, the_generation
from kafka2hive.ledger.owned_ledger import OwnedLedger, fenced
from kafka2hive.ledger.ports import BLOCKED, Ports, begin_again, log
from kafka2hive.model.errors import AmbiguousOutcome, Kafka2HiveError, TableError, TakeOverLost
from kafka2hive.model.files import FileMoves
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.paths.path import join
from kafka2hive.storage.port import Denied, FileSystem, NotFound, StorageError


@dataclass(frozen=True, slots=True)
class Owners:
    """The owner names of this process. `make` returns `<host>-<pid>-<uuid>` with a new uuid; `made` has all names so far.

    Whole names are compared, because another process may have had the same host and process id.
    """

    make: Callable[[], str]
    made: set[str] = field(default_factory=set)

    def new_name(self) -> str:
        """Return a name for one attempt, and add it to `made` first, because the attempt's rename may arrive at any time."""
        name = self.make()
        self.made.add(name)
        return name

    def __contains__(self, name: object) -> bool:
        return name in self.made


@dataclass(frozen=True, slots=True)
class StartRequest:
    """The parameters of a start.

    - `check`: returns the generation that may be taken over (None: any), or raises.
    - `owners`: the names of this process; all its starts share the object.
    - `location`: the table's directory in the map; None: the ledger's location.
    - `keep`: how many final snapshots stay outside the archive.
    - `before_roll_forward`: called after each take-over; returns the final paths of files that are given up as lost. If it
      raises, a pending epoch stays pending; if one of its files is lost, the next start ends in the same STOP.
    """

    paths: LedgerPaths
    check: Callable[[], Generation | None]
    owners: Owners
    location: str | None = None
    keep: int = 10
    before_roll_forward: Callable[[OwnedLedger], frozenset[str]] = lambda _: frozenset()


@dataclass(frozen=True, slots=True)
class StartResult:
    """A table that was taken over. `rolled_forward` is the epoch that was pending, None if there was none.

    `orphans_deleted` counts deleted staged files and stale snapshots.
    """

    owned: OwnedLedger
    rolled_forward: int | None
    moves: FileMoves
    orphans_deleted: int = 0


def start(ports: Ports, request: StartRequest) -> StartResult:
    """Take over, roll forward, clean up. It may be repeated after any crash, and run at the same time as other starts.

    Raises NoLedger, OwnedByLiveRun (from `check`), TakeOverLost, Fenced, ManualActionRequired, TableError; AmbiguousOutcome if
    the tries of R0 are used up.
    """
    return begin_again(ports, f"start {request.paths.table}", lambda: _start_once(ports, request))


def _start_once(ports: Ports, request: StartRequest) -> StartResult:
    owned = take_over(
        ports=ports,
        paths=request.paths,
        owner=request.owners.new_name(),
        checked=request.check(),
        own_names=request.owners,
    )
    location = request.location or owned.state.location
    claim_location(ports, location, owned.state)
    pending = owned.state.epoch if owned.pending else None
    given_up = request.before_roll_forward(owned)
    published = _roll_forward(ports, owned, given_up)
    deleted = clean_up(ports, published.owned, location, request.keep)
    return StartResult(published.owned, pending, published.moves, deleted)


def _roll_forward(ports: Ports, owned: OwnedLedger, given_up: frozenset[str]) -> Publication:
    """Do R4. If a quota or a full disk prevents it, delete the orphans beside the pending epoch's files, and try once more."""
    try:
        return roll_forward(ports, owned, given_up)
    except TableError as error:
        if error.code != BLOCKED or not owned.pending or not delete_beside_pending(ports, owned):
            raise
        log.warning("%s: deleted orphans to make room, and try again: %s", owned.paths.table, error)
    return roll_forward(ports, owned, given_up)


def take_over(
    ports: Ports,
    paths: LedgerPaths,
    owner: str,
    checked: Generation | None = None,
    own_names: Container[str] = frozenset(),
) -> OwnedLedger:
    """Rename the generation directory to `owner`'s and read the newest snapshot (R2 and R3).

    `owner` is a new name of `Owners`. `checked` is the generation that may be taken over. If there is another generation, this
    start has lost to the process that made it; but if an earlier attempt of this process made it by a delayed rename (its
    owner is in `own_names`), the outcome is ambiguous.
    Before: one generation directory, of any owner. After: the same directory under a name of this owner. A crash leaves one
    of the two. Raises NoLedger, TakeOverLost, Fenced, ManualActionRequired, AmbiguousOutcome (R0), TableError (permission).
    """
    files = ports.files
    try:
        old = the_generation(files, paths)
    except StorageError as error:
        raise _no_answer(f"listing {paths.table_directory}", error) from error
    if checked is not None and old != checked:
        raise _other_generation(paths, old, own_names)
    generation = Generation(old.number + 1, _compact(ports.clock.now()), owner)
    directory = paths.generation(generation)
    failure: StorageError | None = None
    try:
        files.rename(paths.generation(old), directory)
    except StorageError as error:
        failure = error
    log.debug("take over %s: %s -> %s: %s", paths.table, old.name, generation.name, failure or "done")
    try:
        children = files.list(directory)
    except NotFound:
        raise _take_over_failure(
            files=files, paths=paths, old=old, failure=failure, own_names=own_names
        ) from failure
    except StorageError as error:
        raise _no_answer(f"listing {directory}", error) from error
    newest = newest_snapshot(directory, children)
    path = join(directory, newest.name)
    try:
        state = read_state(files, paths, path)
    except NotFound as error:
        raise fenced(paths, generation) from error
    except StorageError as error:
        raise _no_answer(f"reading {path}", error) from error
    return OwnedLedger(paths, generation, state, newest.pending)


def _take_over_failure(
    files: FileSystem,
    paths: LedgerPaths,
    old: Generation,
    failure: StorageError | None,
    own_names: Container[str],
) -> Kafka2HiveError:
    """Return the error of an attempt whose new directory is missing (R3).

    If the ledger has a different generation, the start has lost. If it has the old one, the rename failed, or will still be
    done because it was delayed (R0).
    """
    try:
        present = the_generation(files, paths)
    except NoLedger as error:
        return impossible_ledger(str(error), "the table's ledger vanished during the take-over")
    except StorageError as error:
        return _no_answer(f"listing {paths.table_directory}", error)
    if present != old:
        return _other_generation(paths, present, own_names)
    if isinstance(failure, Denied):
        remedy = failure.remedy or "grant write permission on it"
        return TableError("storage.denied", f"take over {paths.table}: {failure}", remedy)
    return AmbiguousOutcome(
        "ledger.not_taken", f"take over {paths.table}: {failure or 'the directory did not move'}"
    )


def _other_generation(paths: LedgerPaths, present: Generation, own_names: Container[str]) -> Kafka2HiveError:
    """Return TakeOverLost if another process made `present`, AmbiguousOutcome if an earlier attempt of this process made it."""
    if present.owner in own_names:
        return AmbiguousOutcome(
            "ledger.late_take_over",
            f"{paths.generation(present)}: the rename of an earlier attempt of this process was delayed, and has now taken"
            f" {paths.table} over",
        )
    return TakeOverLost(
        "ledger.lost", f"{paths.table} was taken over by {present.owner} ({present.name}) first"
    )


def _no_answer(what: str, error: StorageError) -> Kafka2HiveError:
    if isinstance(error, Denied):
        return TableError("storage.denied", f"{what}: {error}", error.remedy or "grant the permission")
    return AmbiguousOutcome("ledger.no_answer", f"{what}: {error}")


def _compact(now: str) -> str:
    """Convert `2026-11-21T07:48:44Z` to `20261121T074844Z`."""
    return now.replace("-", "").replace(":", "")
