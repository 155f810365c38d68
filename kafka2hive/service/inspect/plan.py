"""`kafka2hive plan`: the statements that the next run would send to Hive before it dumps. Only reads."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from kafka2hive.config.keys import TableSettings
from kafka2hive.hive.port import Hive
from kafka2hive.kafka.port import Kafka
from kafka2hive.model.errors import ConfigError, ExitCode, Kafka2HiveError, TableError, worst
from kafka2hive.model.metastore import MetastoreUnavailable
from kafka2hive.service.hive.schema_columns import (
    NewestSchemas,
    missing_columns,
    newest_schemas,
    watches_schemas,
)
from kafka2hive.service.hive.schemas import Catalogue, TableChanges
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.topics.routes import tell_missing, topic_routes, with_added_columns
from kafka2hive.service.wiring import Wiring


@dataclass(frozen=True, slots=True)
class TablePlan:
    """The statements for one table, none if Hive's table matches the map. If there is an `error`, a run does not dump it."""

    table: str
    statements: tuple[str, ...] = ()
    error: Kafka2HiveError | None = None


@dataclass(frozen=True, slots=True)
class PlanResult:
    tables: tuple[TablePlan, ...]

    @property
    def exit_code(self) -> ExitCode:
        return worst([table.error.exit_code for table in self.tables if table.error is not None])


def plan(wiring: Wiring, kafka: Kafka, wanted: Collection[str]) -> PlanResult:
    """Compare the map's tables and the dead-letter table with Hive. `wanted` names the tables; empty means all.

    Raises ServiceUnavailable (Kafka or Hive does not answer), ConfigError (no such table, no Hive in the map).
    """
    metastore = wiring.hive()
    if metastore is None:
        raise ConfigError(
            "usage.no_hive", "the map names no Hive, so a run sends nothing", "add a hive section to the map"
        )
    routes = topic_routes(wiring, kafka.cluster().topics)
    tell_missing(routes.tables)
    dead_letters = wiring.map.dead_letters.table
    selection = routes.select(wanted, dead_letters)
    refused = [TablePlan(conflict.table, error=conflict.error) for conflict in selection.conflicts]
    catalogue = Catalogue(wiring.map, metastore)
    tables = with_added_columns(wiring, selection.tables)
    selected: list[tuple[str, MapTable | None]] = [(table.name, table) for table in tables]
    if dead_letters in wanted or not wanted:
        selected.append((dead_letters, None))
    newest = newest_schemas(wiring)
    try:
        plans = [
            _table_plan(metastore=metastore, catalogue=catalogue, newest=newest, name=name, table=table)
            for name, table in selected
        ]
        return PlanResult((*plans, *refused))
    except MetastoreUnavailable as error:
        raise error.to_error(str(error)) from error
    finally:
        metastore.close()


def _table_plan(
    metastore: Hive, catalogue: Catalogue, newest: NewestSchemas | None, name: str, table: MapTable | None
) -> TablePlan:
    try:
        if table is not None:
            settings = catalogue.resolve(table)
            if newest is not None and watches_schemas(table.rule, has_registry=True):
                _evolve(catalogue, newest, table, settings)
        comparison = catalogue.compare(metastore.tables, name)
    except (TableError, ConfigError) as error:
        return TablePlan(name, error=error)
    return TablePlan(name, comparison.statements if isinstance(comparison, TableChanges) else ())


def _evolve(catalogue: Catalogue, newest: NewestSchemas, table: MapTable, settings: TableSettings) -> None:
    """Add the columns of the newest schemas as the next run would. Raises SchemaDiffers (`schema_evolution: stop`)."""
    difference = missing_columns(settings, newest.of(table.rule, table.topics, settings))
    if table.rule.schema_evolution == "stop":
        difference.refuse(table.name)
    elif difference.columns:
        catalogue.resolve(replace(table, added=(*table.added, *difference.added("", 0))))
