"""The map's rules and Kafka's topics as tables, and what tasks are told of them."""

import logging
from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import cached_property

from kafka2hive.config.route import RoutedTable, Routing, route
from kafka2hive.config.values import ServiceMap
from kafka2hive.hive.port import Hive
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.pipeline.values import TableSettings, TaskSettings
from kafka2hive.service.shared.hive_schemas import Catalogue
from kafka2hive.service.shared.ledgers import apart, each_ledger, ledger_tables
from kafka2hive.service.shared.table_state import Table
from kafka2hive.service.shared.wiring import Wiring

log = logging.getLogger(__name__)


def routed_tables(wiring: Wiring, topics: Collection[str]) -> list[Table]:
    """One Table per concrete table, in the order of the map; conflicts are logged, nothing flows there."""
    routing = _routing(wiring, topics)
    for conflict in routing.conflicts:
        log.error("topic %s goes nowhere (map line %d): %s", conflict.topic, conflict.line, conflict.message)
    for name, routed in routing.tables.items():
        for topic in routed.missing:
            log.warning("%s: topic %s does not exist (yet)", name, topic)
    return [
        Table(routed.rule, wiring.paths(name), routed.topics, routed.rule.location, missing=routed.missing)
        for name, routed in routing.tables.items()
    ]


def know_added_columns(wiring: Wiring, tables: Iterable[Table]) -> None:
    """For a command that has not read the ledgers: what they say of columns beside the map's.

    Of a ledger that cannot be read nothing is known; whoever needs it says so.
    """
    evolving = {table.name: table for table in tables if table.rule.format in ("avro", "protobuf")}
    states, errors = apart(each_ledger(wiring, map(wiring.paths, evolving), lambda view: [view.state]))
    for state in states:
        evolving[state.table].added = state.added
    for name, error in errors:
        log.debug("%s: %s", name, error)


def routed_by_ledgers(wiring: Wiring, states: Iterable[Snapshot]) -> dict[str, RoutedTable]:
    """The map's tables with the topics that are known without Kafka: those that these ledgers have positions of."""
    return _routing(wiring, {p.topic_partition.topic for state in states for p in state.positions}).tables


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
    def by_name(self) -> dict[str, Table]:
        """The map's tables by name; the topics are those that the ledgers have positions of."""
        wiring = self._wiring
        states, errors = apart(each_ledger(wiring, ledger_tables(wiring), lambda view: [view.state]))
        for name, error in errors:
            log.debug("%s: %s", name, error)
        added = {state.table: state.added for state in states}
        return {
            name: Table(
                routed.rule,
                self._wiring.paths(name),
                routed.topics,
                routed.rule.location,
                added=added.get(name, ()),
            )
            for name, routed in routed_by_ledgers(self._wiring, states).items()
        }


def _routing(wiring: Wiring, topics: Collection[str]) -> Routing:
    return route(wiring.map.tables, topics, frozenset({wiring.map.dead_letters.table}))


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
