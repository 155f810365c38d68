"""The files of finalised epochs that are not where the ledger says, for `recover --plan`. Only reads."""

from collections.abc import Iterable
from dataclasses import dataclass

from kafka2hive.ledger.history import final_snapshots
from kafka2hive.ledger.look import View
from kafka2hive.ledger.ports import Ports
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.paths.path import base_name, parent
from kafka2hive.model.paths.table_directory import DataFileName, RetirementName, other_place
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.port import FileStatus, children


@dataclass(frozen=True, slots=True)
class PlannedRepair:
    """A lost file, and where `--refetch` would find its rows.

    A compacted file's rows are in `present` early files; those of `missing` early files only Kafka has. Both are 0 for other
    files, whose records Kafka has, and for compacted files of a unit that the ledger does not know.
    """

    file: DataFile
    present: int = 0
    missing: int = 0


def lost_files(ports: Ports, view: View) -> list[DataFile]:
    """Return the missing and damaged files of finalised epochs, with one listing per directory, sorted by path.

    Files that were given up, replayed, retired, or dropped because they expired are not lost. Raises ManualActionRequired,
    StorageError.
    """
    finals = list(final_snapshots(ports.files, view.paths, view.directory))
    gone = {loss.path for loss in view.state.losses}
    gone |= {entry.path for snapshot in (view.state, *finals) for entry in snapshot.replayed}
    expected = [file for snapshot in finals for file in snapshot.files if file.final not in gone]
    dropped = _dropped((view.state, *finals))
    directories = sorted({parent(file.final) for file in expected})
    listings = ports.concurrency.map(lambda directory: children(ports.files, directory), directories)
    found = {directory: _Place(listed) for directory, listed in zip(directories, listings, strict=True)}
    lost = [file for file in expected if _is_lost(file, found[parent(file.final)], dropped)]
    return sorted(lost, key=lambda file: file.final)


class _Place:
    """What is in a directory: the lengths of its files, and which ledgers have retired it."""

    def __init__(self, listed: Iterable[FileStatus]) -> None:
        self.lengths: dict[str, int] = {}
        self.marks: list[RetirementName] = []
        for child in listed:
            self.lengths[child.path] = child.length
            if (mark := RetirementName.parse(child.name)) is not None:
                self.marks.append(mark)


def _is_lost(file: DataFile, place: _Place, dropped: dict[str, int]) -> bool:
    if place.lengths.get(file.final) == file.length:
        return False
    name, _ = DataFileName.parse(base_name(file.final)) or (None, "")
    if name is None:
        return True
    if name.epoch <= dropped.get(file.hive_partition.location, -1):
        return False
    is_retired = any(mark.ledger == name.ledger and name.epoch < mark.epoch for mark in place.marks)
    return not (file.kind is FileKind.DATA and is_retired)


def _dropped(snapshots: Iterable[Snapshot]) -> dict[str, int]:
    """Return the newest epoch whose files have expired, by place of a dropped partition (E4)."""
    return {
        place: line.epoch
        for snapshot in snapshots
        for line in snapshot.dropped
        for place in (line.partition.location, other_place(line.partition.location, line.partition.path))
    }
