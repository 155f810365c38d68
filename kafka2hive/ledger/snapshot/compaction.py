"""Place data files, and record in the next snapshot which Hive partitions are early, which move, and which are retired. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from kafka2hive.ledger.snapshot.change import Compaction, PlaceUpdate
from kafka2hive.model.files import DataFile, FileKind, HivePartition
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
from kafka2hive.model.text import utc_text


class UnitsDoNotFit(ValueError):
    """The units of a compaction do not cover its partitions, or its files do not hold all their rows: a bug, never committed."""


def place_of(
    state: Snapshot, home: HivePartition, closes: str | None, has_files: Callable[[str], bool]
) -> HivePartition:
    """Return a Hive partition with the location where its next data files belong (K1).

    `home` is the partition with its home as location. `closes` is the end of its period, None if it has none or the map does
    not have `compact`. `has_files` says whether readers would see anything in a directory.
    """
    for each in state.early:
        if each.partition.path == home.path:
            return each.partition
    if not home.path or any(each.partition.path == home.path for each in state.moved):
        return home
    if closes is None or closes <= state.closed_through:
        return home
    early = early_place(home.location.removesuffix("/" + home.path), home.path)
    return home if has_files(home.location) or has_files(early) else replace(home, location=early)


def place_file(file: DataFile, places: Mapping[HivePartition, HivePartition]) -> DataFile:
    """Return a staged data file with its final place; `places` is by home. Other kinds of files stay at home."""
    if file.kind is not FileKind.DATA:
        return file
    place = places.get(file.hive_partition, file.hive_partition)
    return replace(file, hive_partition=place, final=join(place.location, base_name(file.final)))


def with_early_partitions(
    before: Snapshot, after: Snapshot, closes: Mapping[str, str], certified: frozenset[HivePartition]
) -> Snapshot:
    """Return `after` with its early partitions; its files, losses and certificates are set already.

    `certified` are the partitions whose certificates of `before` are in place.
    """
    early = {each.partition.path: each for each in before.early}
    for partition in {each.partition for each in before.certificates} - certified:
        if partition.path in early and early[partition.path].partition == partition:
            early[partition.path] = replace(early[partition.path], certified=0)
    for file in after.files:
        # compared whole, because the location of a table may itself end with the name of the directory of early places
        early_now = early_place(after.location, file.hive_partition.path)
        if file.kind is FileKind.DATA and file.hive_partition.location == early_now:
            _add(early, file, after.epoch, closes)
    for loss in after.losses[len(before.losses) :]:
        for path, each in list(early.items()):
            if loss.path.rpartition("/")[0] == each.partition.location:
                early[path] = replace(each, files=each.files - 1, rows=each.rows - loss.rows)
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

    From then on their two places have different rows, so their locations must be watched (K7). They are pending registrations
    again, which R8 may find put back, so the time until they are retired begins anew. `moved` are partitions that were moved
    earlier, also those without `moved` lines.
    """
    filled = {file.hive_partition for file in after.files if file.kind is FileKind.DATA}
    lines = {each.partition: each for each in after.moved}
    for partition in sorted(moved & filled - lines.keys()):
        early = other_place(partition.location, partition.path)
        lines[partition] = MovedPartition(partition=partition, early=early, epoch=after.epoch, late=0)
    late = (
        replace(m, late=after.epoch, right_since="") if m.partition in filled else m for m in lines.values()
    )
    return replace(after, moved=tuple(late))


def may_move(
    state: Snapshot, certified: frozenset[HivePartition], delay_seconds: float = 0.0
) -> tuple[EarlyPartition, ...]:
    """Return the early partitions that are complete and whose registration was not given up.

    A certificate of the newest snapshot must be in place (`certified`), otherwise the next snapshot withdraws it. The table must
    be read through the end of the period. A partition whose files came while nothing was tracked never gets a certificate: for
    it, the table must be read `delay_seconds` (`completion.delay`) further. None may move while nothing is tracked.
    """
    withdrawn = {each.partition for each in state.certificates} - certified
    given_up = {each.partition for each in state.forgotten}
    over = over_partitions(state, delay_seconds)
    return tuple(each for each in over if each.partition not in withdrawn | given_up)


def over_partitions(state: Snapshot, delay_seconds: float = 0.0) -> tuple[EarlyPartition, ...]:
    """Return the early partitions that are not open and whose periods the table is read through, as `may_move` says."""
    if state.tracking is None:
        return ()
    through = state.tracking.through
    is_open = {each.partition.path for each in state.open}
    return tuple(
        each
        for each in state.early
        if (each.closes <= through if each.certified else _has_passed(each.closes, delay_seconds, through))
        and each.partition.path not in is_open
    )


