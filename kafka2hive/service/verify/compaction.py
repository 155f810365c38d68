"""The audit of early partitions, units and moves, counted anew from file lines. Pure."""

from collections.abc import Iterator
from dataclasses import replace

from kafka2hive.ledger.snapshot.change import MOST_MOVED
from kafka2hive.model.files import FileKind, HivePartition
from kafka2hive.model.paths.table_directory import early_place, other_place
from kafka2hive.model.snapshot import MovedPartition, Snapshot
from kafka2hive.service.verify.result import Finding, of_epoch

_CODE = "verify.compaction"


def audit_places(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit what a snapshot says of early and moved partitions against the one before it and its own files."""
    counts = {each.partition: (each.files, each.rows) for each in before.early}
    for file in after.files:
        early_now = early_place(after.location, file.hive_partition.path)
        if file.kind is FileKind.DATA and file.hive_partition.location == early_now:
            files, rows = counts.get(file.hive_partition, (0, 0))
            counts[file.hive_partition] = (files + 1, rows + file.rows)
    for loss in after.losses[len(before.losses) :]:
        for partition, (files, rows) in list(counts.items()):
            if loss.path.rpartition("/")[0] == partition.location:
                counts[partition] = (files - 1, rows - loss.rows)
    counts = {partition: told for partition, told in counts.items() if told[0]}
    moved = list(_moved_before(before, after))
    for home in sorted({unit.partition for unit in after.units}):
        early = next((each for each in counts if _home(each) == home), None)
        units = [unit for unit in after.units if unit.partition == home]
        read = (sum(unit.sources for unit in units), sum(unit.rows for unit in units))
        if early is None or counts.pop(early) != read:
            yield Finding(
                _CODE,
                home.location,
                f"epoch {after.epoch}: its units have {read[0]} files and {read[1]} rows",
            )
            continue
        moved.append(MovedPartition(partition=home, early=early.location, epoch=after.epoch, late=0))
        for unit in units:
            rows = sum(f.rows for f in after.files if (f.hive_partition, f.task) == (home, unit.task))
            if rows != unit.rows:
                text = f"epoch {after.epoch}: unit {unit.task} read {unit.rows} rows, its files hold {rows}"
                yield Finding(_CODE, home.location, text)
    if {each.partition: (each.files, each.rows) for each in after.early} != counts:
        yield of_epoch(after, _CODE, "its early lines do not follow from the epoch before and its files")
    if set(after.moved) != set(_watched(moved) if after.units else moved):
        yield of_epoch(after, _CODE, "its moved lines do not follow from the epoch before and its units")
    if after.closed_through < before.closed_through:
        yield of_epoch(after, _CODE, f"closed through {after.closed_through}, before {before.closed_through}")


def _moved_before(before: Snapshot, after: Snapshot) -> Iterator[MovedPartition]:
    """Yield the moved partitions of `before`, and those that `after` watches again because it has late data of them."""
    filled = {file.hive_partition for file in after.files if file.kind is FileKind.DATA}
    known = {each.partition for each in before.moved}
    again = (each for each in after.moved if each.partition in filled - known)
    for each in (*before.moved, *again):
        if each.partition in filled:
            each = replace(
                each, epoch=each.epoch if each.partition in known else after.epoch, late=after.epoch
            )
        yield each


def _watched(moved: list[MovedPartition]) -> list[MovedPartition]:
    """Return the lines without the oldest of partitions that have no late data."""
    same = [each for each in moved if not each.late]
    ended = same[:-MOST_MOVED]
    return [each for each in moved if each not in ended]


def _home(early: HivePartition) -> HivePartition:
    return replace(early, location=other_place(early.location, early.path))
