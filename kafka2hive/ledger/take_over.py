"""Taking a table over: rules R2 and R3 of docs/protocol.md. One directory rename fences and claims."""

from collections.abc import Callable, Container
from dataclasses import dataclass, field

from kafka2hive.ledger.owned_ledger import OwnedLedger, fenced
from kafka2hive.ledger.ports import Ports, log
from kafka2hive.ledger.snapshot.codec import SnapshotDamaged, decode
from kafka2hive.model.errors import (
    AmbiguousOutcome,
    Kafka2HiveError,
    ManualActionRequired,
    TableError,
    TakeOverLost,
)
from kafka2hive.model.paths.ledger import (
    Generation,
    LedgerPaths,
    SnapshotState,
    parse_snapshot_name,
    snapshot_name,
)
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.port import Denied, FileStatus, FileSystem, NotFound, StorageError


@dataclass(frozen=True, slots=True)
class Owners:
    """`make` gives `<host>-<pid>-<uuid>` with a fresh uuid at every call; `made` holds every name this process made.

    Full names, not host and process id: another process may have had those. One name per attempt, about 100 bytes.
    """

    make: Callable[[], str]
    made: set[str] = field(default_factory=set)

    def fresh(self) -> str:
        """A name for one attempt, used once, ever. Known from now on: its rename may be carried out at any later time."""
        name = self.make()
        self.made.add(name)
        return name

    def __contains__(self, name: object) -> bool:
        return name in self.made


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest snapshot by names alone."""

    epoch: int
    pending: bool

    @property
    def name(self) -> str:
        return snapshot_name(self.epoch, SnapshotState.PENDING if self.pending else SnapshotState.FINAL)


class NoLedger(Exception):
    """The table has no ledger below the root; only init makes one."""


def the_generation(files: FileSystem, paths: LedgerPaths) -> Generation:
    """The one generation directory. Raises NoLedger, ManualActionRequired (none or several), StorageError."""
    try:
        children = files.list(paths.table_directory)
    except NotFound as error:
        raise NoLedger(paths.table_directory) from error
    found = [g for c in children if c.is_directory and (g := Generation.parse(c.name))]
    if len(found) != 1:
        raise ManualActionRequired(
            "ledger.generations",
            f"{paths.table_directory}: {len(found)} generation directories, always exactly one is there",
            "restore the directory by hand from what `hdfs dfs -ls` shows; or, if a reset of this table did not end,"
            f" `kafka2hive reset --table {paths.table}` again; no file was changed",
        )
    return found[0]


def newest_snapshot(directory: str, children: tuple[FileStatus, ...]) -> Newest:
    """R3: the highest final, or the pending right above it; pendings at or below it are junk of delayed RPCs."""
    names = [n for c in children if not c.is_directory and (n := parse_snapshot_name(c.name))]
    finals = [epoch for epoch, state in names if state == SnapshotState.FINAL]
    if not finals:
        raise _impossible(directory, "no final snapshot")
    newest = max(finals)
    above = [epoch for epoch, state in names if state == SnapshotState.PENDING and epoch > newest]
    if not above:
        return Newest(newest, False)
    if above != [newest + 1]:
        raise _impossible(directory, f"pending snapshots {sorted(above)} above final {newest}")
    return Newest(newest + 1, True)


def read_snapshot(files: FileSystem, path: str) -> Snapshot:
    """Raises ManualActionRequired when it is damaged or another epoch's, StorageError as the port does.

    Whether it is another ledger's, the owner marker tells (marker.py).
    """
    data = files.read(path)
    try:
        snapshot = decode(data)
    except SnapshotDamaged as error:
        raise ManualActionRequired(
            "ledger.damaged", f"{path}: {error}", "restore the file from a backup; no file was changed"
        ) from error
    named = parse_snapshot_name(base_name(path))
    if named is not None and named[0] != snapshot.epoch:
        raise _impossible(path, f"it says epoch {snapshot.epoch}")
    return snapshot


def read_state(files: FileSystem, paths: LedgerPaths, path: str) -> Snapshot:
    """The newest snapshot of this very table. Raises as read_snapshot."""
    state = read_snapshot(files, path)
    if state.table != paths.table:
        raise _impossible(path, f"it says table {state.table}")
    return state


def take_over(
    ports: Ports,
    paths: LedgerPaths,
    owner: str,
    checked: Generation | None = None,
    own: Container[str] = frozenset(),
) -> OwnedLedger:
    """R2 and R3. `owner` is `<host>-<pid>-<uuid>`, fresh for this very attempt.

    `checked` is the generation that may be taken over; when another name is there now, the start lost, unless an earlier
    attempt of this process made it (`own`): its rename was a delayed RPC, nobody else owns the table.
    State before: one directory of whatever owner. After: one directory of this owner, everything else unchanged.
    A crash in the middle leaves one of the two. Raises NoLedger, TakeOverLost, Fenced, ManualActionRequired,
    AmbiguousOutcome (R0), TableError (permission).
    """
    files = ports.files
    try:
        old = the_generation(files, paths)
    except StorageError as error:
        raise _no_answer(f"listing {paths.table_directory}", error) from error
    if checked is not None and old != checked:
        raise _another(paths, old, own)
    mine = Generation(old.number + 1, _compact(ports.clock.now()), owner)
    directory = paths.generation(mine)
    refused: StorageError | None = None
    try:
        files.rename(paths.generation(old), directory)
    except StorageError as error:
        refused = error
    log.debug("take over %s: %s -> %s: %s", paths.table, old.name, mine.name, refused or "done")
    try:
        children = files.list(directory)
    except NotFound:
        raise _why_not_mine(files=files, paths=paths, old=old, refused=refused, own=own) from refused
    except StorageError as error:
        raise _no_answer(f"listing {directory}", error) from error
    newest = newest_snapshot(directory, children)
    path = join(directory, newest.name)
    try:
        state = read_state(files, paths, path)
    except NotFound as error:
        raise fenced(paths, mine) from error
    except StorageError as error:
        raise _no_answer(f"reading {path}", error) from error
    return OwnedLedger(paths, mine, state, newest.pending)


def _why_not_mine(
    files: FileSystem, paths: LedgerPaths, old: Generation, refused: StorageError | None, own: Container[str]
) -> Kafka2HiveError:
    """R3, this attempt's name is missing: another's is there = lost; the old one = the rename's own error, or R0."""
    try:
        present = the_generation(files, paths)
    except NoLedger as error:
        return _impossible(str(error), "the table's ledger vanished during the take-over")
    except StorageError as error:
        return _no_answer(f"listing {paths.table_directory}", error)
    if present != old:
        return _another(paths, present, own)
    if isinstance(refused, Denied):
        remedy = refused.remedy or "grant write permission on it"
        return TableError("storage.denied", f"take over {paths.table}: {refused}", remedy)
    return AmbiguousOutcome(
        "ledger.not_taken", f"take over {paths.table}: {refused or 'the directory did not move'}"
    )


def _another(paths: LedgerPaths, present: Generation, own: Container[str]) -> Kafka2HiveError:
    """Another name than expected: LOST when another process made it, R0 when an earlier attempt of this one did."""
    if present.owner in own:
        return AmbiguousOutcome(
            "ledger.late_take_over",
            f"{paths.generation(present)}: an earlier attempt of this process took {paths.table} over, late",
        )
    return TakeOverLost(
        "ledger.lost", f"{paths.table} was taken over by {present.owner} ({present.name}) first"
    )


def _no_answer(what: str, error: StorageError) -> Kafka2HiveError:
    if isinstance(error, Denied):
        return TableError("storage.denied", f"{what}: {error}", error.remedy or "grant the permission")
    return AmbiguousOutcome("ledger.no_answer", f"{what}: {error}")


def _impossible(path: str, what: str) -> ManualActionRequired:
    """R2 may have renamed the directory by then, which changes no file."""
    return ManualActionRequired(
        "ledger.impossible", f"{path}: {what}", "look at it with `hdfs dfs -ls -R`; no file was changed"
    )


def _compact(now: str) -> str:
    """`2026-11-21T07:48:44Z` -> `20261121T074844Z`."""
    return now.replace("-", "").replace(":", "")
