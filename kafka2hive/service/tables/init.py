"""`kafka2hive init`: the ledgers of the map's tables, made without a run. Also how a run makes the one of a new table."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from kafka2hive.kafka.errors import unknown_topics
from kafka2hive.kafka.port import Kafka
from kafka2hive.ledger.init import init
from kafka2hive.ledger.look import look
from kafka2hive.ledger.marker import refuse_vanished_ledger
from kafka2hive.ledger.take_over import NoLedger
from kafka2hive.model.errors import ExitCode, Kafka2HiveError, ManualActionRequired
from kafka2hive.service.tables.lost_ledger import LostLedgerCheck
from kafka2hive.service.tables.routes import tell_missing, topic_routes
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.wiring import Wiring


class Beginning(Enum):
    MADE = "made"
    THERE = "already there"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class InitTable:
    """One table of the map; `error` with FAILED."""

    table: str
    directory: str
    beginning: Beginning
    error: Kafka2HiveError | None = None


@dataclass(frozen=True, slots=True)
class InitResult:
    """All tables that the map makes of the topics there are now."""

    tables: tuple[InitTable, ...]

    @property
    def exit_code(self) -> ExitCode:
        """STOP before anything else that went wrong."""
        errors = [table.error for table in self.tables if table.error is not None]
        if any(isinstance(error, ManualActionRequired) for error in errors):
            return ExitCode.STOP
        return errors[0].exit_code if errors else ExitCode.DONE


def begin_ledger(
    wiring: Wiring, lost_ledger: LostLedgerCheck, table: MapTable, tables: Collection[MapTable]
) -> None:
    """R1: never silently where the table, or Kafka's group offsets, say that there was one.

    `tables` are all of the service. Doing it twice changes nothing.
    Raises ManualActionRequired, AmbiguousOutcome, TableError, ServiceUnavailable.
    """
    refuse_vanished_ledger(wiring.ports.files, table.location, table.paths.table_directory)
    lost_ledger.refuse_lost_positions(table, tables)
    init(wiring.ports, table.paths, wiring.map.service, table.location)


def init_ledgers(wiring: Wiring, kafka: Kafka) -> InitResult:
    """Make what is missing. Kafka is asked for topics (patterns) and group offsets (rule R1).

    Raises ServiceUnavailable when Kafka does not answer.
    """
    lost_ledger = LostLedgerCheck(kafka, wiring.map.kafka.committed_group, wiring)
    routes = topic_routes(wiring, kafka.cluster(lambda _topic: False).topics)
    tell_missing(routes.tables)
    begun = [_init(wiring, lost_ledger, table, routes.tables) for table in routes.tables]
    refused = [
        InitTable(c.table, wiring.paths(c.table).table_directory, Beginning.FAILED, c.error)
        for c in routes.conflicts
    ]
    return InitResult((*begun, *refused))


def _init(
    wiring: Wiring, lost_ledger: LostLedgerCheck, table: MapTable, tables: Collection[MapTable]
) -> InitTable:
    """A table whose topics do not exist is a mistake in the map, more likely than not: nothing is made for it."""
    directory = table.paths.table_directory
    if table.missing:
        error = unknown_topics(table.name, table.missing)
        return InitTable(table.name, directory, Beginning.FAILED, error)
    try:
        try:
            look(wiring.ports.files, table.paths)
        except NoLedger:
            begin_ledger(wiring, lost_ledger, table, tables)
            return InitTable(table.name, directory, Beginning.MADE)
    except Kafka2HiveError as error:
        return InitTable(table.name, directory, Beginning.FAILED, error)
    return InitTable(table.name, directory, Beginning.THERE)
