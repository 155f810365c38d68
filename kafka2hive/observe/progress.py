"""The numbers of an epoch and of a run, and their log lines: as text and as fields of the same log record."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka2hive.model.files import FileMoves
from kafka2hive.model.text import counted, duration, size

log = logging.getLogger("kafka2hive.progress")


@dataclass(frozen=True, slots=True)
class TableNumbers:
    """One table's part of an epoch. `epoch` is the ledger's number; `records` and `bytes` were read from Kafka.

    `out_of_range` and `late` are parts of `dead_letters`. `lag_records` are left in Kafka after the epoch. `unregistered`
    counts Hive partitions that are not known to be registered; `overdue` counts those of them from before this epoch.
    `freshness_seconds` is how long records may have waited for the table: 0 if Kafka holds no more, None if it is not known.
    """

    table: str
    epoch: int
    records: int
    bytes: int
    dead_letters: int = 0
    moves: FileMoves = field(default_factory=FileMoves)
    unregistered: int = 0
    overdue: int = 0
    lag_records: int = 0
    freshness_seconds: float | None = None
    out_of_range: int = 0
    late: int = 0

    @property
    def files(self) -> int:
        """Return the number of files that became visible."""
        return self.moves.renamed + self.moves.already_there


@dataclass(frozen=True, slots=True)
class EpochNumbers:
    """One epoch of the service, which took `seconds` from its plan to visible files.

    `phases` (name -> seconds) may overlap. `tables` took part; `lag_records` are left in Kafka for all tables, including
    those that are set aside. The epoch had `tasks` Spark tasks of at most `most_tasks`.
    """

    number: int
    seconds: float
    tables: tuple[TableNumbers, ...]
    phases: Mapping[str, float] = field(default_factory=dict)
    set_aside: int = 0
    lag_records: int = 0
    tasks: int = 0
    most_tasks: int = 0

    @property
    def records(self) -> int:
        return sum(table.records for table in self.tables)

    @property
    def bytes(self) -> int:
        return sum(table.bytes for table in self.tables)

    @property
    def files(self) -> int:
        """Return the number of files that became visible, of all tables."""
        return sum(table.files for table in self.tables)

    @property
    def freshness_seconds(self) -> float | None:
        """Return the freshness of the stalest table, None if no table's is known."""
        known = [table.freshness_seconds for table in self.tables if table.freshness_seconds is not None]
        return max(known, default=None)


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums over all epochs of a run."""

    epochs: int = 0
    records: int = 0
    bytes: int = 0
    files: int = 0
    dead_letters: int = 0

    def plus(self, epoch: EpochNumbers) -> "Totals":
        """Return the sums with one more epoch."""
        return Totals(
            epochs=self.epochs + 1,
            records=self.records + epoch.records,
            bytes=self.bytes + epoch.bytes,
            files=self.files + epoch.files,
            dead_letters=self.dead_letters + sum(table.dead_letters for table in epoch.tables),
        )


def log_epoch(epoch: EpochNumbers) -> None:
    """Log the epoch: as a line on a terminal, with its numbers as fields in JSON."""
    log.info("%s", line(epoch), extra={"fields": fields(epoch)})


def line(epoch: EpochNumbers) -> str:
    """Return `epoch 41: 3 tables, 120,000 records, 26.1 MB in 1.9 s (13.7 MB/s), 6 files, lag 0, fresh 2.4 s`."""
    rate = epoch.bytes / epoch.seconds if epoch.seconds > 0 else 0.0
    parts = [
        f"epoch {epoch.number}: {counted(len(epoch.tables), 'table')}",
        counted(epoch.records, "record"),
        f"{size(epoch.bytes)} in {epoch.seconds:.1f} s ({size(rate)}/s)",
        counted(epoch.files, "file"),
        f"lag {epoch.lag_records:,}",
    ]
    if epoch.freshness_seconds is not None:
        parts.append(f"fresh {duration(epoch.freshness_seconds)}")
    dead = sum(table.dead_letters for table in epoch.tables)
    if dead:
        parts.append(counted(dead, "dead letter"))
    overdue = sum(table.overdue for table in epoch.tables)
    if overdue:
        parts.append(f"{counted(overdue, 'partition')} not in Hive yet")
    if epoch.set_aside:
        parts.append(f"{counted(epoch.set_aside, 'table')} SET ASIDE")
    unaccounted = sum(table.moves.unaccounted for table in epoch.tables)
    if unaccounted:
        parts.append(f"{counted(unaccounted, 'file')} UNACCOUNTED FOR")
    return ", ".join(parts)


def total_line(
    totals: Totals, *, seconds: float, lag_records: int | None, unregistered: int, hive: bool, set_aside: int
) -> str:
    """Return `dumped 120,000 records (26.1 MB) into 6 files in 2 epochs and 12.3 s, lag 0`, and the work that is left.

    `hive`: the map has a hive section. `lag_records` None: the lag of some table was never known.
    """
    parts = [
        f"dumped {counted(totals.records, 'record')} ({size(totals.bytes)}) into {counted(totals.files, 'file')}"
        f" in {counted(totals.epochs, 'epoch')} and {duration(seconds)}",
        "lag not known" if lag_records is None else f"lag {lag_records:,}",
    ]
    if totals.dead_letters:
        parts.append(counted(totals.dead_letters, "dead letter"))
    if unregistered and not hive:
        parts.append(manual_registration(unregistered))
    elif unregistered:
        parts.append(
            f"{counted(unregistered, 'partition')} NOT REGISTERED in Hive: the next start tries again"
        )
    if set_aside:
        parts.append(f"{counted(set_aside, 'table')} SET ASIDE")
    return ", ".join(parts)


def manual_registration(partitions: int) -> str:
    """Return the note on Hive partitions that kafka2hive will never register."""
    return f"the map names no Hive: {counted(partitions, 'partition')} for you to register"


def fields(epoch: EpochNumbers) -> dict[str, object]:
    """Return the numbers of `line` under stable names."""
    return {
        "event": "epoch",
        "epoch": epoch.number,
        "seconds": round(epoch.seconds, 3),
        "records": epoch.records,
        "bytes": epoch.bytes,
        "files": epoch.files,
        "tasks": epoch.tasks,
        "most_tasks": epoch.most_tasks,
        "lag_records": epoch.lag_records,
        "freshness_seconds": epoch.freshness_seconds,
        "set_aside": epoch.set_aside,
        "phases": {name: round(seconds, 3) for name, seconds in epoch.phases.items()},
        "tables": {
            table.table: {
                "epoch": table.epoch,
                "records": table.records,
                "bytes": table.bytes,
                "files": table.files,
                "dead_letters": table.dead_letters,
                "out_of_range": table.out_of_range,
                "late": table.late,
                "lag_records": table.lag_records,
            }
            for table in epoch.tables
        },
    }
