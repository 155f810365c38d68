"""Write the rows of lost compacted files again: from the early files that are still there, then from Kafka."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from kafka2hive.kafka.port import ClusterView
from kafka2hive.ledger.history import BoundsSearch, final_snapshots
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.promote import FileState, find
from kafka2hive.ledger.repair.compacted import DamagedUnit
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.files import DataFile
from kafka2hive.model.snapshot import AcceptedLoss
from kafka2hive.model.text import counted
from kafka2hive.plan.contract import TaskSettings, UnitAssignment
from kafka2hive.service.recover.refetch import fetch_rows, refuse_other_topic, restore_or_accept
from kafka2hive.storage.port import FileSystem


@dataclass(frozen=True, slots=True)
class UnitSources:
    """Where the rows of a damaged unit are: in the early files that are `present`; those of `missing` ones only in Kafka."""

    present: tuple[DataFile, ...]
    missing: tuple[DataFile, ...]


Rewrite = Callable[[OwnedLedger, DamagedUnit, UnitSources], tuple[DataFile, ...]]
"""Writes the rows of the unit's lost files again, into staged files.

`present` files are read from storage. The rows of `missing` files come from Kafka; if there are none, Kafka is not needed.
"""


def find_sources(
    files: FileSystem, table: str, unit: DamagedUnit, losses: Iterable[AcceptedLoss]
) -> UnitSources:
    """Look for the early files of a unit. Those in `losses` count as missing, even if they are there. Raises StorageError."""
    gone = {loss.path for loss in losses}
    there = {
        file.final
        for file in unit.sources
        if file.final not in gone and find(files, table, file) is FileState.MOVED
    }
    return UnitSources(
        tuple(file for file in unit.sources if file.final in there),
        tuple(file for file in unit.sources if file.final not in there),
    )


def rewrite_unit(
    files: FileSystem,
    owned: OwnedLedger,
    unit: DamagedUnit,
    sources: UnitSources,
    settings: Callable[[str], TaskSettings],
    now_ms: int,
    cluster: Callable[[], ClusterView],
) -> tuple[DataFile, ...]:
    """Stage files with the rows of the unit's lost files, and return them; the caller commits them.

    Sources that are not there are read from Kafka first, into staged files that no snapshot ever names: the next start deletes
    them. Raises ManualActionRequired, TableError (a source cannot be read), StorageError, UnitDiffers.
    """
    from kafka2hive.task.compaction import UnitWriter

    table = owned.paths.table
    task_settings = settings(table)
    fetch = partial(fetch_rows, owned, settings=task_settings, now_ms=now_ms)
    fetched = _fetch_missing(files=files, owned=owned, sources=sources, fetch=fetch, cluster=cluster)
    again = {file.ranges for file in sources.missing}
    # a task's other files are read from Kafka, too, because its records cannot be told apart by file
    paths = [file.final for file in sources.present if file.ranges not in again]
    paths += [file.staged for file in fetched]
    if not paths:
        return ()
    home = unit.home
    assignment = UnitAssignment(
        sources=paths,
        home=home,
        table_location=home.location.removesuffix("/" + home.path),
        ledger_id=owned.state.ledger_id,
        generation=owned.generation.number,
        epoch=owned.next_epoch,
        task=unit.task,
        planned_at_ms=now_ms,
        target_bytes=sum(file.length for file in unit.lost),
    )
    writer = UnitWriter(files, task_settings.tables[table], task_settings.memory_bytes)
    return writer.write_again(assignment, [file.final for file in unit.left])


def _fetch_missing(
    files: FileSystem,
    owned: OwnedLedger,
    sources: UnitSources,
    fetch: Callable[..., tuple[DataFile, ...]],
    cluster: Callable[[], ClusterView],
) -> list[DataFile]:
    """Read the records of the missing early files again, task by task. Raises ManualActionRequired."""
    if not sources.missing:
        return []
    search = BoundsSearch()
    for snapshot in (owned.state, *final_snapshots(files, owned.paths, owned.directory)):
        search.add(snapshot, sources.missing)
    fetched: list[DataFile] = []
    for ranges, missing in {file.ranges: file for file in sources.missing}.items():
        rows = sum(file.rows for file in (*sources.present, *sources.missing) if file.ranges == ranges)
        refuse_other_topic(owned.paths.table, missing, search.origins.get(missing.final), cluster)
        fetched += fetch(missing, bounds=search.bounds.get(missing.final), rows=rows)
    return fetched


def refuse_wrong_rows(unit: DamagedUnit, files: Sequence[DataFile]) -> None:
    """Raise ManualActionRequired unless the files have as many rows as the lost ones."""
    rows = sum(file.rows for file in files)
    if rows != unit.lost_rows:
        raise ManualActionRequired(
            "refetch.rows",
            f"{unit.lost[0].final}: {counted(len(unit.lost), 'lost file')} of its compaction held {unit.lost_rows} rows, but the"
            f" early files and Kafka now give {rows}",
            restore_or_accept(unit.home.table, unit.lost[0]),
        )
