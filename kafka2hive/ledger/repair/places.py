"""The early and moved partitions of a rebuilt ledger, derived from the places of its files. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kafka2hive.ledger.early_files import EarlyFile
from kafka2hive.ledger.snapshot.compaction import place_file, place_of, with_early_partitions
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.instant import instant_seconds
from kafka2hive.model.paths.path import base_name, parent
from kafka2hive.model.paths.table_directory import DataFileName, is_early_place, other_place
from kafka2hive.model.snapshot import (
    UNKNOWN_END,
    CompactionUnit,
    EarlyPartition,
    MovedPartition,
    RetiredPartition,
    Snapshot,
)


def placed_staged(
    snapshot: Snapshot, visible: Iterable[DataFile], compacted: Iterable[DataFile], closes: Mapping[str, str]
) -> Snapshot:
    """Return the rebuilt pending snapshot with final places for its staged files, whose footers name only homes.

    A partition's files go to the place of its `visible` files, or to its home if it has `compacted` files. The files of a
    partition without visible files go to the place that a run would choose now.
    """
    visible = list(visible)
    moved = {file.hive_partition.path for file in compacted}
    early = {file.hive_partition.path: file.hive_partition for file in visible if _is_early(file)}
    homes = {file.hive_partition.location for file in visible if not _is_early(file)}
    seen = {file.final for file in visible}
    places = {}
    for file in snapshot.files:
        home = file.hive_partition
        if file.kind is FileKind.DATA and file.final not in seen and home.path not in moved:
            new = place_of(snapshot, home, closes.get(home.path), homes.__contains__)
            places[home] = early.get(home.path, new)
    files = (file if file.final in seen else place_file(file, places) for file in snapshot.files)
    placed = replace(snapshot, files=tuple(files))
    places_now = {file.hive_partition for file in placed.files}
    places_before = {file.hive_partition for file in snapshot.files} - places_now
    unregistered = {*snapshot.unregistered, *places_now} - places_before
    return replace(placed, unregistered=tuple(sorted(unregistered)))


def with_rebuilt_places(
    base: Snapshot,
    closes: Mapping[str, str],
    retired: Mapping[str, int],
    compacted: Sequence[DataFile],
    before: Snapshot | None = None,
) -> Snapshot:
    """Return a rebuilt snapshot with its early and moved partitions, and the visible `compacted` files.

    A partition has moved if its visible compacted files have all rows of its early files. Staged compacted files do not count,
    because their partition is still early. The certificates of early partitions are lost.

    - `closes`: the ends of the partitions' periods by path.
    - `retired`: the epochs of retired early places by path; `base` names the early files there, which may already be deleted.
    - `before`: the rebuilt snapshot before this one, whose early, moved and retired partitions are carried on.

    Raises ManualActionRequired (`rebuild.compacted`: a move was only half promoted; `rebuild.retired`: rows are gone).
    """
    known = {file.hive_partition.path: UNKNOWN_END for file in base.files} | dict(closes)
    if before is not None:
        base = replace(
            base,
            early=before.early,
            moved=before.moved,
            retired=before.retired,
            closed_through=before.closed_through,
        )
    earlier = before or replace(base, early=(), losses=())
    base = with_early_partitions(earlier, base, known, frozenset())
    early = {entry.partition.path: entry for entry in base.early}
    moves, units, written = list[MovedPartition](), list[CompactionUnit](), list[DataFile]()
    for path, files in _files_of_moves(early, retired, compacted).items():
        number = 1 + max((file.task for file in (*base.files, *written)), default=-1)
        written += [replace(file, task=number) for file in files]
        unit, move = _move(base, early.pop(path), number)
        units.append(unit)
        moves.append(move)
    filled = {file.hive_partition for file in base.files if file.kind is FileKind.DATA}
    moved = [replace(m, late=base.epoch) if m.partition in filled else m for m in (*base.moved, *moves)]
    new = [m for m in moved if m.epoch == base.epoch]
    closed = max([base.closed_through, *(known[move.partition.path] for move in new)], key=instant_seconds)
    early_places = {replace(move.partition, location=move.early) for move in new}
    done = [m for m in moved if m.early in retired]
    return replace(
        base,
        files=(*base.files, *written),
        units=tuple(units),
        moved=tuple(m for m in moved if m not in done),
        retired=(
            *base.retired,
            *(
                RetiredPartition(
                    partition=m.partition, early=m.early, through=m.epoch, epoch=retired[m.early]
                )
                for m in done
            ),
        ),
        early=tuple(early[path] for path in sorted(early)),
        closed_through=closed,
        unregistered=tuple(sorted({*base.unregistered, *(m.partition for m in new)} - early_places)),
    )


def _files_of_moves(
    early: Mapping[str, EarlyPartition], retired: Mapping[str, int], compacted: Sequence[DataFile]
) -> dict[str, list[DataFile]]:
    """Return the compacted files of each partition that has moved, by path. Raises ManualActionRequired."""
    gone = {path for path, entry in early.items() if entry.partition.location in retired}
    by_path: dict[str, list[DataFile]] = {
        path: [] for path in sorted({file.hive_partition.path for file in compacted} | gone)
    }
    for file in compacted:
        by_path[file.hive_partition.path].append(file)
    for path, files in by_path.items():
        entry = early.get(path)
        if entry is not None and entry.rows == sum(file.rows for file in files):
            continue
        if entry is not None and path in gone:
            raise ManualActionRequired(
                "rebuild.retired",
                f"{entry.partition.location}: the files there were retired, but the compacted files do not hold all of their"
                " rows",
                "restore the compacted files from a backup; or move away the file moved-*.gz there, which names the retired"
                " files: then their offsets count as not proven; nothing was changed",
            )
        raise ManualActionRequired(
            "rebuild.compacted",
            f"{files[0].final}: the compacted files of {path} do not hold all rows of its early files",
            "move these compacted files away and rebuild again: then the partition counts as early, and its location in"
            " Hive is corrected; nothing was changed",
        )
    return by_path


def _move(base: Snapshot, early: EarlyPartition, task: int) -> tuple[CompactionUnit, MovedPartition]:
    keys = sorted(_order(f) for f in base.files if f.hive_partition == early.partition)
    home = replace(early.partition, location=other_place(early.partition.location, early.partition.path))
    unit = CompactionUnit(
        partition=home,
        task=task,
        first=keys[0].key,
        last=keys[-1].key,
        sources=len(keys),
        rows=early.rows,
    )
    move = MovedPartition(partition=home, early=early.partition.location, epoch=base.epoch, late=0)
    return unit, move


def _order(file: DataFile) -> EarlyFile:
    parsed = DataFileName.parse(base_name(file.final))
    assert parsed is not None, "the rebuild lists only files with such names"
    return EarlyFile(
        epoch=parsed[0].epoch, task=parsed[0].task, uuid=parsed[0].uuid, path=file.final, length=file.length
    )


def _is_early(file: DataFile) -> bool:
    return is_early_place(parent(file.final), file.hive_partition.path)
