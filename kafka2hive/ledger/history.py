"""Read a ledger's final snapshots, newest first: from the generation directory, then from the archive."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from kafka2hive.ledger.look import View, look, read_snapshot
from kafka2hive.ledger.snapshot.codec import checksum_of
from kafka2hive.model.errors import ManualActionRequired, ServiceUnavailable
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.model.paths.ledger import LedgerPaths, SnapshotState, parse_snapshot_name
from kafka2hive.model.snapshot import REBUILT, EventBounds, Snapshot
from kafka2hive.storage.port import FileStatus, FileSystem, NotFound, children

_MOST_READS = 5


def final_snapshots(
    files: FileSystem, paths: LedgerPaths, directory: str, through: float = math.inf
) -> Iterator[Snapshot]:
    """Yield every final snapshot up to epoch `through` once, newest first, even if a run archives snapshots meanwhile.

    The archive is listed after the generation directory was read, or before if that directory lacks an epoch. The history ends
    with the first snapshot of a rebuilt ledger, which lists all earlier files. Memory does not grow with the snapshots.
    Raises ManualActionRequired (a damaged snapshot, or two that differ for one epoch), StorageError.
    """
    rebuilt: Snapshot | None = None
    for snapshot in _all(files, paths, directory, through):
        if rebuilt is not None and (snapshot.owner, snapshot.generation) != (REBUILT, rebuilt.generation):
            return
        yield snapshot
        rebuilt = snapshot if snapshot.owner == REBUILT else None


def _all(files: FileSystem, paths: LedgerPaths, directory: str, through: float) -> Iterator[Snapshot]:
    yielded: dict[int, str] = {}
    finals = _finals(files, [directory])
    if _are_successive(finals):
        yield from _read(files, finals, yielded, through)
        finals = []
    finals += _finals(files, _archives(files, paths))
    yield from _read(files, _without_junk(finals, yielded), yielded, through)


def _are_successive(finals: list[tuple[int, FileStatus]]) -> bool:
    """Return whether the epochs are successive and no file is empty. Then all snapshots in the archive are older."""
    numbers = sorted(epoch for epoch, file in finals if file.length)
    return (
        bool(finals)
        and len(numbers) == len(finals)
        and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    )


def _finals(files: FileSystem, directories: list[str]) -> list[tuple[int, FileStatus]]:
    """Return epoch and file of every final snapshot, from the file names."""
    finals = []
    for directory in directories:
        for child in files.list(directory):
            parsed = parse_snapshot_name(child.name)
            if parsed and parsed[1] == SnapshotState.FINAL:
                finals.append((parsed[0], child))
    return finals


def _without_junk(
    finals: list[tuple[int, FileStatus]], yielded: Collection[int]
) -> list[tuple[int, FileStatus]]:
    """Leave out empty files of epochs that have a whole file, too: delayed RPCs of a commit create such empty files.

    If the only file of an epoch is empty, it is kept: it is damage, which the reader reports.
    """
    whole = {*yielded, *(epoch for epoch, file in finals if file.length)}
    return [(epoch, file) for epoch, file in finals if file.length or epoch not in whole]


def _read(
    files: FileSystem, finals: list[tuple[int, FileStatus]], yielded: dict[int, str], through: float
) -> Iterator[Snapshot]:
    """Yield the snapshots up to `through`, newest first, without the epochs in `yielded`, which has their checksums.

    Raises as `final_snapshots` does.
    """
    for epoch, file in sorted(finals, key=lambda item: (item[0], item[1].path), reverse=True):
        if epoch > through:
            continue
        snapshot = read_snapshot(files, file.path)
        if epoch not in yielded:
            yielded[epoch] = checksum_of(snapshot)
            yield snapshot
        elif yielded[epoch] != checksum_of(snapshot):
            raise ManualActionRequired(
                "ledger.impossible",
                f"{file.path} differs from another snapshot of epoch {epoch}",
                "find out which of the two is right, and move the other out of the ledger",
            )


def finals_after(
    files: FileSystem, paths: LedgerPaths, directory: str, after: int, most: int
) -> list[Snapshot]:
    """Return the first `most` final snapshots of epochs above `after`, oldest first; the archive is listed only if it is needed.

    Raises ServiceUnavailable if snapshots are archived during each of five reads; ManualActionRequired, StorageError.
    """
    for _ in range(_MOST_READS):
        finals = _finals(files, [directory])
        if after + 1 not in {epoch for epoch, _ in finals}:
            finals += _finals(files, _archives(files, paths))
        by_epoch = {epoch: file.path for epoch, file in finals if epoch > after and file.length}
        try:
            return [read_snapshot(files, by_epoch[epoch]) for epoch in sorted(by_epoch)[:most]]
        except NotFound:
            continue
    raise ServiceUnavailable(
        "ledger.moving",
        f"snapshots of {directory} were archived during each of {_MOST_READS} reads",
        "nothing: it is tried again",
    )


def find_files(
    files: FileSystem, paths: LedgerPaths, directory: str, is_named: Callable[[str], bool]
) -> Iterator[DataFile]:
    """Yield the files for whose final paths `is_named` is true, from the newest snapshot to the oldest.

    Dead-letter files that were replayed are left out. Raises as `final_snapshots` does.
    """
    replayed: set[str] = set()
    for snapshot in final_snapshots(files, paths, directory):
        yield from (f for f in snapshot.files if is_named(f.final) and f.final not in replayed)
        replayed |= {replayed_file.path for replayed_file in snapshot.replayed}


def letter_files(newest: Snapshot, snapshots: Iterable[Snapshot]) -> Iterator[DataFile]:
    """Yield the dead-letter files of `snapshots`, which come newest first; see Letters."""
    letters = Letters(newest)
    for snapshot in snapshots:
        yield from letters.add(snapshot)


class Letters:
    """The dead-letter files of a ledger, each with the bounds of event time that applied when its records were read.

    The caller adds snapshots newest first. They are not kept, so memory grows only with the number of files. `oldest` is the
    epoch of the last added snapshot; `add` ignores snapshots that are not older. Four kinds of files are left out: files of
    epochs above `through`, files that `newest` records as lost, files that `newest` or an added newer snapshot replayed, and
    the `expired` ones, whose partition was dropped.
    """

    def __init__(self, newest: Snapshot, through: float = math.inf) -> None:
        self.oldest = math.inf
        self.expired: list[DataFile] = []
        self._through = through
        self._gone = {loss.path for loss in newest.losses} | {
            replayed_file.path for replayed_file in newest.replayed
        }
        self._dropped = {line.partition.location: line.epoch for line in newest.dropped}
        self._newest_first: list[DataFile] = []
        self._search = BoundsSearch()

    def add(self, snapshot: Snapshot) -> list[DataFile]:
        """Add the next older snapshot, and return its dead-letter files."""
        if snapshot.epoch >= self.oldest:
            return []
        self.oldest = snapshot.epoch
        for line in snapshot.dropped:
            self._dropped.setdefault(line.partition.location, line.epoch)
        every = [
            file
            for file in snapshot.files
            if file.kind is FileKind.DEAD_LETTER
            and file.final not in self._gone
            and snapshot.epoch <= self._through
        ]
        letters = [file for file in every if snapshot.epoch > self._dropped_through(file)]
        self.expired += [file for file in every if snapshot.epoch <= self._dropped_through(file)]
        self._newest_first += letters
        self._search.add(snapshot, letters)
        self._gone |= {replayed_file.path for replayed_file in snapshot.replayed}
        return letters

    def _dropped_through(self, file: DataFile) -> int:
        """Return the newest epoch whose files at this place have expired (E2), -1 if none have."""
        return self._dropped.get(file.hive_partition.location, -1)

    def oldest_first(self) -> Iterator[tuple[DataFile, EventBounds | None]]:
        """Yield the files, once all snapshots were added."""
        for file in reversed(self._newest_first):
            yield file, self._search.bounds.get(file.final)


@dataclass(frozen=True, slots=True)
class ReadFrom:
    """The cluster and the ids of the topics that an epoch read."""

    cluster_id: str
    topic_ids: Mapping[str, str]


class BoundsSearch:
    """Finds the bounds of event time that applied when the records of some files were first read, and where they were read.

    The caller adds snapshots newest first; they are not kept. `bounds` and `origins` have the results so far, by the files'
    final paths. A file may be in a later epoch than the one that read its records, because it replaces a lost file or
    replayed letters. A range may occur in several epochs, because a topic was recreated; the newest of those before the
    file's epoch counts.
    """

    def __init__(self) -> None:
        self.bounds: dict[str, EventBounds | None] = {}
        self.origins: dict[str, ReadFrom] = {}
        self._by_origin: dict[str | OffsetRange, list[str]] = {}
        """The paths of files by the origin to look for in older snapshots: a file of replayed letters, or an account's range."""

    def add(self, snapshot: Snapshot, wanted: Collection[DataFile]) -> None:
        """Add the next older snapshot. The search for its files in `wanted` begins with it."""
        replayed = {replayed_file.task: replayed_file.path for replayed_file in snapshot.replayed}
        names = {file.final for file in wanted}
        for file in snapshot.files:
            paths = self._by_origin.pop(file.final, [])
            if file.final in names:
                paths.append(file.final)
            if paths:
                origin = replayed.get(file.task, file.ranges[0])
                self._by_origin.setdefault(origin, []).extend(paths)
        found: list[str] = []
        for account in snapshot.accounts:
            for path in self._by_origin.pop(account.range, ()):
                self.bounds[path] = snapshot.bounds
                found.append(path)
        if found:
            ids = {each.topic_partition.topic: each.topic_id for each in snapshot.positions}
            self.origins |= dict.fromkeys(found, ReadFrom(snapshot.cluster_id, ids))


