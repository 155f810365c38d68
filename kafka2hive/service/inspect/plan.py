"""`kafka2hive plan`: what the next run would send to Hive before it dumps. Only looks."""

from collections.abc import Collection
from dataclasses import dataclass

from kafka2hive.config.keys import TableSettings
from kafka2hive.hive.port import Hive
from kafka2hive.kafka.port import Kafka
from kafka2hive.model.errors import ConfigError, ExitCode, Kafka2HiveError, TableError, worst
from kafka2hive.model.metastore import MetastoreUnavailable
from kafka2hive.service.tables.hive_schemas import Catalogue, ToSend
from kafka2hive.service.tables.ledgers import refuse_unknown
from kafka2hive.service.tables.routes import know_added_columns, tell_missing, topic_routes
from kafka2hive.service.tables.schema_columns import NewestSchemas, lacking, newest_schemas, watches_schemas
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.wiring import Wiring


@dataclass(frozen=True, slots=True)
class PlannedTable:
    """Without `statements` Hive's table is the map's. With an `error` nothing would be sent, and nothing dumped."""

    table: str
    statements: tuple[str, ...] = ()
    error: Kafka2HiveError | None = None


@dataclass(frozen=True, slots=True)
class PlanResult:
    tables: tuple[PlannedTable, ...]

    @property
    def exit_code(self) -> ExitCode:
        return worst([table.error.exit_code for table in self.tables if table.error is not None])


def plan(wiring: Wiring, kafka: Kafka, wanted: Collection[str]) -> PlanResult:
    """The tables that the map's topics flow into now, and that of the dead letters; `wanted`: by name, none for all.

    Raises ServiceUnavailable (Kafka or Hive does not answer), ConfigError (no such table, no Hive in the map).
    """
    metastore = wiring.hive()
    if metastore is None:
        raise ConfigError(
            "usage.no_hive", "the map names no Hive, so a run sends nothing", "add a hive section to the map"
        )
    routes = topic_routes(wiring, kafka.cluster().topics)
    tell_missing(routes.tables)
    tables: dict[str, Table | None] = {table.name: table for table in routes.tables}
    tables[wiring.map.dead_letters.table] = None
    refuse_unknown(wanted, {*tables, *(conflict.table for conflict in routes.conflicts)})
    refused = [
        PlannedTable(conflict.table, error=conflict.error)
        for conflict in routes.conflicts
        if conflict.table in wanted or not wanted
    ]
    catalogue = Catalogue(wiring.map, metastore)
    chosen = [(name, table) for name, table in tables.items() if name in wanted or not wanted]
    know_added_columns(wiring, [table for _, table in chosen if table is not None])
    newest = newest_schemas(wiring)
    try:
        planned = [
            _planned(metastore=metastore, catalogue=catalogue, newest=newest, name=name, table=table)
            for name, table in chosen
        ]
        return PlanResult((*planned, *refused))
    except MetastoreUnavailable as error:
        raise error.ending(str(error)) from error
    finally:
        metastore.close()


def _planned(
    metastore: Hive, catalogue: Catalogue, newest: NewestSchemas | None, name: str, table: Table | None
) -> PlannedTable:
    try:
        if table is not None:
            settings = catalogue.resolve(table)
            if newest is not None and watches_schemas(table.rule, has_registry=True):
                _evolve(catalogue, newest, table, settings)
        compared = catalogue.compare(metastore.session, name)
    except (TableError, ConfigError) as error:
        return PlannedTable(name, error=error)
    return PlannedTable(name, compared.statements if isinstance(compared, ToSend) else ())


def _evolve(catalogue: Catalogue, newest: NewestSchemas, table: Table, settings: TableSettings) -> None:
    """As the next run would. Raises SchemaDiffers: it would dump nothing (schema evolution `stop`)."""
    found = lacking(settings, newest.of(table.rule, table.topics, settings))
    if table.rule.schema_evolution == "stop":
        found.refuse(table.name)
    elif found.columns:
        table.added = (*table.added, *found.added("", 0))
        catalogue.resolve(table)
