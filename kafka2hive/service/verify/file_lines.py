"""The audit of a file's line against the file's name, its Hive partition, and the offsets of its epoch. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.model.paths.path import base_name, join, parent
from kafka2hive.model.paths.table_directory import DataFileName, early_place, ledger_tag, staging_directory
from kafka2hive.model.snapshot import REBUILT, Snapshot


def file_problem(
    file: DataFile,
    snapshot: Snapshot,
    refetched: Sequence[set[OffsetRange] | None],
    replayed: Sequence[set[OffsetRange] | None],
) -> str | None:
    """Return how a file's line contradicts the file's name, its Hive partition, or the offsets of its epoch; None if it does not.

    `refetched` has the offsets of the files that this epoch gave up. A file with the same offsets replaces such a file
    (`--refetch`); its staging directory is that of the map's location, which may differ from the ledger's. `replayed` has the
    offsets of the dead-letter files that this epoch replayed. A rebuilt ledger lists the files of many epochs.
    """
    parsed = DataFileName.parse(base_name(file.final))
    partition = file.hive_partition
    if parsed is None or parsed[1] != "final":
        return "its name is not that of a committed file of kafka2hive"
    name = parsed[0]
    origin = (name.ledger, name.generation, name.epoch, name.task)
    if snapshot.owner == REBUILT:
        if name.ledger != ledger_tag(snapshot.ledger_id) or name.generation >= snapshot.generation:
            return "its name is not one that this ledger gave before it was rebuilt"
    elif origin != (ledger_tag(snapshot.ledger_id), snapshot.generation, snapshot.epoch, file.task):
        expected = f"generation {snapshot.generation}, task {file.task}"
        return f"its name's ledger, epoch, generation or task differs from its snapshot's ({expected})"
    staging = parent(file.staged) if refetched else staging_directory(snapshot.location)
    staged = name
    if file.kind is FileKind.COMPACTED and (parsed := DataFileName.parse(base_name(file.staged))):
        staged = replace(
            name, epoch=min(name.epoch, parsed[0].epoch)
        )  # units are written during earlier epochs
    if file.staged != join(staging, staged.in_state("pending")):
        return f"its staged path does not match: {file.staged}"
    if parent(file.final) != partition.location:
        return f"it is not in its partition's directory {partition.location}"
    if file.kind is FileKind.DATA:
        home = join(snapshot.location, partition.path) if partition.path else snapshot.location
        places = (home, early_place(snapshot.location, partition.path))
        if partition.table != snapshot.table or partition.location not in places:
            return f"its partition is {partition.table} {partition.path} at {partition.location}"
    elif file.kind is FileKind.COMPACTED:
        has_unit = any(u.task == file.task and u.partition == partition for u in snapshot.units)
        replaces = any(parent(x.path) == partition.location for x in snapshot.losses if x.epoch == name.epoch)
        if file.ranges or not (has_unit or replaces):
            return "it is compacted, but its epoch lacks a unit with its task and partition, and repairs no such file"
        return None  # compacted files have no offsets, because their rows come from early files
    elif partition.table == snapshot.table or not partition.location.endswith(f"/{partition.path}"):
        return f"its partition is {partition.table} {partition.path} at {partition.location}"
    rebuilt = snapshot.owner == REBUILT
    # task numbers repeat in a rebuilt ledger's epochs, so its files may have the ranges of any task
    read = {account.range for account in snapshot.accounts if rebuilt or account.task == file.task}
    if rebuilt:  # if files of a task were missing, its offsets became a gap
        read |= {gap.range for gap in snapshot.gaps}
    ranges = set(file.ranges)
    if ranges not in (*refetched, *replayed) and not (
        ranges and ranges <= read and len(ranges) == len(file.ranges)
    ):
        return "its task did not read the offset ranges in its line"
    return None
