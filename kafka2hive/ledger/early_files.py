"""The files at the two places of a Hive partition (K1), and how early files are cut into units (K3 of docs/protocol.md)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar

from kafka2hive.ledger.owned_ledger import OwnedLedger, list_own_directory
from kafka2hive.ledger.snapshot.change import DataEpoch, Replay
from kafka2hive.ledger.snapshot.compaction import place_file, place_of
from kafka2hive.model.errors import AmbiguousOutcome, TableError
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.paths.path import base_name
from kafka2hive.model.paths.table_directory import (
    DataFileName,
    RetirementName,
    early_place,
    is_early_place,
    ledger_tag,
    other_place,
)
from kafka2hive.model.snapshot import CompactionUnit, EarlyPartition, Snapshot
from kafka2hive.model.text import counted
from kafka2hive.storage.port import FileSystem, StorageError, children

Rows = TypeVar("Rows", DataEpoch, Replay)


@dataclass(frozen=True, slots=True, order=True)
class EarlyFile:
    """A data file at an early place, ordered by epoch, task and uuid."""

    epoch: int
    task: int
    uuid: str
    path: str
    length: int

    @property
    def key(self) -> str:
        """Return the file's place in the order as a string, for `unit` lines."""
        return f"e{self.epoch:06d}-{self.task}-{self.uuid}"


def with_places(files: FileSystem, state: Snapshot, change: Rows, closes: Mapping[str, str]) -> Rows:
    """Return the change with each data file at its home or early place. `closes` has the ends of the periods, by path.

    Only committed files get to the two places of a partition (I4), so the files that are there show where the partition is,
    even if `compact` or the time zone in the map has changed, or the ledger was rebuilt. Raises AmbiguousOutcome.
    """

    @cache
    def visible(directory: str) -> list[str]:
        try:
            return [child.name for child in children(files, directory) if child.is_visible]
        except StorageError as error:
            raise AmbiguousOutcome("ledger.no_answer", f"listing {directory}: {error}") from error

    def has_files(directory: str) -> bool:
        return bool(visible(directory))

    def is_left(early: str) -> bool:
        """Return whether there are early files that were not retired."""
        return has_files(early) and not any(map(RetirementName.parse, visible(early)))

    homes = sorted({file.hive_partition for file in change.files if file.kind is FileKind.DATA})
    places = {home: place_of(state, home, closes.get(home.path), has_files) for home in homes}
    lines = {each.partition for each in state.moved} | {each.partition for each in state.retired}
    stay = [home for home, place in places.items() if place == home and home not in lines]
    moved = frozenset(home for home in stay if home.path and is_left(_early(home)))
    placed = tuple(place_file(file, places) for file in change.files)
    return replace(change, files=placed, closes=closes, moved=moved)


def _early(home: HivePartition) -> str:
    return early_place(home.location.removesuffix("/" + home.path), home.path)


def in_unit(file: DataFile, unit: CompactionUnit) -> bool:
    """Return whether a data file was at the early place of the unit's partition and in its interval."""
    name, _ = DataFileName.parse(base_name(file.final)) or (None, "")
    early = is_early_place(file.hive_partition.location, file.hive_partition.path)
    if name is None or not early or file.kind is not FileKind.DATA:
        return False
    return _order(unit.first) <= (name.epoch, name.task, name.uuid) <= _order(unit.last)


def _order(key: str) -> tuple[int, int, str]:
    epoch, task, uuid = key.split("-")
    return int(epoch[1:]), int(task), uuid


def early_files(files: FileSystem, state: Snapshot, early: EarlyPartition) -> list[EarlyFile]:
    """List the ledger's files at an early place, in order.

    Only committed files get there (I4), so these are all data files of the partition. Raises TableError if their number is not
    the ledger's, because one was deleted or added by hand, or if readers would see anything at its home. Raises StorageError.
    """
    _refuse_visible_home(files, state, early)
    listed: list[EarlyFile] = []
    foreign = 0
    lost = {loss.path for loss in state.losses}  # a damaged file may still be there
    for child in children(files, early.partition.location):
        name, kind = DataFileName.parse(child.name) or (None, "")
        if child.path in lost:
            continue
        if name is not None and kind == "final" and name.ledger == ledger_tag(state.ledger_id):
            listed.append(
                EarlyFile(
                    epoch=name.epoch, task=name.task, uuid=name.uuid, path=child.path, length=child.length
                )
            )
        elif child.is_visible:
            foreign += 1  # readers see its rows now, but would not see them at the partition's home
    if len(listed) != early.files or foreign:
        raise TableError(
            "compact.sources",
            f"{early.partition.location} has {len(listed)} files of this ledger and {foreign} others,"
            f" but the ledger names {early.files}",
            f"`kafka2hive verify --table {state.table} -c MAP` names the missing files; nothing was changed",
        )
    return sorted(listed)


def _refuse_visible_home(files: FileSystem, state: Snapshot, early: EarlyPartition) -> None:
    """Raise TableError if readers would see anything at the home of an early partition: the move would add rows to it."""
    home = other_place(early.partition.location, early.partition.path)
    visible = sorted(child.path for child in children(files, home) if child.is_visible)
    if visible:
        raise TableError(
            "compact.home",
            f"{home} must be empty until {early.partition.path} is compacted, but it has {counted(len(visible), 'file')},"
            f" for example {visible[0]}: readers would see more rows than the ledger has",
            "if the ledger was restored from a backup, put the newer one back, or move it away and rebuild it with"
            f" `kafka2hive recover --rebuild-ledger {state.table} -c MAP`; move files away that kafka2hive did not write;"
            " nothing was changed",
        )


def own_early_files(files: FileSystem, owned: OwnedLedger, early: EarlyPartition) -> list[EarlyFile]:
    """List the files as early_files does, for the owner of the ledger.

    After a take-over, files of the next owner look like files added by hand, so a TableError is raised only after the ledger's
    directory shows that this process still owns it. Raises also Fenced, StateUnknown.
    """
    try:
        return early_files(files, owned.state, early)
    except TableError:
        list_own_directory(files, owned)
        raise


def cut(files: Iterable[EarlyFile], target_bytes: int) -> Iterator[tuple[EarlyFile, ...]]:
    """Yield intervals of consecutive files, each of at most `target_bytes`, or of one larger file."""
    unit: list[EarlyFile] = []
    size = 0
    for file in files:
        if unit and size + file.length > target_bytes:
            yield tuple(unit)
            unit, size = [], 0
        unit.append(file)
        size += file.length
    if unit:
        yield tuple(unit)
