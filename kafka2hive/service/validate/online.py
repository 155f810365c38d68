"""`validate --online`: the checks of a map against its services."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain

from kafka2hive.config.keys import DeadLetterOptions
from kafka2hive.config.route import RoutedTable
from kafka2hive.hive.description import TableDescription, is_same_creation
from kafka2hive.hive.port import Hive
from kafka2hive.hive.stored_as import unread, unread_letters
from kafka2hive.kafka.port import ClusterView, Kafka
from kafka2hive.ledger.location import refuse_vanished_ledger
from kafka2hive.ledger.look import View, look
from kafka2hive.model.errors import (
    ConfigError,
    ExitCode,
    Kafka2HiveError,
    SchemaRegistryUnavailable,
    ServiceUnavailable,
    TableError,
)
from kafka2hive.model.metastore import MetastoreUnavailable
from kafka2hive.model.offsets import cluster_of
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.model.text import counted
from kafka2hive.registry.port import Registry
from kafka2hive.service.hive.schemas import Catalogue, TableChanges
from kafka2hive.service.start.preview import StartPreview, look_at_kafka
from kafka2hive.service.tables.ledgers import UnreadableLedger, apart, attempt, known_states, ledger_tables
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.topics.routes import TopicRoutes, tell_missing, topic_routes
from kafka2hive.service.validate.check import Check, Failed, Passed, Result, Warned, exit_code_of
from kafka2hive.service.validate.kafka_check import check_kafka
from kafka2hive.service.validate.map_check import SelectCheck, check_selects_online
from kafka2hive.service.validate.readers import check_readers
from kafka2hive.service.validate.storage_check import LEDGER_ROOT, check_storage
from kafka2hive.service.wiring import Wiring
from kafka2hive.spark.environment import require_spark

_ANY_ID = 1


@dataclass(frozen=True, slots=True)
class OnlineResult:
    """All checks, in the order Kafka, schema registry, storage, ledgers, Hive, other readers, Spark."""

    checks: tuple[Check, ...]

    @property
    def exit_code(self) -> ExitCode:
        return exit_code_of(self.checks)


def validate_online(wiring: Wiring, kafka: Kafka, selects: SelectCheck | None) -> OnlineResult:
    """Run all checks; a service that does not answer is a failed check. Writes only probe files, which it deletes.

    `selects` is None if no table of the map has SQL.
    """
    checks: list[Check] = []
    brokers = dict(wiring.map.kafka.properties).get("bootstrap.servers", "")
    routes: TopicRoutes | None = None
    kafka_answers = False
    try:
        cluster = kafka.cluster()
        routes = topic_routes(wiring, cluster.topics)
        tell_missing(routes.tables)
        checks += _clusters(wiring, cluster)
        checks += (Check("kafka", f"topic {c.topic}", Failed(c.error)) for c in routes.conflicts)
        checks += check_kafka(kafka, routes.tables, cluster)
        kafka_answers = not cluster.silent
    except (ServiceUnavailable, ConfigError) as error:
        checks.append(Check("kafka", brokers, Failed(error)))
        named = {topic for rule in wiring.map.tables for topic in rule.topics}
        routes = routes or topic_routes(wiring, named)
    tables = routes.tables
    if (registry := wiring.registry()) is not None and wiring.map.registry is not None:
        checks.append(check_registry(registry, wiring.map.registry.url))
    storage = check_storage(wiring, tables)
    checks += storage
    readable = tables_without_failure(storage, tables)
    checks += check_ledgers(wiring, readable, kafka if kafka_answers else None)
    metastore = wiring.hive()
    catalogue = Catalogue(wiring.map, metastore)
    if metastore is not None:
        states = known_states(wiring, ledger_tables(wiring)) if readable else ()
        checks += check_hive(metastore, catalogue, tables, letters=wiring.map.dead_letters, states=states)
    checks += check_readers(wiring.map)
    checks.append(_check_java())
    if selects is not None:
        checks += check_selects_online(selects, catalogue, tables)
    if metastore is not None:
        metastore.close()
    return OnlineResult(tuple(checks))


def check_registry(registry: Registry, url: str) -> Check:
    return Check("registry", url, _registry_result(registry))


def _registry_result(registry: Registry) -> Result:
    try:
        kinds = registry.kinds()
        registry.schema(_ANY_ID)  # some registries list their kinds without a login, so this tests the login
    except SchemaRegistryUnavailable as error:
        return Failed(ServiceUnavailable(error.code, error.message, error.remedy))
    except TableError as error:
        return Failed(error)
    return Passed(f"has schemas of the types {', '.join(kinds)}")


def tables_without_failure(storage: Collection[Check], tables: Collection[MapTable]) -> list[MapTable]:
    """Return the tables whose storage checks passed: a ledger's check would only fail again for the same reason."""
    failed = {check.subject for check in storage if isinstance(check.result, Failed)}
    return [] if LEDGER_ROOT in failed else [table for table in tables if table.name not in failed]


def _clusters(wiring: Wiring, cluster: ClusterView) -> list[Check]:
    """Return a check for each Kafka cluster of the map."""
    checks = []
    for name, options in wiring.map.clusters.items():
        brokers = dict(options.properties).get("bootstrap.servers", "")
        topics = sum(cluster_of(topic) == name for topic in cluster.topics)
        answer = Passed(f"cluster {cluster.id_of(name)}, {counted(topics, 'topic')}")
        silence = cluster.silent.get(name)
        checks.append(
            Check("kafka", f"{name} {brokers}".strip(), answer if silence is None else Failed(silence))
        )
    return checks


