"""What an epoch came to, told to whoever watches: the log line, the metrics, Kafka's consumer group."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kafka2hive.ledger.promote import MoveCounts
from kafka2hive.model.files import HivePartition
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.run.manifests import Outcome
from kafka2hive.service.shared.table_state import Table

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TableReport:
    """One table's part of a finished epoch; `state` is its new snapshot, `unregistered_before` what Hive did not have by then."""

    table: str
    outcome: Outcome
    moves: MoveCounts
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
    def records(self) -> int:
        return sum(r.outcome.total.read for r in self.reports)

    @property
    def bytes(self) -> int:
        return sum(r.outcome.total.bytes for r in self.reports)

    @property
    def files(self) -> int:
        return sum(r.moves.created for r in self.reports)

    @property
    def lag_records(self) -> int:
        return sum(t.lag_records for t in self.tables)

    @property
    def newest_ms(self) -> int | None:
        """Record time (epoch milliseconds) of the newest record that became visible."""
        return max(
            (r.outcome.newest_ms for r in self.reports if r.outcome.newest_ms is not None), default=None
        )


Listener = Callable[[EpochReport], None]


@dataclass(frozen=True, slots=True)
class Reporter:
    """Hands each report to every listener, in order."""

    listeners: Sequence[Listener]

    def epoch(self, report: EpochReport) -> None:
        for listener in self.listeners:
            listener(report)
