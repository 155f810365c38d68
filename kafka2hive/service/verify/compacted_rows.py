"""`verify --deep` of compacted files: each unit's files must hold exactly the rows of its early files."""

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from kafka2hive.config.keys import TableSettings
from kafka2hive.formats.lines.reader import PlainLines
from kafka2hive.formats.readers import UNREADABLE, open_reader
from kafka2hive.formats.row_hash import row_hashes
from kafka2hive.ledger.early_files import in_unit
from kafka2hive.model.files import DataFile
from kafka2hive.model.paths.data_file import extension_of
from kafka2hive.model.snapshot import CompactionUnit, Snapshot
from kafka2hive.service.verify.result import Finding
from kafka2hive.storage.port import FileSystem, NotFound
from kafka2hive.task.rows import schema_in_files

_BATCH_ROWS = 32_768


def audit_units(
    files: FileSystem, finals: Sequence[Snapshot], lost: Collection[str], settings: TableSettings
) -> list[Finding]:
    """Compare the rows of each unit's sources, as the ledger names them, with those of its files. Raises StorageError.

    A source whose loss was accepted before the unit is none. One that was lost since then, at the place that Hive left, cannot
    be compared any more.
    """
    data = [file for snapshot in finals for file in snapshot.files]
    plain = PlainLines(schema_in_files(settings), settings.writer)
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
            if any(f.final in lost for f in sources):
                continue
            written = [f for f in snapshot.files if (f.hive_partition, f.task) == (unit.partition, unit.task)]
            if problem := _difference(files, unit, sources, written, plain):
                where = f"epoch {snapshot.epoch}, unit {unit.task}"
                findings.append(Finding("verify.compacted", unit.partition.location, f"{where}: {problem}"))
    return findings


def _difference(
    files: FileSystem,
    unit: CompactionUnit,
    sources: Sequence[DataFile],
    written: Sequence[DataFile],
    plain: PlainLines,
) -> str | None:
    """Return how the rows differ, or None."""
    if len(sources) != unit.sources:
        return f"it has {unit.sources} sources, the ledger names {len(sources)} files of its interval"
    try:
        before, after = _sum(files, sources, plain), _sum(files, written, plain)
    except NotFound as error:
        return f"{error} is not there, its rows were not compared"
    except UNREADABLE as error:
        return f"a file cannot be read: {error}"
    if before != after:
        return f"its sources hold {before[0]} rows, its files {after[0]}, and they are not the same rows"
    return None


def _sum(files: FileSystem, of: Iterable[DataFile], plain: PlainLines) -> tuple[int, int]:
    """Return the number of rows and the sum of their hashes."""
    rows, total = 0, 0
    for file in of:
        reader = open_reader(files.read(file.final), extension_of(file.final), plain)
        for batch in reader.batches(reader.schema.names, _BATCH_ROWS):
            hashes = row_hashes(zip(batch.schema.names, batch.columns, strict=True), len(batch))
            rows, total = rows + len(batch), total + int(hashes.sum(dtype=np.uint64))
    return rows, total % (1 << 64)
