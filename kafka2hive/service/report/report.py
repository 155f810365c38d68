"""The contents of `kafka2hive report`: `status` of all tables, and the recorded history of those that need attention most.

This module only reads. Ledgers do not record the lag over time and the phases of an epoch: only a live run knows them, and
gives them to its own page as `run_epochs`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from kafka2hive.kafka.port import Kafka
from kafka2hive.ledger.heartbeat import HeartbeatWatch
from kafka2hive.ledger.history import Letters, final_snapshots
from kafka2hive.ledger.look import View
from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, TopicPartition, merge_ranges
from kafka2hive.model.paths.table_directory import is_early_place
from kafka2hive.model.snapshot import Certificate, Snapshot
from kafka2hive.model.text import unix_seconds
from kafka2hive.service.init.offset_sources import PlacedOffset
from kafka2hive.service.inspect.attention import Attention, attention_of
from kafka2hive.service.inspect.offsets import table_offsets
from kafka2hive.service.inspect.status import StatusResult, TableStatus, status
from kafka2hive.service.process import shown_process
from kafka2hive.service.tables.ledgers import no_answer_about
from kafka2hive.service.tables.run_epoch import RunEpoch
from kafka2hive.service.topics.routes import topic_routes
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import StorageError

if TYPE_CHECKING:
    from kafka2hive.service.inspect.dead_letters import DeadLetterList
    from kafka2hive.service.inspect.plan import TablePlan

MOST_LETTER_FILES = 100
MOST_REASONS = 20


@dataclass(frozen=True, slots=True)
class ReportScope:
    """What a report covers: `tables` (empty means all), and the newest `epochs` epochs of at most `details` of these.

    `with_hive` is true if Hive's tables are compared with the map.
    """

    tables: tuple[str, ...] = ()
    details: int = 20
    epochs: int = 100
    with_hive: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochPoint:
    """One finalised epoch. `age_seconds` is how old the newest record was when the epoch was written; None if unknown.

    The writer's clock and the producers' may differ, so the age may be negative. `taken_over_by` is the process that took
    the table over, in the first epoch of a generation.
    """

    epoch: int
    written_at: str
    files: int
    bytes: int
    account: OffsetAccounting
    age_seconds: float | None
    taken_over_by: str = ""


@dataclass(slots=True)
class PartitionFiles:
    """The data files that the epochs of the report wrote into one Hive partition; lengths are in bytes.

    `early` of the `files` wait for compaction, and compaction wrote `compacted` of them. The early files that it has rewritten
    are not counted, because the compacted ones have their rows.
    """

    path: str
    files: int = 0
    rows: int = 0
    bytes: int = 0
    smallest: int = 0
    largest: int = 0
    early: int = 0
    compacted: int = 0

    def add(self, length: int, rows: int) -> None:
        """Count one file."""
        self.smallest = length if not self.files else min(self.smallest, length)
        self.largest = max(self.largest, length)
        self.files += 1
        self.bytes += length
        self.rows += rows


@dataclass(frozen=True, slots=True)
class Coverage:
    """What became of a topic partition's offsets in the epochs of the report: `ranges`, in order, and their `account`.

    `place` is the table's position next to the ends of Kafka's log. `gaps` has the offsets that were accepted as lost in any
    epoch, also in older ones.
    """

    place: PlacedOffset
    ranges: tuple[OffsetRange, ...]
    account: OffsetAccounting
    gaps: tuple[OffsetRange, ...] = ()


@dataclass(frozen=True, slots=True)
class DatedCertificate:
    """A certificate of a Hive partition, and the time of the epoch that certified it."""

    written_at: str
    certificate: Certificate


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHistory:
    """A table's recorded history: the newest epochs, oldest first, and what they hold.

    `older_epochs` is true if the ledger has more epochs than these. `letters` is None if there are no dead letters;
    `letter_files_left` counts the dead-letter files that were not read. `plan` is None if Hive was not asked. `failures` say
    what could not be read.
    """

    name: str
    epochs: tuple[EpochPoint, ...] = ()
    older_epochs: bool = False
    partitions: tuple[PartitionFiles, ...] = ()
    coverage: tuple[Coverage, ...] = ()
    certificates: tuple[DatedCertificate, ...] = ()
    letters: "DeadLetterList | None" = None
    letter_files_left: int = 0
    plan: "TablePlan | None" = None
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A service at `made_at` (Unix seconds).

    `attention` has every table, the most urgent first, and `tables` the history of the first of them. `drift_failure` says
    why Hive's tables were not compared with the map. `run_epochs` are the last epochs of the live run that made this report,
    oldest first; it is empty if a command made the report.
    """

    service: str
    made_at: float
    scope: ReportScope
    status: StatusResult
    attention: tuple[Attention, ...]
    tables: tuple[TableHistory, ...]
    drift_failure: str = ""
    run_epochs: tuple[RunEpoch, ...] = ()

    def status_of(self, table: str) -> TableStatus | None:
        """Return the status of a table; None if it has no ledger that can be read."""
        return next((one for one in self.status.tables if one.name == table), None)


