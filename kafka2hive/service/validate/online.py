"""`validate --online`: everything that can be asked of the services of a map before anything is dumped."""

from collections.abc import Collection
from dataclasses import dataclass
from itertools import chain

from kafka2hive.config.route import RoutedTable
from kafka2hive.hive.port import Hive
from kafka2hive.kafka.port import Kafka
from kafka2hive.ledger.look import View, look
from kafka2hive.ledger.marker import refuse_vanished_ledger
from kafka2hive.model.errors import (
    ConfigError,
    ExitCode,
    Kafka2HiveError,
    SchemaRegistryUnavailable,
    ServiceUnavailable,
    TableError,
)
from kafka2hive.model.metastore import MetastoreUnavailable
from kafka2hive.model.text import counted
from kafka2hive.registry.port import Registry
from kafka2hive.service.tables.hive_schemas import Catalogue, ToSend
from kafka2hive.service.tables.ledgers import UnreadableLedger, apart, attempt
from kafka2hive.service.tables.routes import TopicRoutes, tell_missing, topic_routes
from kafka2hive.service.tables.start_preview import StartPreview, look_at_kafka
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.validate.check import Check, Failed, Passed, Result, exit_code_of
from kafka2hive.service.validate.kafka_check import check_kafka
from kafka2hive.service.validate.selects import SelectCheck
from kafka2hive.service.validate.sql_check import check_selects_online
from kafka2hive.service.validate.storage_check import LEDGER_ROOT, check_storage
from kafka2hive.service.wiring import Wiring
from kafka2hive.spark.java import require_java


def check_hive(
    metastore: Hive, catalogue: Catalogue, tables: Collection[Table], dead_letters: str
) -> list[Check]:
    """One line a table, the dead letters' among them; after the first that Hive does not answer, only that one."""
    checks: list[Check] = []
    for name, table in [*((t.name, t) for t in tables), (dead_letters, None)]:
        result = _check(metastore, catalogue, name, table)
        checks.append(Check("hive", name, result))
        if isinstance(result, Failed) and isinstance(result.error, ServiceUnavailable):
            break
    return checks


def _check(metastore: Hive, catalogue: Catalogue, name: str, table: Table | None) -> Result:
    try:
        if table is not None:
            catalogue.resolve(table)
        found = catalogue.compare(metastore.session, name)
        if isinstance(found, ToSend):
            count = counted(len(found.statements), "statement")
            return Passed(
                f"is not the table of the map yet: a run sends {count} (`kafka2hive plan` shows them)"
            )
        return Passed(f"is the table of the map, at {found.location}")
    except MetastoreUnavailable as error:
        return Failed(error.ending(str(error)))
    except (TableError, ServiceUnavailable, ConfigError) as error:
        return Failed(error)


_ANY_ID = 1


def check_registry(registry: Registry, url: str) -> Check:
    return Check("registry", url, _result(registry))


def _result(registry: Registry) -> Result:
    try:
        kinds = registry.kinds()
        registry.schema(_ANY_ID)  # some registries tell their kinds to anybody
    except SchemaRegistryUnavailable as error:
        return Failed(ServiceUnavailable(error.code, error.message, error.remedy))
    except TableError as error:
        return Failed(error)
    return Passed(f"gives schemas of {', '.join(kinds)}")


def tables_behind(places: Collection[Check], tables: Collection[Table]) -> list[Table]:
    """The tables whose places refused nothing: another ledger could only be refused for the reason that was told."""
    refused = {place.subject for place in places if isinstance(place.result, Failed)}
    return [] if LEDGER_ROOT in refused else [table for table in tables if table.name not in refused]


