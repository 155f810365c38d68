"""The tables that the map's rules make of Kafka's topics."""

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from kafka2hive.config.route import ReadTopics, RouteConflict, RoutedTable, Routing, route
from kafka2hive.ledger.look import NoLedger, look
from kafka2hive.model.errors import AmbiguousOutcome, Kafka2HiveError
from kafka2hive.model.paths.ledger import fault_of_table
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.containment import Containment
from kafka2hive.service.tables.ledgers import known_states, refuse_unknown
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import StorageError

log = logging.getLogger(__name__)
_CONTAINMENT = Containment()


@dataclass(frozen=True, slots=True)
class TopicRoutes:
    """The tables in the order of the map, and the conflicts, whose topics go into no table.

    `complete`: every ledger that was needed could be read.
    """

    tables: tuple[MapTable, ...]
    conflicts: tuple[RouteConflict, ...] = ()
    complete: bool = True

    def select(self, names: Collection[str], *others: str) -> "TopicRoutes":
        """Return only the tables and conflicts with these names; all if there are no names.

        Raises ConfigError (`usage.no_such_table`) for a name that is neither here nor among `others`.
        """
        refuse_unknown(names, {*(t.name for t in self.tables), *(c.table for c in self.conflicts), *others})
        if not names:
            return self
        tables = tuple(table for table in self.tables if table.name in names)
        conflicts = tuple(conflict for conflict in self.conflicts if conflict.table in names)
        return replace(self, tables=tables, conflicts=conflicts)


def topic_routes(
    wiring: Wiring, topics: Collection[str], read: Mapping[str, frozenset[str]] | None = None
) -> TopicRoutes:
    """Route Kafka's topics by the map's rules and by the topics that the tables' ledgers have read.

    `read` holds the topics of known ledgers, by table; other ledgers are looked at if a pattern makes the table. A ledger
    that cannot be read decides nothing; its error appears when the table starts.
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
    """Reads the topics of which ledgers have positions; once the file system gives no answer, it reads no more ledgers."""

    wiring: Wiring
    is_silent: bool = False

    def of(self, name: str) -> tuple[str, frozenset[str] | None]:
        """Return the table's name and its ledger's topics; None for the topics if the ledger cannot be read."""
        if fault_of_table(name):
            return name, frozenset()
        try:
            if not self.is_silent:
                looks = _CONTAINMENT.attempt(name, lambda: self._look(name))
                return name, None if isinstance(looks, Exception) else looks[0]
        except (AmbiguousOutcome, StorageError) as error:
            self.is_silent = True
            log.debug("%s: the topics that its ledger has read are not known: %s", name, error)
        except Kafka2HiveError as error:
            log.debug("%s: the topics that its ledger has read are not known: %s", name, error)
        return name, None

    def _look(self, name: str) -> frozenset[str]:
        try:
            return look(self.wiring.ports.files, self.wiring.paths(name)).state.topics
        except NoLedger:
            return frozenset()


def routed_tables(wiring: Wiring, topics: Collection[str]) -> list[MapTable]:
    """Return the tables of `topic_routes` and log its conflicts."""
    routes = topic_routes(wiring, topics)
    for conflict in routes.conflicts:
        log.error("%s", conflict.error)
    tell_missing(routes.tables)
    return list(routes.tables)


def tell_missing(
    tables: Iterable[MapTable], told: Collection[tuple[str, str]] = ()
) -> frozenset[tuple[str, str]]:
    """Log a warning for each topic that the map lists and Kafka does not have, except those that were `told` before.

    Return the tables and topics to leave out at the next call.
    """
    missing = [(table.name, topic) for table in tables for topic in table.missing]
    for table, topic in missing:
        if (table, topic) not in told:
            log.warning("%s: topic %s does not exist (yet)", table, topic)
    return frozenset(missing)


def with_added_columns(wiring: Wiring, tables: Iterable[MapTable]) -> list[MapTable]:
    """Return the tables with the columns that their ledgers add to the map's, for a command that has not read the ledgers.

    A table whose ledger cannot be read is returned unchanged.
    """
    tables = list(tables)
    evolving = [table.paths for table in tables if table.rule.format in ("avro", "protobuf")]
    added = {state.table: state.added for state in known_states(wiring, evolving)}
    return [replace(table, added=added.get(table.name, table.added)) for table in tables]


def routed_by_ledgers(wiring: Wiring, states: Iterable[Snapshot]) -> dict[str, RoutedTable]:
    """Route, without Kafka, the topics of which these ledgers have positions; return the tables by name."""
    return known_routes(wiring, states, ()).tables


def known_routes(
    wiring: Wiring, states: Iterable[Snapshot], topics: Iterable[str], unreadable: Iterable[str] = ()
) -> Routing:
    """Route these topics and those of which these ledgers have positions. Nothing is read.

    `unreadable`: tables whose ledgers cannot be read.
    """
    read = {state.table: state.topics for state in states}
    return _routing(wiring, frozenset(topics).union(*read.values()), {**read, **dict.fromkeys(unreadable)})


def _routing(wiring: Wiring, topics: Iterable[str], read: ReadTopics) -> Routing:
    return route(wiring.map.tables, topics, frozenset({wiring.map.dead_letters.table}), read)