def _has_passed(closes: str, delay_seconds: float, through: str) -> bool:
    if closes == UNKNOWN_END or closes > through:
        return False
    return (
        not delay_seconds or utc_text(datetime.fromisoformat(closes).timestamp() + delay_seconds) <= through
    )


def watched_partitions(state: Snapshot) -> frozenset[HivePartition]:
    """Return the partitions whose locations are compared again and again (K7), pending registrations among them."""
    given_up = {each.partition for each in state.forgotten}
    places: tuple[EarlyPartition | MovedPartition, ...] = (*state.early, *state.moved)
    return frozenset(each.partition for each in places) - given_up


def counted_partitions(state: Snapshot) -> frozenset[HivePartition]:
    """Return the moved partitions whose time until they are retired runs: a look that meets one put back must stop it first."""
    return frozenset(each.partition for each in state.moved if each.right_since)


class NotMoved(ValueError):
    """A draft would retire a partition that has not moved, or whose location was not looked at; a bug, never committed."""


def with_looks(after: Snapshot, change: PlaceUpdate) -> Snapshot:
    """Return `after` with the answers of looks, the partitions that are retired, and without those cleared. Raises NotMoved."""
    if odd := change.retired & change.put_back | change.retired - counted_partitions(after):
        raise NotMoved(f"{after.table}: {min(odd)} cannot be retired")
    moved: list[MovedPartition] = []
    retired = [each for each in after.retired if each.partition not in change.cleared]
    for each in after.moved:
        if each.partition in change.retired:
            retired.append(
                RetiredPartition(
                    partition=each.partition, early=each.early, through=each.epoch, epoch=after.epoch
                )
            )
        elif each.partition in change.put_back:
            moved.append(replace(each, right_since=""))
        elif each.partition in change.right and not each.right_since:
            moved.append(replace(each, right_since=change.right_at))
        else:
            moved.append(each)
    return replace(after, moved=tuple(moved), retired=tuple(retired))


def committed_by(file: DataFile, generation: int, epoch: int) -> DataFile:
    """Return a unit's file with the name that the epoch which commits it gives it (K4).

    Units are written while other epochs commit, so a staged name has an earlier epoch. Raises UnitsDoNotFit if the file is of
    another generation, whose start has deleted it, or of a later epoch.
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
    early = {each.partition.path: each for each in after.early}
    over = over_partitions(after)
    rows = _rows(change.files)
    certificates = []
    for path in sorted({unit.partition.path for unit in change.units}):
        units = [unit for unit in change.units if unit.partition.path == path]
        files = [file for file in change.files if file.hive_partition.path == path]
        each = early.pop(path, None)
        if each not in over:
            raise UnitsDoNotFit(f"{after.table}: {path} is not at an early place, or not complete")
        home = replace(each.partition, location=other_place(each.partition.location, path))
        sums = (sum(unit.sources for unit in units), sum(unit.rows for unit in units))
        if sums != (each.files, each.rows) or any(file.hive_partition != home for file in files):
            raise UnitsDoNotFit(
                f"{after.table}: the units of {path} have {sums[0]} files and {sums[1]} rows,"
                f" its early place {each.files} and {each.rows}"
            )
        if any(rows.pop((path, unit.task), None) != unit.rows for unit in units):
            raise UnitsDoNotFit(f"{after.table}: the files of {path} do not have the rows of its units")
        certificates.append(
            Certificate(
                partition=home,
                since=each.since,
                files=len(files),
                rows=each.rows,
                through=after.tracking.through,
                policy=change.policy,
                success_file=change.success_file,
            )
        )
    if rows:
        raise UnitsDoNotFit(f"{after.table}: files of {min(rows)} belong to no unit")
    moved = tuple(
        MovedPartition(
            partition=each.partition,
            early=other_place(each.partition.location, each.partition.path),
            epoch=after.epoch,
            late=0,
        )
        for each in certificates
    )
    closed = [each.closes for each in after.early if each.partition.path not in early]
    return replace(
        after,
        units=change.units,
        early=tuple(early.values()),
        moved=after.moved + moved,
        certificates=after.certificates + tuple(certificates),
        closed_through=max((after.closed_through, *closed)),
    )


def _rows(files: Iterable[DataFile]) -> dict[tuple[str, int], int]:
    """Return the rows of compacted files by partition path and task."""
    rows: dict[tuple[str, int], int] = {}
    for file in files:
        key = (file.hive_partition.path, file.task)
        rows[key] = rows.get(key, 0) + file.rows
    return rows
