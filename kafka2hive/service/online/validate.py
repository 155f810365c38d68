"""`validate --online`: everything that can be asked of the services of a map before anything is dumped."""

from dataclasses import dataclass

from kafka2hive.kafka.port import Kafka
from kafka2hive.model.errors import ConfigError, ExitCode, ServiceUnavailable
from kafka2hive.model.quantities import counted
from kafka2hive.pipeline.java import require_java
from kafka2hive.service.online.ask_hive import check_hive
from kafka2hive.service.online.ask_kafka import check_kafka
from kafka2hive.service.online.ask_ledger import check_ledgers, tables_behind
from kafka2hive.service.online.ask_registry import check_registry
from kafka2hive.service.online.ask_spark import check_selects_online
from kafka2hive.service.online.ask_storage import check_storage
from kafka2hive.service.online.checks import Check, Failed, Passed, exit_code_of
from kafka2hive.service.selects import SelectCheck
from kafka2hive.service.shared.hive_schemas import Catalogue
from kafka2hive.service.shared.tables import TopicRoutes, tell_missing, topic_routes
from kafka2hive.service.shared.wiring import Wiring


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
