"""Create the ledgers of the map's tables for `kafka2hive init`; a run creates the ledger of a new table by the same code."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from kafka2hive.config.route import RouteConflict
from kafka2hive.kafka.port import Kafka
from kafka2hive.kafka.positions import Logs
from kafka2hive.kafka.problems import unknown_topics
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.look import NoLedger, look
from kafka2hive.ledger.snapshot.change import FirstPositions
from kafka2hive.ledger.start import StartRequest, start
from kafka2hive.model.errors import ConfigError, ExitCode, Kafka2HiveError, ManualActionRequired, TableError
from kafka2hive.model.offsets import Position
from kafka2hive.model.snapshot import IMPORTED_START, Snapshot
from kafka2hive.service.init.offset_sources import (
    ForeignOffsets,
    OffsetSource,
    PlacedOffset,
    place_offsets,
    read_offsets,
)
from kafka2hive.service.start.lost_ledger import LostLedgerCheck, begin_ledger
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.topics.kafka_view import logs_of
from kafka2hive.service.topics.routes import tell_missing, topic_routes
from kafka2hive.service.wiring import Wiring


class InitOutcome(Enum):
    """The outcome of `init` for one table."""

    MADE = "made"
    IMPORTED = "positions imported"
    PLANNED = "would import positions"
    EXISTS = "already there"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class InitTable:
    """The outcome of `init` for one table: `error` is set if FAILED, `positions` if IMPORTED or PLANNED."""

    table: str
    directory: str
    outcome: InitOutcome
    error: Kafka2HiveError | None = None
    positions: tuple[PlacedOffset, ...] = ()


@dataclass(frozen=True, slots=True)
class InitResult:
    """The outcomes for all tables of the map, given Kafka's present topics."""

    tables: tuple[InitTable, ...]

    @property
    def exit_code(self) -> ExitCode:
        """The exit code: STOP if any table needs manual action, otherwise the exit code of the first error."""
        errors = [table.error for table in self.tables if table.error is not None]
        if any(isinstance(error, ManualActionRequired) for error in errors):
            return ExitCode.STOP
        return errors[0].exit_code if errors else ExitCode.DONE


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """The source of the first positions; with `plan_only` nothing is changed."""

    source: OffsetSource
    plan_only: bool = False


def import_positions(wiring: Wiring, kafka: Kafka, request: ImportRequest) -> InitResult:
    """Create each table's ledger with the positions that another tool left.

    A table that already has positions is refused. A crash leaves some tables with positions; a second call gives positions to
    the others. Raises ConfigError (the source), ServiceUnavailable.
    """
    cluster = kafka.cluster()
    routes = topic_routes(wiring, cluster.topics)
    tell_missing(routes.tables)
    topics = sorted({topic for table in routes.tables for topic in table.topics})
    foreign = read_offsets(request.source, wiring, kafka, cluster.topic_partitions(topics))
    logs = logs_of(kafka, cluster, topics)
    importer = _Import(
        wiring=wiring,
        foreign=foreign,
        logs=logs,
        tables=routes.tables,
        lost_ledger=LostLedgerCheck(kafka, wiring.map.kafka.committed_group, wiring),
        plan_only=request.plan_only,
    )
    return InitResult((*map(importer.of, routes.tables), *_conflict_outcomes(wiring, routes.conflicts)))