def check_ledgers(wiring: Wiring, tables: Collection[Table], kafka: Kafka | None) -> list[Check]:
    """One line a table: it fails where a start would STOP. A live owner is no error: nobody is watched.

    `kafka` None: it does not answer, and positions are not compared with it.
    """
    ledgers = wiring.side_by_side.map(lambda table: _looked(wiring, table), tables)
    views, _ = apart(chain.from_iterable(ledgers))
    routed = {table.name: RoutedTable(table.rule, table.topics, table.missing) for table in tables}
    starts = StartPreview(wiring, kafka, look_at_kafka(kafka, views, routed), routed)

    def check(looked: tuple[Table, list[View | UnreadableLedger]]) -> Check:
        table, found = looked
        result = _check_marker(table, starts, found[0]) if found else _without_ledger(wiring, table)
        return Check("ledger", table.name, result)

    return wiring.side_by_side.map(check, list(zip(tables, ledgers, strict=True)))


def _looked(wiring: Wiring, table: Table) -> list[View | UnreadableLedger]:
    """Empty: there is no ledger."""
    return list(attempt(table.name, lambda: [look(wiring.ports.files, table.paths)]))


def _check_marker(table: Table, starts: StartPreview, found: View | UnreadableLedger) -> Result:
    if isinstance(found, UnreadableLedger):
        return Failed(found.error)
    for would in attempt(table.name, lambda: [starts.of(found)]):
        if isinstance(would, UnreadableLedger):
            return Failed(would.error)
        if would.stop is not None:
            return Failed(would.stop)
    return Passed(f"{table.paths.table_directory} feeds {table.location}")


def _without_ledger(wiring: Wiring, table: Table) -> Result:
    directory = table.paths.table_directory
    try:
        refuse_vanished_ledger(wiring.ports.files, table.location, directory)
    except Kafka2HiveError as error:
        return Failed(error)
    return Passed(f"there is none yet: a run makes {directory}")


@dataclass(frozen=True, slots=True)
class OnlineResult:
    """All checks, in the order Kafka, schema registry, storage, Hive, Spark."""

    checks: tuple[Check, ...]

    @property
    def exit_code(self) -> ExitCode:
        return exit_code_of(self.checks)


def validate_online(wiring: Wiring, kafka: Kafka, selects: SelectCheck | None = None) -> OnlineResult:
    """Touches nothing but probe files that it deletes itself. What does not answer is a failed check.

    `selects` None: no table of the map has SQL.
    """
    checks: list[Check] = []
    brokers = dict(wiring.map.kafka.properties).get("bootstrap.servers", "")
    routes: TopicRoutes | None = None
    answers = False
    try:
        cluster = kafka.cluster()
        routes = topic_routes(wiring, cluster.topics)
        tell_missing(routes.tables)
        checks.append(
            Check(
                "kafka",
                brokers,
                Passed(f"cluster {cluster.cluster_id}, {counted(len(cluster.topics), 'topic')}"),
            )
        )
        checks += (Check("kafka", f"topic {c.topic}", Failed(c.error)) for c in routes.conflicts)
        checks += check_kafka(kafka, routes.tables, cluster)
        answers = True
    except (ServiceUnavailable, ConfigError) as error:
        checks.append(Check("kafka", brokers, Failed(error)))
        listed = {topic for rule in wiring.map.tables for topic in rule.topics}
        routes = routes or topic_routes(wiring, listed)
    tables = routes.tables
    if (registry := wiring.registry()) is not None and wiring.map.registry is not None:
        checks.append(check_registry(registry, wiring.map.registry.url))
    places = check_storage(wiring, tables)
    checks += places
    checks += check_ledgers(wiring, tables_behind(places, tables), kafka if answers else None)
    metastore = wiring.hive()
    catalogue = Catalogue(wiring.map, metastore)
    if metastore is not None:
        checks += check_hive(metastore, catalogue, tables, wiring.map.dead_letters.table)
    checks.append(_java())
    if selects is not None:
        checks += check_selects_online(selects, catalogue, tables)
    if metastore is not None:
        metastore.close()
    return OnlineResult(tuple(checks))


def _java() -> Check:
    try:
        return Check("spark", "Java", Passed(require_java()))
    except ServiceUnavailable as error:
        return Check("spark", "Java", Failed(error))