def report(
    wiring: Wiring,
    kafka: Kafka,
    scope: ReportScope,
    run_epochs: tuple[RunEpoch, ...] = (),
    heartbeats: HeartbeatWatch | None = None,
) -> Report:
    """Read the service's state, and the history of the tables that need attention most.

    `heartbeats`: see `status`. Raises ServiceUnavailable (the file system does not answer), ConfigError (a wanted table is
    unknown). The report names everything else that cannot be read.
    """
    now = wiring.ports.clock.epoch_ms() / 1000
    with wiring.progress.work("read the state of the tables"):
        result = status(wiring, kafka, scope.tables, heartbeats)
    for _, error in result.errors:
        if error.code == "usage.no_such_table":
            raise error
    attention = attention_of(result, now)
    by_name = {table.name: table for table in result.tables}
    worst = [by_name[one.table] for one in attention if one.table in by_name][: scope.details]
    places = _places(wiring, kafka, result, worst)
    plans, drift_failure = (
        _plans(wiring, kafka, worst) if scope.with_hive else ({}, "the page of a live run does not ask it")
    )
    with wiring.progress.work("read the history of tables", tables=len(worst)) as advance:

        def read(table: TableStatus) -> TableHistory:
            history = _details(
                wiring=wiring,
                table=table,
                scope=scope,
                places=places.get(table.name, ()),
                plan=plans.get(table.name),
            )
            advance(tables=1)
            return history

        details = wiring.side_by_side.map(read, worst)
    return Report(
        service=wiring.map.service,
        made_at=now,
        scope=scope,
        status=result,
        attention=attention,
        tables=tuple(details),
        drift_failure=drift_failure,
        run_epochs=run_epochs,
    )


def _places(
    wiring: Wiring, kafka: Kafka, result: StatusResult, tables: Sequence[TableStatus]
) -> dict[str, tuple[PlacedOffset, ...]]:
    """Return each table's positions next to the ends of Kafka's logs, or without them if Kafka does not answer."""
    if tables and result.kafka_error is None:
        try:
            owners = table_offsets(wiring, kafka, [table.name for table in tables]).owners
            return {one.owner: one.offsets for one in owners}
        except Kafka2HiveError:
            pass  # Kafka has stopped answering since `status` asked it; the ledgers still give the positions
    return {
        table.name: tuple(PlacedOffset(p.topic_partition, p.end) for p in table.view.state.positions)
        for table in tables
    }


def _plans(
    wiring: Wiring, kafka: Kafka, tables: Collection[TableStatus]
) -> "tuple[dict[str, TablePlan], str]":
    """Compare Hive's tables with the map's, as `plan` does; also return why that failed, or an empty string.

    A table is left out if the map does not have it, or if Kafka no longer has its topics.
    """
    if wiring.map.hive is None:
        return {}, "the map names no Hive"
    from kafka2hive.service.inspect.plan import plan

    try:
        routes = topic_routes(wiring, kafka.cluster().topics)
        known = {one.name for one in routes.tables} | {one.table for one in routes.conflicts}
        names = [table.name for table in tables if table.name in known]
        if not names:
            return {}, ""
        return {one.table: one for one in plan(wiring, kafka, names).tables}, ""
    except Kafka2HiveError as error:
        return {}, f"[{error.code}] {error.message}"


