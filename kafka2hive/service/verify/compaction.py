"""The audit of compaction: the snapshots' lines about it, and the rows of compacted files.

`audit_places` is pure: it computes early partitions, units and moves again from the file lines. `audit_units` reads the
files of each unit, which must hold exactly the rows of the unit's early files.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kafka2hive.config.keys import TableSettings
from kafka2hive.ledger.early_files import in_unit
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.instant import instant_seconds
from kafka2hive.model.paths.table_directory import early_place, extension_of, other_place
from kafka2hive.model.snapshot import ACCEPT_LOSS, CompactionUnit, MovedPartition, Snapshot
from kafka2hive.service.verify.files import read_back
from kafka2hive.service.verify.result import Finding, of_epoch
from kafka2hive.storage.port import FileSystem, NotFound

if TYPE_CHECKING:
    from kafka2hive.service.verify.line_forms import LineForms

_CODE = "verify.compaction"
_BATCH_ROWS = 32_768


def audit_places(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit the early and moved lines of `after` against `before` and the files of `after`."""
    counts = {entry.partition: (entry.files, entry.rows) for entry in before.early}
    for file in after.files:
        early_now = early_place(after.location, file.hive_partition.path)
        if file.kind is FileKind.DATA and file.hive_partition.location == early_now:
            files, rows = counts.get(file.hive_partition, (0, 0))
            counts[file.hive_partition] = (files + 1, rows + file.rows)
    for loss in after.losses[len(before.losses) :]:
        for partition, (files, rows) in list(counts.items()):
            if loss.path.rpartition("/")[0] == partition.location:
                counts[partition] = (files - 1, rows - loss.rows)
    counts = {partition: count for partition, count in counts.items() if count[0]}
    moved = list(_moved_before(before, after))
    for home in sorted({unit.partition for unit in after.units}):
        early = next((entry for entry in counts if _home(entry) == home), None)
        units = [unit for unit in after.units if unit.partition == home]
        read = (sum(unit.sources for unit in units), sum(unit.rows for unit in units))
        if early is None or counts.pop(early) != read:
            yield Finding(
                _CODE,
                home.location,
                f"epoch {after.epoch}: its units have read {read[0]} files and {read[1]} rows, but the early place has others",
            )
            continue
        moved.append(MovedPartition(partition=home, early=early.location, epoch=after.epoch, late=0))
        for unit in units:
            rows = sum(f.rows for f in after.files if (f.hive_partition, f.task) == (home, unit.task))
            if rows != unit.rows:
                text = f"epoch {after.epoch}: unit {unit.task} read {unit.rows} rows, its files hold {rows}"
                yield Finding(_CODE, home.location, text)
    if {entry.partition: (entry.files, entry.rows) for entry in after.early} != counts:
        yield of_epoch(after, _CODE, "its early lines do not follow from the epoch before and its files")
    yield from _audit_retired(before, after, {entry.partition: entry for entry in moved})
    if instant_seconds(after.closed_through) < instant_seconds(before.closed_through):
        text = f"closed through {after.closed_through}, but {before.closed_through} in the epoch before"
        yield of_epoch(after, _CODE, text)


def audit_units(
    files: FileSystem, finals: Sequence[Snapshot], lost: Collection[str], settings: TableSettings
) -> list[Finding]:
    """Compare the rows of each unit's sources with the rows of its files. Raises StorageError.

    The ledger names the sources, which are the unit's early files without those whose loss was accepted before the unit.
    `lost` has the paths of files that may be missing. If a source is among them, the unit cannot be compared, and only the
    compacted files' checksums and row counts are checked.
    """
    from kafka2hive.service.verify.line_forms import line_forms  # slow: it loads pyarrow

    data = [file for snapshot in finals for file in snapshot.files]
    lines = line_forms(finals, settings)
    given_up = {loss.path for loss in finals[-1].losses if loss.remedy == ACCEPT_LOSS} if finals else set()
    findings = []
    for snapshot in finals:
        lost_before = {loss.path for loss in snapshot.losses}
        for unit in snapshot.units:
            sources = [
                f
                for f in data
                if f.hive_partition.path == unit.partition.path
                and in_unit(f, unit)
                and f.final not in lost_before
            ]
            written = _files_of(finals, unit)
            if any(f.final in lost for f in sources) or any(f.final in given_up for f in written):
                findings += [
                    entry for f in written if f.final not in lost for entry in read_back(files, f, f.final)
                ]
                continue
            present = [f for f in written if f.final not in lost]
            if problem := _difference(files=files, unit=unit, sources=sources, written=present, lines=lines):
                where = f"epoch {snapshot.epoch}, unit {unit.task}"
                findings.append(Finding("verify.compacted", unit.partition.location, f"{where}: {problem}"))
    return findings


