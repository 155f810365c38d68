"""The map's rules and Kafka's topics as tables, and what tasks are told of them."""

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from kafka2hive.config.keys import ServiceMap, TableSettings
from kafka2hive.config.route import ReadTopics, RouteConflict, RoutedTable, Routing, route
from kafka2hive.config.rules.service import fault_of_table
from kafka2hive.ledger.look import look
from kafka2hive.ledger.take_over import NoLedger
from kafka2hive.model.errors import AmbiguousOutcome, ConfigError, Kafka2HiveError
from kafka2hive.model.metastore import Hive
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.plan.contract import TaskSettings
from kafka2hive.service.tables.hive_schemas import Catalogue
from kafka2hive.service.tables.ledgers import apart, each_ledger, ledger_tables
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import StorageError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TopicRoutes:
    """The `tables` in the order of the map, and the topics that flow into none.

    `complete`: every ledger that had to be read could be.
    """

    tables: tuple[MapTable, ...]
    conflicts: tuple[RouteConflict, ...] = ()
    complete: bool = True


def topic_routes(
    wiring: Wiring, topics: Collection[str], read: Mapping[str, frozenset[str]] | None = None
) -> TopicRoutes:
    """The map's rules for the topics there are, and what the tables' ledgers have read.

    `read`: by table, what is known of that; the other ledgers are looked at, where a pattern makes the table. A ledger
    that cannot be read decides nothing: its own error comes when the table starts.
    """
    known: dict[str, frozenset[str] | None] = {**(read or {})}
    first = _routing(wiring, topics, known)
    made = {name for name, routed in first.tables.items() if routed.rule.pattern is not None}
    unknown = sorted((made | {conflict.table for conflict in first.conflicts}) - known.keys())
    known.update(wiring.side_by_side.map(_LedgerTopics(wiring).of, unknown))
    routing = _routing(wiring, topics, known) if unknown else first
    tables = tuple(
        MapTable(routed.rule, wiring.paths(name), routed.topics, routed.missing)
        for name, routed in routing.tables.items()
    )
    return TopicRoutes(tables, routing.conflicts, None not in known.values())


@dataclass(slots=True)
class _LedgerTopics:
    """The topics of which ledgers have positions; after the first that the file system gives no answer for, none is asked."""

    wiring: Wiring
    is_silent: bool = False

    def of(self, name: str) -> tuple[str, frozenset[str] | None]:
        """None: the ledger cannot be read."""
        if fault_of_table(name):
            return name, frozenset()
        try:
            if not self.is_silent:
                return name, look(self.wiring.ports.files, self.wiring.paths(name)).state.topics
        except NoLedger:
            return name, frozenset()
        except (AmbiguousOutcome, StorageError) as error:
            self.is_silent = True
            log.debug("%s: what its ledger has read is not known: %s", name, error)
        except Kafka2HiveError as error:
            log.debug("%s: what its ledger has read is not known: %s", name, error)
        return name, None


def routed_tables(wiring: Wiring, topics: Collection[str]) -> list[MapTable]:
    """The tables of topic_routes; conflicts are logged, nothing flows there."""
    routes = topic_routes(wiring, topics)
    for conflict in routes.conflicts:
        log.error("%s", conflict.error)
    tell_missing(routes.tables)
    return list(routes.tables)


def tell_missing(tables: Iterable[MapTable]) -> None:
    for table in tables:
        for topic in table.missing:
            log.warning("%s: topic %s does not exist (yet)", table.name, topic)


def with_added_columns(wiring: Wiring, tables: Iterable[MapTable]) -> list[MapTable]:
    """Return the tables with the columns that their ledgers add to the map's, for a command that has not read the ledgers.

    A table whose ledger cannot be read is returned unchanged.
    """
    tables = list(tables)
    evolving = [table.paths for table in tables if table.rule.format in ("avro", "protobuf")]
    states, errors = apart(each_ledger(wiring, evolving, lambda view: [view.state]))
    for name, error in errors:
        log.debug("%s: %s", name, error)
    added = {state.table: state.added for state in states}
    return [replace(table, added=added.get(table.name, table.added)) for table in tables]


def routed_by_ledgers(wiring: Wiring, states: Iterable[Snapshot]) -> dict[str, RoutedTable]:
    """The map's tables with the topics that are known without Kafka: those that these ledgers have positions of."""
    return known_routes(wiring, states, ()).tables


def known_routes(
    wiring: Wiring, states: Iterable[Snapshot], topics: Iterable[str], unreadable: Iterable[str] = ()
) -> Routing:
    """The map's routes for these topics, and for those that these ledgers have positions of; nothing is read.

    `unreadable`: tables whose ledgers cannot be read.
    """
    read = {state.table: state.topics for state in states}
    return _routing(wiring, frozenset(topics).union(*read.values()), {**read, **dict.fromkeys(unreadable)})


def location_in_map(wiring: Wiring, state: Snapshot) -> str | None:
    """The table's location by the map, None when no rule makes the table of the topics that it has read."""
    routed = routed_by_ledgers(wiring, [state]).get(state.table)
    return routed.rule.location if routed else None


class MapTables:
    """Tables for a command that decodes records without a run: resolved on demand.

    Hive is asked only for a table whose columns are not in the map.
    """

    def __init__(self, wiring: Wiring, metastore: Hive | None) -> None:
        self._wiring = wiring
        self.catalogue = Catalogue(wiring.map, metastore)

    def settings(self, name: str) -> TaskSettings:
        """What a task must know of one table. Raises ConfigError (not in the map), TableError, ServiceUnavailable."""
        table = self.by_name.get(name)
        if table is None:
            raise ConfigError("refetch.no_rule", f"{name} is no table of the map: its columns are not known")
        settings = replace(self.catalogue.resolve(table), schema_evolution="ignore")
        return task_settings(self._wiring.map, {name: settings})

    @cached_property
    def by_name(self) -> dict[str, MapTable]:
        """The map's tables by name; the topics are those that the ledgers have positions of."""
        wiring = self._wiring
        states, errors = apart(each_ledger(wiring, ledger_tables(wiring), lambda view: [view.state]))
        for name, error in errors:
            log.debug("%s: %s", name, error)
        added = {state.table: state.added for state in states}
        return {
            name: MapTable(routed.rule, self._wiring.paths(name), routed.topics, added=added.get(name, ()))
            for name, routed in routed_by_ledgers(self._wiring, states).items()
        }


def _routing(wiring: Wiring, topics: Iterable[str], read: ReadTopics) -> Routing:
    return route(wiring.map.tables, topics, frozenset({wiring.map.dead_letters.table}), read)


STALL_SECONDS = 300.0


def task_settings(service_map: ServiceMap, tables: dict[str, TableSettings]) -> TaskSettings:
    """`tables` stays the caller's: what is added to it reaches the tasks of the next epoch."""
    return TaskSettings(
        kafka=service_map.kafka.properties,
        storage=service_map.storage,
        tables=tables,
        dead_letter_table=service_map.dead_letters.table,
        dead_letter_location=service_map.dead_letters.location,
        file_bytes=service_map.limits.file_bytes,
        open_files=service_map.limits.open_files,
        memory_bytes=service_map.limits.task_memory_bytes,
        registry=service_map.registry,
        stall_seconds=STALL_SECONDS,
    )
