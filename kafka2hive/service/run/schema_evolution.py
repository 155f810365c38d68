"""Schema evolution in a run: when it looks at its records' schemas, and which columns it adds for new fields."""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from kafka2hive.config.keys import TableSettings
from kafka2hive.ledger.snapshot.change import NewColumns
from kafka2hive.model.errors import Kafka2HiveError, SchemaDiffers, TableError
from kafka2hive.model.writer_schema import SchemaId, WriterId, WriterSchema
from kafka2hive.service.hive.schema_columns import (
    NewestSchemas,
    SchemaFields,
    missing_columns,
    newest_schemas,
    schema_fields,
    watches_schemas,
)
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.wiring import Wiring
from kafka2hive.task.writer_schemas import process_schemas

log = logging.getLogger(__name__)

WARNED_BY = "schema evolution"


class Evolution:
    """The schema evolution of a map without a registry: it never adds columns."""

    def is_due(self, table: Table) -> bool:
        """Return whether `changes` must be called before the next epoch is planned."""
        return False

    def changes(self, table: Table, settings: TableSettings) -> NewColumns | None:
        """Return the columns that the owned table lacks; None if each field that can have a column has one.

        Raises SchemaDiffers (schema evolution `stop`), TableError.
        """
        return None

    def takes(self, table: Table, error: Kafka2HiveError) -> bool:
        """Return whether `changes` will resolve the error of a task; then the table is not set aside."""
        return False

    def forget(self, table: str) -> None:
        """Forget the looks at a table's schemas, because its map has changed."""


@dataclass(frozen=True, slots=True)
class _Look:
    """The last look at the schemas of one table's records, `at` a time (monotonic seconds).

    `new_writers` are schemas that tasks have met since then, and that have fields without a column.
    """

    at: float = -math.inf
    new_writers: frozenset[WriterId] = frozenset()


@dataclass(slots=True, eq=False)
class RegistryEvolution(Evolution):
    """The schema evolution of a map with a registry. `_schema_of` returns a schema by its id, or None if it is unknown."""

    _wiring: Wiring
    _newest: NewestSchemas
    _schema_of: Callable[[SchemaId], WriterSchema | None]
    _looks: dict[str, _Look] = field(default_factory=dict, init=False)

    def is_due(self, table: Table) -> bool:
        if not watches_schemas(table.rule, has_registry=True):
            return False
        now = self._wiring.ports.clock.monotonic()
        aside = table.aside
        differed = aside is not None and isinstance(aside.error, SchemaDiffers)
        last = self._looks.get(table.name, _Look())
        return bool(last.new_writers) or differed or now - last.at >= self._newest.refresh_seconds

    def changes(self, table: Table, settings: TableSettings) -> NewColumns | None:
        writers = self._looks.get(table.name, _Look()).new_writers
        self._looks[table.name] = _Look(self._wiring.ports.clock.monotonic())
        met = [self._fields_of(writer, settings) for writer in sorted(writers, key=str)]
        difference = missing_columns(settings, [*met, *self._newest.of(table.rule, table.topics, settings)])
        if table.rule.schema_evolution == "stop":
            difference.refuse(table.name)
            return None
        self._warn(table, difference.lost)
        if not difference.columns:
            if writers:
                raise TableError(
                    "schema.differs",
                    f"{table.name}: records with {', '.join(map(str, writers))} have new fields, which need no new column",
                    "please report this bug; the records stay in Kafka, and the table waits",
                )
            return None
        now, epoch = self._wiring.ports.clock.now(), table.owned.ledger.next_epoch
        for column, schema in difference.columns:
            log.info(
                "%s: column %s %s is added: schema with %s", table.name, column.name, column.type, schema
            )
        return NewColumns(added=difference.added(now, epoch), registered=table.owned.registered)

    def takes(self, table: Table, error: Kafka2HiveError) -> bool:
        if (
            table.rule.schema_evolution != "add"
            or not isinstance(error, SchemaDiffers)
            or error.writer is None
        ):
            return False
        last = self._looks.get(table.name, _Look())
        self._looks[table.name] = replace(last, new_writers=last.new_writers | {error.writer})
        log.info("%s: records with schema %s have new fields: they are read again", table.name, error.writer)
        return True

    def forget(self, table: str) -> None:
        self._looks.pop(table, None)

    def _fields_of(self, writer: WriterId, settings: TableSettings) -> SchemaFields:
        schema = self._schema_of(writer.number)
        written = None if schema is None else schema_fields(str(writer), schema, writer.message, settings)
        if written is None:
            raise TableError(
                "schema.differs",
                f"{settings.table}: a task has read the schema with {writer}, but the driver cannot read it",
                "look at the schema registry; the run tries the table again by itself",
            )
        return written

    def _warn(self, table: Table, lost: tuple[str, ...]) -> None:
        texts = tuple(f"{text}: the field is not in a column" for text in lost)
        if table.warnings.get(WARNED_BY, ()) != texts:
            table.warnings[WARNED_BY] = texts
            for text in texts:
                log.warning("%s: %s", table.name, text)


def registry_evolution(wiring: Wiring) -> Evolution:
    """Build the schema evolution of a map. The registry is connected at the first look."""
    options, newest = wiring.map.registry, newest_schemas(wiring)
    if options is None or newest is None:
        return Evolution()
    schemas = process_schemas(options, wiring.ports.files, wiring.map.storage.ledger_root, keeps=False)
    return RegistryEvolution(wiring, newest, schemas.get)
