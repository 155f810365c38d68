"""Place data files, and record in the next snapshot which Hive partitions are early, which move, and which are retired. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from kafka2hive.ledger.snapshot.change import Compaction, PlaceUpdate
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.instant import instant_seconds, last_end_over
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.model.paths.table_directory import DataFileName, early_place, other_place
from kafka2hive.model.snapshot import (
    UNKNOWN_END,
    Certificate,
    EarlyPartition,
    MovedPartition,
    RetiredPartition,
    Snapshot,
)


class UnitsDoNotFit(ValueError):
    """The units of a compaction do not cover its partitions, or its files lack rows: a bug. The draft is never committed."""


def place_of(
    state: Snapshot, home: HivePartition, closes: str | None, has_files: Callable[[str], bool]
) -> HivePartition:
    """Return a Hive partition with the location where its next data files belong (K1).

    `home` is the partition with its home as location. `closes` is the end of its period, None without a period or without
    `compact` in the map. `has_files` says whether readers would see a file in a directory.
    """
    for entry in state.early:
        if entry.partition.path == home.path:
            return entry.partition
    if not home.path or any(entry.partition.path == home.path for entry in state.moved):
        return home
    if closes is None or instant_seconds(closes) <= instant_seconds(state.closed_through):
        return home
    early = early_place(home.location.removesuffix("/" + home.path), home.path)
    return home if has_files(home.location) or has_files(early) else replace(home, location=early)


def place_file(file: DataFile, places: Mapping[HivePartition, HivePartition]) -> DataFile:
    """Return a staged data file with its final place; `places` maps homes to places. Other kinds of files stay at home."""
    if file.kind is not FileKind.DATA:
        return file
    place = places.get(file.hive_partition, file.hive_partition)
    return replace(file, hive_partition=place, final=join(place.location, base_name(file.final)))


def with_early_partitions(
    before: Snapshot, after: Snapshot, closes: Mapping[str, str], certified: frozenset[HivePartition]
) -> Snapshot:
    """Return `after` with its early partitions. Its files, losses and certificates must be set already.

    `certified` are the partitions whose certificates of `before` are in place.
    """
    early = {entry.partition.path: entry for entry in before.early}
    uncertified = {entry.partition for entry in before.certificates} - certified
    for partition in uncertified | set(after.reopened):
        if partition.path in early and early[partition.path].partition == partition:
            early[partition.path] = replace(early[partition.path], certified=0)
    for file in after.files:
        # whole paths are compared, because a table's location may itself end with the name of the early places' directory
        early_now = early_place(after.location, file.hive_partition.path)
        if file.kind is FileKind.DATA and file.hive_partition.location == early_now:
            _add(early, file, after.epoch, closes)
    for loss in after.losses[len(before.losses) :]:
        for path, entry in list(early.items()):
            if loss.path.rpartition("/")[0] == entry.partition.location:
                early[path] = replace(entry, files=entry.files - 1, rows=entry.rows - loss.rows)
                if not early[path].files:
                    del early[path]
    for certificate in after.certificates:
        path = certificate.partition.path
        if path in early and early[path].partition == certificate.partition:
            early[path] = replace(early[path], certified=after.epoch)
    return replace(after, early=tuple(early[path] for path in sorted(early)))


def _add(early: dict[str, EarlyPartition], file: DataFile, epoch: int, closes: Mapping[str, str]) -> None:
    path = file.hive_partition.path
    known = early.get(path) or EarlyPartition(
        partition=file.hive_partition, since=epoch, closes=closes[path], files=0, rows=0, certified=0
    )
    early[path] = replace(known, files=known.files + 1, rows=known.rows + file.rows, certified=0)


def with_late_data(after: Snapshot, moved: frozenset[HivePartition]) -> Snapshot:
    """Return `after`, whose files are set already, with the moved partitions that get data at their homes in this epoch.

    From then on, the two places of such a partition have different rows, so its location must be watched (K7). The partition
    is a pending registration again, and R8 may find its location put back, so the time until it is retired starts again. That
    holds for the compacted files of a repair, too, whose rows both places have. `moved` has all partitions that were ever
    moved, also those without a `moved` line.
    """
    filled = {file.hive_partition for file in after.files if file.kind is FileKind.DATA}
    lines = {entry.partition: entry for entry in after.moved}
    for partition in sorted(moved & filled - lines.keys()):
        early = other_place(partition.location, partition.path)
        lines[partition] = MovedPartition(partition=partition, early=early, epoch=after.epoch, late=0)
    repaired = {file.hive_partition for file in after.files if file.kind is FileKind.COMPACTED}
    late = (
        replace(m, late=after.epoch, right_since="")
        if m.partition in filled
        else replace(m, right_since="")
        if m.partition in repaired
        else m
        for m in lines.values()
    )
    return replace(after, moved=tuple(late))


def may_move(
    state: Snapshot, certified: frozenset[HivePartition], delay_seconds: float = 0.0
) -> tuple[EarlyPartition, ...]:
    """Return the early partitions that are complete and whose registration was not given up.

    The table must be read through the end of the partition's period. If the newest snapshot certifies the partition, the
    certificate must be in place (`certified`), because otherwise the next snapshot withdraws it. A partition whose files came
    while completeness was not tracked never gets a certificate; the table must then be read through `delay_seconds`
    (`completion.delay`) after the end of its period. While completeness is not tracked, no partition may move.
    """
    withdrawn = {entry.partition for entry in state.certificates} - certified
    given_up = {entry.partition for entry in state.forgotten}
    over = over_partitions(state, delay_seconds)
    return tuple(entry for entry in over if entry.partition not in withdrawn | given_up)


def over_partitions(state: Snapshot, delay_seconds: float = 0.0) -> tuple[EarlyPartition, ...]:
    """Return the early partitions that are not open, and through whose period the table is read (see `may_move`)."""
    if state.tracking is None:
        return ()
    through = instant_seconds(state.tracking.through)
    is_open = {entry.partition.path for entry in state.open}
    return tuple(
        entry
        for entry in state.early
        if _is_over(entry, delay_seconds, through) and entry.partition.path not in is_open
    )


def _is_over(early: EarlyPartition, delay_seconds: float, through: int) -> bool:
    if early.certified:  # the delay has passed
        delay_seconds = 0.0
    elif early.closes == UNKNOWN_END:
        return False
    return instant_seconds(early.closes) <= last_end_over(through, delay_seconds)


def watched_partitions(state: Snapshot) -> frozenset[HivePartition]:
    """Return the partitions whose locations in Hive are compared again and again (K7), including pending registrations."""
    given_up = {entry.partition for entry in state.forgotten}
    places: tuple[EarlyPartition | MovedPartition, ...] = (*state.early, *state.moved)
    return frozenset(entry.partition for entry in places) - given_up


def counted_partitions(state: Snapshot) -> frozenset[HivePartition]:
    """Return the moved partitions with a `right_since`: their time until retirement is running.

    If a look finds such a partition's location put back, `right_since` must be dropped before the location is corrected.
    """
    return frozenset(entry.partition for entry in state.moved if entry.right_since)


class NotMoved(ValueError):
    """A draft would retire a partition that has not moved or was not looked at: a bug. The draft is never committed."""


def with_looks(after: Snapshot, change: PlaceUpdate) -> Snapshot:
    """Return `after` with the results of looks and the retired partitions, and without the cleared ones. Raises NotMoved."""
    if odd := change.retired & change.put_back | change.retired - counted_partitions(after):
        raise NotMoved(f"{after.table}: {min(odd)} cannot be retired")
    moved: list[MovedPartition] = []
    retired = [entry for entry in after.retired if entry.partition not in change.cleared]
    for entry in after.moved:
        if entry.partition in change.retired:
            retired.append(
                RetiredPartition(
                    partition=entry.partition, early=entry.early, through=entry.epoch, epoch=after.epoch
                )
            )
        elif entry.partition in change.put_back:
            moved.append(replace(entry, right_since=""))
        elif entry.partition in change.right and not entry.right_since:
            moved.append(replace(entry, right_since=change.right_at))
        else:
            moved.append(entry)
    return replace(after, moved=tuple(moved), retired=tuple(retired))


def committed_by(file: DataFile, generation: int, epoch: int) -> DataFile:
    """Return a unit's file with `epoch` in its final name (K4).

    Units are written while other epochs commit, so the staged name may have an earlier epoch. Raises UnitsDoNotFit if the file
    is of another generation, whose staged files the start has deleted, or of a later epoch.
    """
    parsed = DataFileName.parse(base_name(file.final))
    if parsed is None or parsed[0].generation != generation or parsed[0].epoch > epoch:
        raise UnitsDoNotFit(f"{file.final} is not of generation {generation}, up to epoch {epoch}")
    name = replace(parsed[0], epoch=epoch)
    return replace(file, final=join(file.hive_partition.location, name.in_state("final")))


def with_moves(after: Snapshot, change: Compaction) -> Snapshot:
    """Return `after` with the partitions of the units moved to their homes, and certified there. Raises UnitsDoNotFit."""
    if after.tracking is None:
        raise UnitsDoNotFit(f"{after.table}: complete partitions are not tracked")
    early = {entry.partition.path: entry for entry in after.early}
    over = over_partitions(after)
    rows = _rows(change.files)
    certificates = []
    for path in sorted({unit.partition.path for unit in change.units}):
        units = [unit for unit in change.units if unit.partition.path == path]
        files = [file for file in change.files if file.hive_partition.path == path]
        entry = early.pop(path, None)
        if entry not in over:
            raise UnitsDoNotFit(f"{after.table}: {path} is not at an early place, or not complete")
        home = replace(entry.partition, location=other_place(entry.partition.location, path))
        sums = (sum(unit.sources for unit in units), sum(unit.rows for unit in units))
        if sums != (entry.files, entry.rows) or any(file.hive_partition != home for file in files):
            raise UnitsDoNotFit(
                f"{after.table}: the units of {path} have {sums[0]} files and {sums[1]} rows,"
                f" but its early place has {entry.files} and {entry.rows}"
            )
        if any(rows.pop((path, unit.task), None) != unit.rows for unit in units):
            raise UnitsDoNotFit(f"{after.table}: the files of {path} do not have the rows of its units")
        certificates.append(
            Certificate(
                partition=home,
                since=entry.since,
                files=len(files),
                rows=entry.rows,
                through=after.tracking.through,
                policy=change.policy,
                success_file=change.success_file,
            )
        )
    if rows:
        raise UnitsDoNotFit(f"{after.table}: no unit wrote the files of {min(rows)}")
    moved = tuple(
        MovedPartition(
            partition=entry.partition,
            early=other_place(entry.partition.location, entry.partition.path),
            epoch=after.epoch,
            late=0,
        )
        for entry in certificates
    )
    closed = [entry.closes for entry in after.early if entry.partition.path not in early]
    return replace(
        after,
        units=change.units,
        early=tuple(early.values()),
        moved=after.moved + moved,
        certificates=after.certificates + tuple(certificates),
        closed_through=max((after.closed_through, *closed), key=instant_seconds),
    )


def _rows(files: Iterable[DataFile]) -> dict[tuple[str, int], int]:
    """Return the rows of compacted files by partition path and task."""
    rows: dict[tuple[str, int], int] = {}
    for file in files:
        key = (file.hive_partition.path, file.task)
        rows[key] = rows.get(key, 0) + file.rows
    return rows