def check_ledgers(wiring: Wiring, tables: Collection[MapTable], kafka: Kafka | None) -> list[Check]:
    """Check each table's ledger; it fails if a start would STOP. A live owner is not an error, and heartbeats are not watched.

    `kafka` is None if it does not answer; positions are then not compared with it.
    """
    ledgers = wiring.side_by_side.map(lambda table: _look(wiring, table), tables)
    views, _ = apart(chain.from_iterable(ledgers))
    routed = {table.name: RoutedTable(table.rule, table.topics, table.missing) for table in tables}
    starts = StartPreview(wiring, kafka, look_at_kafka(kafka, views, routed), routed)

    def check(pair: tuple[MapTable, list[View | UnreadableLedger]]) -> Check:
        table, ledger = pair
        result = _ledger_result(table, starts, ledger[0]) if ledger else _without_ledger(wiring, table)
        return Check("ledger", table.name, result)

    return wiring.side_by_side.map(check, list(zip(tables, ledgers, strict=True)))


def _look(wiring: Wiring, table: MapTable) -> list[View | UnreadableLedger]:
    """Return one item, or an empty list if the table has no ledger."""
    return list(attempt(table.name, lambda: [look(wiring.ports.files, table.paths)]))


def _ledger_result(table: MapTable, starts: StartPreview, ledger: View | UnreadableLedger) -> Result:
    if isinstance(ledger, UnreadableLedger):
        return Failed(ledger.error)
    for start in attempt(table.name, lambda: [starts.of(ledger)]):
        if isinstance(start, UnreadableLedger):
            return Failed(start.error)
        if start.stop is not None:
            return Failed(start.stop)
    return Passed(f"{table.paths.table_directory} feeds {table.location}")


def _without_ledger(wiring: Wiring, table: MapTable) -> Result:
    directory = table.paths.table_directory
    try:
        refuse_vanished_ledger(wiring.ports.files, table.location, directory)
    except Kafka2HiveError as error:
        return Failed(error)
    return Passed(f"does not exist yet: a run creates {directory}")


def check_hive(
    metastore: Hive,
    catalogue: Catalogue,
    tables: Collection[MapTable],
    letters: DeadLetterOptions,
    states: Iterable[Snapshot] = (),
) -> list[Check]:
    """Check each table and the dead-letter table; ends after the first check that Hive does not answer.

    `states` are the newest snapshots of the ledgers, which say what Hive had earlier.
    """
    checks: list[Check] = []
    known = list(states)
    for name, table in [*((t.name, t) for t in tables), (letters.table, None)]:
        created = [each.created for state in known for each in state.compared if each.table == name]
        result = _hive_result(metastore, catalogue, name, table, created=created)
        checks.append(Check("hive", name, result))
        if isinstance(result, Failed) and isinstance(result.error, ServiceUnavailable):
            return checks
    return checks + _unread_files(metastore, catalogue, tables, letters)


def _unread_files(
    metastore: Hive, catalogue: Catalogue, tables: Collection[MapTable], letters: DeadLetterOptions
) -> list[Check]:
    """Return a warning for each table whose files this version of Hive, or its configuration, does not read correctly."""
    try:
        reader = metastore.tables.reader()
    except MetastoreUnavailable as error:
        return [Check("hive", "files", Failed(error.to_error(str(error))))]
    if reader is None:
        return []
    faults = {}
    for table in tables:
        if catalogue.is_resolved(table.name):  # otherwise the table's own check has failed
            faults[table.name] = unread(reader, table.rule.writer, catalogue.expected(table.name).columns)
    writers = {table.name: table.rule.writer for table in tables}
    faults[letters.table] = unread_letters(reader, letters.timestamps, writers)
    return [_unread_warning(name, *fault) for name, fault in faults.items() if fault is not None]


def _unread_warning(table: str, fault: str, remedy: str) -> Check:
    message = f"Hive does not read all files that {table} gets: {fault}"
    return Check("hive", f"{table}: files", Warned(TableError("hive.unread", message, remedy)))


def _hive_result(
    metastore: Hive, catalogue: Catalogue, name: str, table: MapTable | None, created: Collection[str]
) -> Result:
    """Compare one table. `created` are the times at which the table was created, according to ledgers that had it."""
    try:
        if table is not None:
            catalogue.resolve(table)
        comparison = catalogue.compare(metastore.tables, name)
        is_missing = isinstance(comparison, TableChanges) and comparison.new_directory is not None
        is_another = isinstance(comparison, TableDescription) and not all(
            is_same_creation(each, comparison.created) for each in created
        )
        if is_another or (is_missing and created):
            return Warned(_lost(name, "and created again" if is_another else "or renamed"))
        if isinstance(comparison, TableChanges):
            count = counted(len(comparison.statements), "statement")
            state = "does not match the map" if comparison.new_directory is None else "does not exist"
            return Passed(f"{state} yet: a run sends {count} (`kafka2hive plan -c MAP` shows them)")
        return Passed(f"matches the map, at {comparison.location}")
    except MetastoreUnavailable as error:
        return Failed(error.to_error(str(error)))
    except (TableError, ServiceUnavailable, ConfigError) as error:
        return Failed(error)


def _lost(table: str, how: str) -> TableError:
    return TableError(
        "hive.created_again",
        f"{table}: Hive's table was dropped {how} since a ledger recorded it, so Hive may lack partitions whose files are there",
        "let the service run: it creates the table if the map allows that, and registers all its partitions again",
    )


def _check_java() -> Check:
    try:
        return Check("spark", "Java", Passed(require_spark()))
    except (ConfigError, ServiceUnavailable) as error:
        return Check("spark", "Java", Failed(error))