def _files_of(finals: Sequence[Snapshot], unit: CompactionUnit) -> list[DataFile]:
    """Return the files that the unit wrote, and those that repairs wrote for them; a partition moves once."""
    return [
        file
        for snapshot in finals
        for file in snapshot.files
        if file.kind is FileKind.COMPACTED and (file.hive_partition, file.task) == (unit.partition, unit.task)
    ]


def _moved_before(before: Snapshot, after: Snapshot) -> Iterator[MovedPartition]:
    """Yield the moved partitions of `before`, and those that `after` watches again because it has late data for them."""
    filled = {file.hive_partition for file in after.files if file.kind is FileKind.DATA}
    known = {entry.partition for entry in before.moved}
    again = (entry for entry in after.moved if entry.partition in filled - known)
    for entry in (*before.moved, *again):
        if entry.partition in filled:
            entry = replace(
                entry, epoch=entry.epoch if entry.partition in known else after.epoch, late=after.epoch
            )
        yield entry


def _audit_retired(
    before: Snapshot, after: Snapshot, moved: dict[HivePartition, MovedPartition]
) -> Iterator[Finding]:
    """Audit the moved and the retired lines; `moved` has the lines that are expected if this epoch retires nothing."""
    for entry in set(after.retired) - set(before.retired):
        line = moved.pop(entry.partition, None)
        if line is None or not line.right_since or (entry.through, entry.epoch) != (line.epoch, after.epoch):
            text = f"epoch {after.epoch} retires it before a snapshot says that Hive has left the early place"
            yield Finding(_CODE, entry.early, text)
    lines = {entry.partition: replace(entry, right_since="") for entry in after.moved}
    if lines != {home: replace(entry, right_since="") for home, entry in moved.items()}:
        yield of_epoch(after, _CODE, "its moved lines do not follow from the epoch before and its units")


def _home(early: HivePartition) -> HivePartition:
    return replace(early, location=other_place(early.location, early.path))


def _difference(
    files: FileSystem,
    unit: CompactionUnit,
    sources: Sequence[DataFile],
    written: Sequence[DataFile],
    lines: "LineForms",
) -> str | None:
    """Return how the rows of the written files differ from those of the sources, None if they are equal."""
    from kafka2hive.formats.files import UNREADABLE

    if len(sources) != unit.sources:
        return f"it has {unit.sources} sources, but the ledger has {len(sources)} files in its interval"
    try:
        before, after = _sum(files, sources, lines), _sum(files, written, lines)
    except NotFound as error:
        return f"{error} does not exist, so the rows were not compared"
    except UNREADABLE as error:
        return f"a file cannot be read: {error}"
    if before != after:
        return f"its sources hold {before[0]} rows, its files {after[0]}, and the rows differ"
    return None


def _sum(files: FileSystem, data_files: Iterable[DataFile], lines: "LineForms") -> tuple[int, int]:
    """Return the number of rows in the files, and the sum of their hashes."""
    import numpy as np

    from kafka2hive.formats.files import open_reader
    from kafka2hive.formats.row_hash import row_hashes

    rows, total = 0, 0
    for file in data_files:
        reader = open_reader(files.read(file.final), extension_of(file.final), lines.of(file.final))
        for batch in reader.batches(reader.schema.names, _BATCH_ROWS):
            hashes = row_hashes(zip(batch.schema.names, batch.columns, strict=True), len(batch))
            rows, total = rows + len(batch), total + int(hashes.sum(dtype=np.uint64))
    return rows, total % (1 << 64)
