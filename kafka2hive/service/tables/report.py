"""Starts, publications and epochs of tables as values, and the Reporter that hands them to its listeners."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from kafka2hive.config.keys import TableSettings
from kafka2hive.model.files import FileMoves, HivePartition
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.containment import Containment
from kafka2hive.service.tables.manifests import Outcome
from kafka2hive.service.tables.table_state import Table


@dataclass(frozen=True, slots=True)
class TableStart:
    """A table was taken over. `moves`: files rolled forward; `unregistered`: partitions to register in Hive."""

    table: str
    settings: TableSettings
    moves: FileMoves
    unregistered: frozenset[HivePartition]


@dataclass(frozen=True, slots=True)
class TablePublication:
    """A snapshot of a table is final: `state`. `unregistered`: partitions to register in Hive."""

    table: str
    moves: FileMoves
    state: Snapshot
    unregistered: frozenset[HivePartition]


@dataclass(frozen=True, slots=True)
class TableReport:
    """One table's part of a published epoch.

    `state` is its new snapshot, `unregistered_before` the partitions that were not registered in Hive before it.
    """

    table: str
    outcome: Outcome
    moves: FileMoves
    state: Snapshot
    unregistered_before: frozenset[HivePartition]


@dataclass(frozen=True, slots=True)
class EpochReport:
    """One epoch of the run. `tables` are all its tables; `tasks` is the number of its tasks, `most_tasks` the limit."""

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
    """Calls the listeners of each kind of report, in order.

    A bug in a listener is logged once. It stops neither the run nor a table, because no record depends on a report.
    """

    epochs: list[Callable[[EpochReport], None]] = field(default_factory=list)
    starts: list[Callable[[TableStart], None]] = field(default_factory=list)
    corrections: list[Callable[[Collection[HivePartition]], None]] = field(default_factory=list)
    compactions: list[Callable[[str, bool], None]] = field(default_factory=list)
    lapses: list[Callable[[Collection[HivePartition]], None]] = field(default_factory=list)
    losses: list[Callable[[str], None]] = field(default_factory=list)
    _containment: Containment = field(default_factory=Containment)

    def _call(self, listener: Callable[..., None], *arguments: object) -> None:
        self._containment.attempt("a report", lambda: listener(*arguments))

    def epoch(self, report: EpochReport) -> None:
        for listener in self.epochs:
            self._call(listener, report)

    def locations_corrected(self, partitions: Collection[HivePartition]) -> None:
        """Report Hive partitions whose locations this run corrected, because somebody had changed them in Hive."""
        for listener in self.corrections:
            self._call(listener, partitions)

    def registrations_lapsed(self, partitions: Collection[HivePartition]) -> None:
        """Report Hive partitions that are registered again, because Hive's table was dropped and created again."""
        for listener in self.lapses:
            self._call(listener, partitions)

    def file_missing(self, table: str) -> None:
        """Report a committed file of the table that is at neither place, so that the table was stopped."""
        for listener in self.losses:
            self._call(listener, table)

    def compaction(self, table: str, *, moved: bool) -> None:
        """Report that a Hive partition of the table was compacted (`moved`), or that compacting it failed."""
        for listener in self.compactions:
            self._call(listener, table, moved)

    def started(self, started: TableStart) -> None:
        for listener in self.starts:
            self._call(listener, started)
