"""What is counted of an epoch, as values: the upper layers fill them in, metrics and progress show them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka2hive.model.files import FileMoves


@dataclass(frozen=True, slots=True)
class TableNumbers:
    """One table's part of an epoch. `epoch` is the ledger's number, `records` and `bytes` were read from Kafka.

    `lag_records` are left in Kafka after it; `unregistered` counts Hive partitions not known to be registered, `overdue`
    those of them that were so before this epoch already. `freshness_seconds`: how long records may have waited for
    the table, 0 when nothing more is in Kafka, None when that is not known.
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

    @property
    def files(self) -> int:
        """Files made visible."""
        return self.moves.renamed + self.moves.already_there


@dataclass(frozen=True, slots=True)
class EpochNumbers:
    """One epoch of the service. `seconds` from plan to visible; `phases` (name -> seconds) may overlap.

    `tables` are those that took part, `lag_records` are left in Kafka for all tables, also those that are set aside.
    It had `tasks`, and could have had `most_tasks`.
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
        """Files made visible, all tables."""
        return sum(table.files for table in self.tables)

    @property
    def freshness_seconds(self) -> float | None:
        """The stalest table's freshness, None when no table had a record."""
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
        return Totals(
            epochs=self.epochs + 1,
            records=self.records + epoch.records,
            bytes=self.bytes + epoch.bytes,
            files=self.files + epoch.files,
            dead_letters=self.dead_letters + sum(table.dead_letters for table in epoch.tables),
        )
