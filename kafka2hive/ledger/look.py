"""Read the newest snapshot of a ledger, whoever owns it: rule R3 of docs/protocol.md."""

from collections.abc import Callable
from dataclasses import dataclass

from kafka2hive.ledger.snapshot.codec import SnapshotDamaged, SnapshotNewer, decode
from kafka2hive.model.errors import (
    AmbiguousOutcome,
    ManualActionRequired,
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
from kafka2hive.storage.port import FileStatus, FileSystem, NotFound, StorageError

_READS = 5


class NoLedger(Exception):
    """The table's ledger does not exist below the root; only init creates a ledger."""


@dataclass(frozen=True, slots=True)
class NewestSnapshot:
    """The epoch and the state of the newest snapshot, according to the names of the files."""

    epoch: int
    pending: bool

    @property
    def name(self) -> str:
        return snapshot_name(self.epoch, SnapshotState.PENDING if self.pending else SnapshotState.FINAL)


@dataclass(frozen=True, slots=True)
class View:
    """A table's ledger at the time of the look; its owner may have changed it since."""

    paths: LedgerPaths
    generation: Generation
    newest: NewestSnapshot
    state: Snapshot

    @property
    def directory(self) -> str:
        return self.paths.generation(self.generation)


def look(
    files: FileSystem, paths: LedgerPaths, notice: Callable[[Generation], None] = lambda generation: None
) -> View:
    """Read the newest snapshot. `notice` is called with the generation before that, even if the read then fails.

    Raises NoLedger, ManualActionRequired, AmbiguousOutcome (no answer, or the owner changed during each of five reads).
    """
    try:
        for _ in range(_READS):
            generation = the_generation(files, paths)
            notice(generation)
            directory = paths.generation(generation)
            try:
                newest = newest_snapshot(directory, files.list(directory))
                state = read_state(files, paths, join(directory, newest.name))
                return View(paths, generation, newest, state)
            except NotFound:
                continue
    except StorageError as error:
        raise AmbiguousOutcome("ledger.no_answer", f"reading {paths.table_directory}: {error}") from error
    raise AmbiguousOutcome(
        "ledger.moving", f"{paths.table_directory} changed owners {_READS} times while it was read"
    )


def the_generation(files: FileSystem, paths: LedgerPaths) -> Generation:
    """Return the only generation. Raises NoLedger, ManualActionRequired (zero generations or several), StorageError."""
    try:
        children = files.list(paths.table_directory)
    except NotFound as error:
        raise NoLedger(paths.table_directory) from error
    generations = [g for c in children if c.is_directory and (g := Generation.parse(c.name))]
    if len(generations) != 1:
        raise ManualActionRequired(
            "ledger.generations",
            f"{paths.table_directory}: {len(generations)} generation directories, but a ledger has exactly one",
            "restore the directory by hand from what `hdfs dfs -ls` shows; or, if a reset of this table did not end, finish it:"
            f" `kafka2hive reset --table {paths.table} --move-data -c MAP`, or with `--keep-data` if it began so;"
            " no file was changed",
        )
    return generations[0]


def newest_snapshot(directory: str, children: tuple[FileStatus, ...]) -> NewestSnapshot:
    """Return the highest final snapshot, or the pending one with the next epoch (R3).

    Pending snapshots of lower epochs are junk of delayed RPCs. Raises ManualActionRequired if there is no final snapshot, or
    a pending one that is more than one epoch above it.
    """
    names = [n for c in children if not c.is_directory and (n := parse_snapshot_name(c.name))]
    finals = [epoch for epoch, state in names if state == SnapshotState.FINAL]
    if not finals:
        raise impossible_ledger(directory, "no final snapshot")
    newest = max(finals)
    above = [epoch for epoch, state in names if state == SnapshotState.PENDING and epoch > newest]
    if not above:
        return NewestSnapshot(newest, False)
    if above != [newest + 1]:
        raise impossible_ledger(directory, f"pending snapshots {sorted(above)} above final {newest}")
    return NewestSnapshot(newest + 1, True)


def read_snapshot(files: FileSystem, path: str) -> Snapshot:
    """Read and decode the snapshot at `path`, without a check of its table.

    Raises ManualActionRequired if the snapshot is damaged, has a newer format, or if its epoch differs from that in its
    name; StorageError.
    """
    data = files.read(path)
    try:
        snapshot = decode(data)
    except SnapshotNewer as error:
        remedy = "use the version that wrote it, or a later one (docs/upgrading.md); no file was changed"
        raise ManualActionRequired("ledger.newer", f"{path}: {error}", remedy) from error
    except SnapshotDamaged as error:
        raise ManualActionRequired(
            "ledger.damaged", f"{path}: {error}", "restore the file from a backup; no file was changed"
        ) from error
    name = parse_snapshot_name(base_name(path))
    if name is not None and name[0] != snapshot.epoch:
        raise impossible_ledger(path, f"the snapshot in it is of epoch {snapshot.epoch}")
    return snapshot


def read_state(files: FileSystem, paths: LedgerPaths, path: str) -> Snapshot:
    """Read a snapshot of this table. Raises as `read_snapshot` does, and ManualActionRequired if it is of another table."""
    state = read_snapshot(files, path)
    if state.table != paths.table:
        raise impossible_ledger(path, f"the snapshot in it is of table {state.table}")
    return state


def impossible_ledger(path: str, what: str) -> ManualActionRequired:
    """Return the STOP for a ledger that the protocol cannot produce.

    The remedy can say that no file was changed, because a take-over (R2) before the read has only renamed the directory.
    """
    return ManualActionRequired(
        "ledger.impossible", f"{path}: {what}", "list the path with `hdfs dfs -ls -R`; no file was changed"
    )
