"""Take a table over: rules R2 and R3 of docs/protocol.md. One rename of a directory fences the owner before and claims."""

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
    """The owner names of this process: `make` returns `<host>-<pid>-<uuid>` with a new uuid, `made` holds all of them.

    `made` holds full names, because another process may have had the same host and process id.
    """

    make: Callable[[], str]
    made: set[str] = field(default_factory=set)

    def new_name(self) -> str:
        """Return a name for one attempt. It is in `made` before it is used, because its rename may arrive at any time."""
        name = self.make()
        self.made.add(name)
        return name

    def __contains__(self, name: object) -> bool:
        return name in self.made


@dataclass(frozen=True, slots=True)
class NewestSnapshot:
    """The epoch and the state of the newest snapshot, from the file names."""

    epoch: int
    pending: bool

    @property
    def name(self) -> str:
        return snapshot_name(self.epoch, SnapshotState.PENDING if self.pending else SnapshotState.FINAL)


class NoLedger(Exception):
    """The table has no ledger below the root; only init creates one."""


def the_generation(files: FileSystem, paths: LedgerPaths) -> Generation:
    """Return the only generation. Raises NoLedger, ManualActionRequired (no generation or several), StorageError."""
    try:
        children = files.list(paths.table_directory)
    except NotFound as error:
        raise NoLedger(paths.table_directory) from error
    generations = [g for c in children if c.is_directory and (g := Generation.parse(c.name))]
    if len(generations) != 1:
        raise ManualActionRequired(
            "ledger.generations",
            f"{paths.table_directory}: {len(generations)} generation directories, but a ledger has exactly one",
            "restore the directory by hand from what `hdfs dfs -ls` shows; or, if a reset of this table did not end,"
            f" `kafka2hive reset --table {paths.table}` again; no file was changed",
        )
    return generations[0]


def newest_snapshot(directory: str, children: tuple[FileStatus, ...]) -> NewestSnapshot:
    """Return the highest final, or the pending right above it (R3). Lower pendings are junk of delayed RPCs.

    Raises ManualActionRequired (no final, or other pendings above the highest).
    """
    names = [n for c in children if not c.is_directory and (n := parse_snapshot_name(c.name))]
    finals = [epoch for epoch, state in names if state == SnapshotState.FINAL]
    if not finals:
        raise _impossible(directory, "no final snapshot")
    newest = max(finals)
    above = [epoch for epoch, state in names if state == SnapshotState.PENDING and epoch > newest]
    if not above:
        return NewestSnapshot(newest, False)
    if above != [newest + 1]:
        raise _impossible(directory, f"pending snapshots {sorted(above)} above final {newest}")
    return NewestSnapshot(newest + 1, True)


def read_snapshot(files: FileSystem, path: str) -> Snapshot:
    """Read and decode the snapshot at `path`, whichever table it is of.

    Raises ManualActionRequired if it is damaged or of another epoch than its name, StorageError. The owner marker shows
    whether it belongs to another ledger (marker.py).
    """
    data = files.read(path)
    try:
        snapshot = decode(data)
    except SnapshotDamaged as error:
        raise ManualActionRequired(
            "ledger.damaged", f"{path}: {error}", "restore the file from a backup; no file was changed"
        ) from error
    name = parse_snapshot_name(base_name(path))
    if name is not None and name[0] != snapshot.epoch:
        raise _impossible(path, f"it says epoch {snapshot.epoch}")
    return snapshot


def read_state(files: FileSystem, paths: LedgerPaths, path: str) -> Snapshot:
    """Read a snapshot that must be of this table. Raises as read_snapshot."""
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
    """Rename the generation directory to `owner`'s and read the newest snapshot (R2 and R3).

    `owner` is a new name of `Owners`. `checked` is the generation that may be taken over: if another one is there
    now, the start has lost, unless an earlier attempt of this process made it (its owner is in `own`): then that attempt's
    rename was a delayed RPC, and nobody else owns the table.
    Before: one directory of any owner. After: one directory of this owner, all else unchanged. A crash leaves one of the two.
    Raises NoLedger, TakeOverLost, Fenced, ManualActionRequired, AmbiguousOutcome (R0), TableError (permission).
    """
    files = ports.files
    try:
        old = the_generation(files, paths)
    except StorageError as error:
        raise _no_answer(f"listing {paths.table_directory}", error) from error
    if checked is not None and old != checked:
        raise _other_generation(paths, old, own)
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
        raise _take_over_failure(files=files, paths=paths, old=old, failure=failure, own=own) from failure
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
    files: FileSystem, paths: LedgerPaths, old: Generation, failure: StorageError | None, own: Container[str]
) -> Kafka2HiveError:
    """Return the error of an attempt whose directory is missing (R3).

    If another generation is there, the start has lost; if the old one is, the rename failed, or its answer was lost (R0).
    """
    try:
        present = the_generation(files, paths)
    except NoLedger as error:
        return _impossible(str(error), "the table's ledger vanished during the take-over")
    except StorageError as error:
        return _no_answer(f"listing {paths.table_directory}", error)
    if present != old:
        return _other_generation(paths, present, own)
    if isinstance(failure, Denied):
        remedy = failure.remedy or "grant write permission on it"
        return TableError("storage.denied", f"take over {paths.table}: {failure}", remedy)
    return AmbiguousOutcome(
        "ledger.not_taken", f"take over {paths.table}: {failure or 'the directory did not move'}"
    )


def _other_generation(paths: LedgerPaths, present: Generation, own: Container[str]) -> Kafka2HiveError:
    """Return LOST if another process made `present`, and R0 if an earlier attempt of this process did."""
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
    """Return a STOP. R2 may have renamed the directory before it, which changes no file."""
    return ManualActionRequired(
        "ledger.impossible", f"{path}: {what}", "look at it with `hdfs dfs -ls -R`; no file was changed"
    )


def _compact(now: str) -> str:
    """Convert `2026-11-21T07:48:44Z` to `20261121T074844Z`."""
    return now.replace("-", "").replace(":", "")
