"""The files of a compaction unit of which some are lost: what holds their rows, as the ledger knows it. Only reads."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kafka2hive.ledger.early_files import in_unit
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.snapshot import CompactionUnit, Snapshot


class UnitUnknown(ManualActionRequired):
    """The ledger does not name all sources of a compaction unit."""


@dataclass(frozen=True, slots=True)
class DamagedUnit:
    """A compaction unit with `lost` files. Their rows are those of its `sources` without those of the files `left`.

    `sources` are the early files that the unit read, in its order; they may be retired or missing. `left` has the unit's other
    files, also those that an earlier repair wrote. `home` is where all of its files are.
    """

    home: HivePartition
    task: int
    lost: tuple[DataFile, ...]
    left: tuple[DataFile, ...]
    sources: tuple[DataFile, ...]

    @property
    def lost_rows(self) -> int:
        return sum(file.rows for file in self.lost)


def damaged_unit(
    snapshots: Iterable[Snapshot], recorded: frozenset[str], lost: Sequence[DataFile]
) -> DamagedUnit:
    """Return the unit that wrote the `lost` files, which must all be of one unit. `snapshots` come newest first.

    `recorded` has the files that were given up or fetched again before. Raises UnitUnknown if the
    ledger does not name all of the unit's sources, and what reading the snapshots raises.
    """
    home, task = lost[0].hive_partition, lost[0].task
    older = iter(snapshots)
    written: list[DataFile] = []
    unit, sources = _find(older, home, task, written)
    if unit is None or len(sources) != unit.sources:
        named = f"{len(sources)} of {unit.sources} early files" if unit else "no unit that wrote it"
        raise UnitUnknown(
            "refetch.unit_unknown",
            f"{lost[0].final} was compacted, and the ledger names {named}, so it does not say where its rows are",
            "restore the file from a backup",
        )
    gone = recorded | {file.final for file in lost}
    left = {file.final: file for file in written if file.final not in gone}
    return DamagedUnit(
        home=home, task=task, lost=tuple(lost), left=tuple(left.values()), sources=tuple(sources)
    )


def _find(
    older: Iterator[Snapshot], home: HivePartition, task: int, written: list[DataFile]
) -> tuple[CompactionUnit | None, list[DataFile]]:
    """Return the unit and its sources, and add the files that it or a repair wrote to `written`."""
    unit: CompactionUnit | None = None
    lost_before = set[str]()
    sources: dict[str, DataFile] = {}
    for snapshot in older:
        if unit is None:
            written += [f for f in snapshot.files if _is_of(f, home, task)]
            unit = next((u for u in snapshot.units if (u.partition, u.task) == (home, task)), None)
            if unit is None:
                continue
            lost_before = {loss.path for loss in snapshot.losses if loss.epoch < snapshot.epoch}
        for file in snapshot.files:
            if (
                file.hive_partition.path == home.path
                and in_unit(file, unit)
                and file.final not in lost_before
            ):
                sources[file.final] = file
        if len(sources) == unit.sources:
            break
    return unit, sorted(sources.values(), key=lambda file: file.final)


def _is_of(file: DataFile, home: HivePartition, task: int) -> bool:
    return file.kind is FileKind.COMPACTED and (file.hive_partition, file.task) == (home, task)