@dataclass(frozen=True, slots=True)
class _Import:
    """Gives tables their first positions, one after another."""

    wiring: Wiring
    foreign: ForeignOffsets
    logs: Logs
    tables: Collection[MapTable]
    lost_ledger: LostLedgerCheck
    plan_only: bool

    def of(self, table: MapTable) -> InitTable:
        directory = table.paths.table_directory
        try:
            if table.missing:
                raise unknown_topics(table.name, table.missing)
            state = self._state(table)
            if state is not None and state.positions:
                raise ConfigError(
                    "offsets.not_first",
                    f"{table.name} already has positions: only a table without positions can take those of another tool",
                    f"`kafka2hive reset --table {table.name} --move-data -c MAP` starts the table over",
                )
            topic_partitions = self.logs.cluster.topic_partitions(table.topics)
            positions = place_offsets(self.foreign, self.logs, topic_partitions)
            if not self.plan_only:
                self._commit(table, positions, is_new=state is None)
        except Kafka2HiveError as error:
            return InitTable(table.name, directory, InitOutcome.FAILED, error)
        outcome = InitOutcome.PLANNED if self.plan_only else InitOutcome.IMPORTED
        return InitTable(table.name, directory, outcome, positions=positions)

    def _state(self, table: MapTable) -> Snapshot | None:
        try:
            return look(self.wiring.ports.files, table.paths).state
        except NoLedger:
            return None

    def _commit(self, table: MapTable, placed: Collection[PlacedOffset], *, is_new: bool) -> None:
        """Commit the positions in a snapshot without files, as a run commits the positions of the map's `start`."""
        ports = self.wiring.ports
        if is_new:
            begin_ledger(self.wiring, self.lost_ledger, table, self.tables)
        ownership = self.wiring.ownership_check(take_over=False)
        request = StartRequest(
            table.paths,
            check=lambda: ownership.check(table.paths, table.location),
            owners=self.wiring.command_owners,
            location=table.location,
            keep=self.wiring.map.limits.keep_snapshots,
        )
        owned = start(ports, request).owned
        if owned.state.positions:
            raise TableError(
                "offsets.not_first",
                f"another process has given {table.name} positions meanwhile",
                "`kafka2hive status -c MAP` names its owner",
            )
        positions = tuple(
            Position(
                p.topic_partition, p.offset, p.offset, self.logs.cluster.topics[p.topic_partition.topic].id
            )
            for p in placed
        )
        change = FirstPositions(
            positions=positions,
            cluster_id=self.logs.cluster.id_of(table.cluster),
            location=table.location,
            start=f"{IMPORTED_START}{self.foreign.source}",
        )
        publish(ports, owned, change)


def init_ledgers(wiring: Wiring, kafka: Kafka) -> InitResult:
    """Create the missing ledgers. Kafka is asked for its topics (for patterns) and the group's offsets (rule R1).

    Raises ServiceUnavailable if Kafka does not answer.
    """
    lost_ledger = LostLedgerCheck(kafka, wiring.map.kafka.committed_group, wiring)
    routes = topic_routes(wiring, kafka.cluster(lambda _topic: False).topics)
    tell_missing(routes.tables)
    # concurrently: a table whose directory cannot be written is retried for 20 s before it fails
    outcomes = wiring.ports.concurrency.map(
        lambda table: _init(wiring, lost_ledger, table, routes.tables), routes.tables
    )
    return InitResult((*outcomes, *_conflict_outcomes(wiring, routes.conflicts)))


def _conflict_outcomes(wiring: Wiring, conflicts: Collection[RouteConflict]) -> list[InitTable]:
    return [
        InitTable(c.table, wiring.paths(c.table).table_directory, InitOutcome.FAILED, c.error)
        for c in conflicts
    ]


def _init(
    wiring: Wiring, lost_ledger: LostLedgerCheck, table: MapTable, tables: Collection[MapTable]
) -> InitTable:
    """Create one table's ledger. A missing topic is an error, because it is probably a mistake in the map."""
    directory = table.paths.table_directory
    if table.missing:
        error = unknown_topics(table.name, table.missing)
        return InitTable(table.name, directory, InitOutcome.FAILED, error)
    try:
        try:
            look(wiring.ports.files, table.paths)
        except NoLedger:
            begin_ledger(wiring, lost_ledger, table, tables)
            return InitTable(table.name, directory, InitOutcome.MADE)
    except Kafka2HiveError as error:
        return InitTable(table.name, directory, InitOutcome.FAILED, error)
    return InitTable(table.name, directory, InitOutcome.EXISTS)
