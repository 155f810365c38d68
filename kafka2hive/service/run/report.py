"""What an epoch came to, told to whoever watches: the log line, the metrics, Kafka's consumer group."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kafka2hive.model.files import FileMoves, HivePartition
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.run.manifests import Outcome
from kafka2hive.service.shared.table_state import Table


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
    """One epoch of the run. `tables` are all tables of the run, for lag, pending registrations and what is set aside."""

    number: int
    reports: tuple[TableReport, ...]
    tasks_seconds: float
    publish_seconds: float
    tables: tuple[Table, ...]

    @property
    def files(self) -> int:
        return sum(r.moves.created for r in self.reports)

    @property
    def lag_records(self) -> int:
        return sum(t.lag_records for t in self.tables)


Listener = Callable[[EpochReport], None]


@dataclass(frozen=True, slots=True)
class Reporter:
    """Hands each report to every listener, in order."""

    listeners: Sequence[Listener]

    def epoch(self, report: EpochReport) -> None:
        for listener in self.listeners:
            listener(report)