def _details(
    wiring: Wiring,
    table: TableStatus,
    scope: ReportScope,
    places: Sequence[PlacedOffset],
    plan: "TablePlan | None",
) -> TableHistory:
    """Read one table's history. An error becomes one of its `failures`, and what was read before the error is kept."""
    reading = _HistoryParts(table.view)
    failures: list[str] = []
    letters: DeadLetterList | None = None
    try:
        snapshots = final_snapshots(wiring.ports.files, table.view.paths, table.view.directory)
        for snapshot in islice(snapshots, scope.epochs + 1):
            reading.add(snapshot, is_within=len(reading.epochs) < scope.epochs)
        if reading.letters:
            from kafka2hive.service.inspect.dead_letters import count_letters  # imports pyarrow

            letters = count_letters(wiring, reading.letters[:MOST_LETTER_FILES], MOST_REASONS)
    except StorageError as error:
        failures.append(str(no_answer_about(table.name, error)))
    except Kafka2HiveError as error:
        failures.append(str(error))
    return TableHistory(
        name=table.name,
        epochs=tuple(reversed(reading.epochs)),
        older_epochs=reading.older_epochs,
        partitions=tuple(sorted(reading.partitions.values(), key=lambda one: one.path)),
        coverage=tuple(reading.coverage(place) for place in places),
        certificates=tuple(reversed(reading.certificates)),
        letters=letters,
        letter_files_left=max(len(reading.letters) - MOST_LETTER_FILES, 0),
        plan=plan,
        failures=tuple(failures),
    )


@dataclass(slots=True)
class _HistoryParts:
    """Collects the parts of snapshots that the report needs, newest first: whole snapshots could be too large to keep."""

    view: View
    epochs: list[EpochPoint] = field(default_factory=list)
    older_epochs: bool = False
    partitions: dict[str, PartitionFiles] = field(default_factory=dict)
    certificates: list[DatedCertificate] = field(default_factory=list)
    letters: list[tuple[str, DataFile]] = field(default_factory=list)
    _accounts: dict[TopicPartition, OffsetAccounting] = field(default_factory=dict)
    _ranges: dict[TopicPartition, list[OffsetRange]] = field(default_factory=dict)
    _letter_files: Letters = field(init=False)
    _generation: int | None = None
    _owner: str = ""

    def __post_init__(self) -> None:
        self._letter_files = Letters(self.view.state)

    def add(self, snapshot: Snapshot, *, is_within: bool) -> None:
        """Count one snapshot. One outside the scope (`is_within` False) only shows that the ledger has older epochs."""
        if self.epochs and snapshot.generation != self._generation:
            self.epochs[-1] = replace(self.epochs[-1], taken_over_by=self._owner)
        self._generation, self._owner = snapshot.generation, shown_process(snapshot.owner)
        if not is_within:
            self.older_epochs = True
            return
        self.epochs.append(_point(snapshot))
        self.certificates += [DatedCertificate(snapshot.written_at, one) for one in snapshot.certificates]
        for one in snapshot.accounts:
            place = one.range.topic_partition
            self._accounts[place] = self._accounts.get(place, OffsetAccounting()) + one.account
            self._ranges[place] = merge_ranges([*self._ranges.get(place, ()), one.range])
        self._add_files(snapshot)

    def _add_files(self, snapshot: Snapshot) -> None:
        self.letters += ((self.view.paths.table, file) for file in self._letter_files.add(snapshot))
        lost = {loss.path for loss in self.view.state.losses}
        early = {each.partition.path for each in self.view.state.early}
        for file in snapshot.files:
            path = file.hive_partition.path
            is_early = file.kind is FileKind.DATA and is_early_place(file.hive_partition.location, path)
            if file.kind is FileKind.DEAD_LETTER or file.final in lost or (is_early and path not in early):
                continue
            partition = self.partitions.setdefault(path, PartitionFiles(path))
            partition.add(file.length, file.rows)
            partition.early += is_early
            partition.compacted += file.kind is FileKind.COMPACTED

    def coverage(self, place: PlacedOffset) -> Coverage:
        """Return what became of a topic partition's offsets in the snapshots that were added."""
        at = place.topic_partition
        gaps = [gap.range for gap in self.view.state.gaps if gap.range.topic_partition == at]
        account = self._accounts.get(at, OffsetAccounting())
        return Coverage(place, tuple(self._ranges.get(at, ())), account, tuple(merge_ranges(gaps)))


def _point(snapshot: Snapshot) -> EpochPoint:
    written = unix_seconds(snapshot.written_at)
    newest = snapshot.newest_ms
    return EpochPoint(
        epoch=snapshot.epoch,
        written_at=snapshot.written_at,
        files=len(snapshot.files),
        bytes=sum(file.length for file in snapshot.files),
        account=sum((one.account for one in snapshot.accounts), OffsetAccounting()),
        age_seconds=None if written is None or newest is None else written - newest / 1000,
    )
