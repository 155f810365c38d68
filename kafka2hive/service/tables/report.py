"""What became of tables and epochs, as values; reported to the log, the metrics, Kafka's consumer group."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from kafka2hive.config.keys import TableSettings
from kafka2hive.model.files import FileMoves, HivePartition
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.tables.manifests import Outcome
from kafka2hive.service.tables.outages import Watches
from kafka2hive.service.tables.table_state import Table


@dataclass(frozen=True, slots=True)
class TableStarted:
    """A table was taken over. `moves`: what was rolled forward; `unregistered`: what Hive is to be told."""

    table: str
    settings: TableSettings
    moves: FileMoves
    unregistered: frozenset[HivePartition]


@dataclass(frozen=True, slots=True)
class TablePublished:
    """An epoch of a table is final; `state` is its new snapshot, `unregistered` what Hive is to be told."""

    table: str
    moves: FileMoves
    state: Snapshot
    unregistered: frozenset[HivePartition]


@dataclass(frozen=True, slots=True)
class TableReport:
    """One table's part of a finished epoch; `state` is its new snapshot, `unregistered_before` what Hive did not have by then."""

    table: str
    outcome: Outcome
    moves: FileMoves
    state: Snapshot
    unregistered_before: frozenset[HivePartition]


@dataclass(frozen=True, slots=True)
class EpochReport:
    """One epoch of the run. `tables` are all tables of the run, for lag, pending registrations and what is set aside.

    `tasks` of them read it, `most_tasks` it could have had.
    """

    number: int
    reports: tuple[TableReport, ...]
    tasks_seconds: float
    publish_seconds: float
    tables: tuple[Table, ...]
    tasks: int = 0
    most_tasks: int = 0

    @property
    def files(self) -> int:
        return sum(r.moves.created for r in self.reports)

    @property
    def lag_records(self) -> int:
        return sum(t.lag or 0 for t in self.tables)


@dataclass(frozen=True, slots=True)
class Reporter:
    """Hands each report to everybody who hears of it, in order."""

    epochs: list[Callable[[EpochReport], None]] = field(default_factory=list)
    starts: list[Callable[[TableStarted], None]] = field(default_factory=list)
    outages: list[Watches] = field(default_factory=list)

    def epoch(self, report: EpochReport) -> None:
        for listener in self.epochs:
            listener(report)

    def outage(self, away: Mapping[str, str], tables: Collection[Table]) -> None:
        """`away`: services that do not answer, with the reason; none when all do."""
        for listener in self.outages:
            listener(away, tables)

    def started(self, started: TableStarted) -> None:
        for listener in self.starts:
            listener(started)