def archived_epochs(files: FileSystem, paths: LedgerPaths) -> set[int]:
    """Return the epochs of the snapshots in the archives of all generations that are not empty. Raises StorageError."""
    return {epoch for epoch, file in _finals(files, _archives(files, paths)) if file.length}


def _archives(files: FileSystem, paths: LedgerPaths) -> list[str]:
    return [child.path for child in children(files, paths.archives) if child.is_directory]


@dataclass(frozen=True, slots=True)
class History:
    """All final snapshots, oldest first, and the pending snapshot if there is one, at the time of `view`."""

    view: View
    finals: tuple[Snapshot, ...]
    pending: Snapshot | None

    @property
    def newest(self) -> Snapshot:
        return self.pending or self.finals[-1]

    @property
    def all(self) -> tuple[Snapshot, ...]:
        return self.finals + ((self.pending,) if self.pending else ())


def read_history(files: FileSystem, view: View) -> History:
    """Read all snapshots; start again if the ledger is taken over or snapshots are archived during the read.

    Raises ServiceUnavailable if that happens during each of five reads; StorageError, and what `look` raises.
    """
    for _ in range(_MOST_READS):
        try:
            finals = tuple(final_snapshots(files, view.paths, view.directory))[::-1]
        except NotFound:
            view = look(files, view.paths)
            continue
        pending = view.newest.pending and view.state.epoch > finals[-1].epoch
        return History(view, finals, view.state if pending else None)
    raise ServiceUnavailable(
        "ledger.moving",
        f"{view.directory} was taken over or archived during each of {_MOST_READS} reads",
        "type the same `kafka2hive verify` command again",
    )
