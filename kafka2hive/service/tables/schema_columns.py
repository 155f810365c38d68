"""Columns that the map does not name: those that the ledger added, and those that the schemas of records call for."""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kafka2hive.config.keys import Column, TableRule, TableSettings
from kafka2hive.config.keys.source import change_log_of
from kafka2hive.model.errors import SchemaRegistryUnavailable, TableError
from kafka2hive.model.hive_types import is_wider
from kafka2hive.model.snapshot import AddedColumn
from kafka2hive.model.writer_schema import AVRO, PROTOBUF, WriterSchema
from kafka2hive.registry.port import Registry
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import Clock

if TYPE_CHECKING:
    from kafka2hive.schema_evolution.fields import WriterField

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EffectiveColumns:
    """All columns of a table. `added` holds the names, in lower case, of those that the ledger added."""

    columns: tuple[Column, ...]
    added: frozenset[str]


def effective_columns(
    rule: TableRule, known: Sequence[Column], added: Sequence[AddedColumn]
) -> EffectiveColumns:
    """Merge `known` (the map's columns, otherwise Hive's) with those that the ledger added; the map's columns take precedence."""
    newest = {a.name.lower(): a for a in added if a.name not in rule.ignored_fields}
    columns: list[Column] = []
    names: set[str] = set()
    for column in known:
        own = None if rule.columns else newest.get(column.name.lower())
        if own is None:
            columns.append(column)
        else:  # somebody may have widened the column in Hive
            kind = own.type if is_wider(own.type, column.type) else column.type
            columns.append(Column(own.name, kind))
            names.add(own.name.lower())
    known_names = {column.name.lower() for column in known}
    for name, own in newest.items():
        if name not in known_names:
            columns.append(Column(own.name, own.type))
            names.add(name)
    return EffectiveColumns(tuple(columns), frozenset(names))


def watches_schemas(rule: TableRule, *, has_registry: bool) -> bool:
    """Return whether the table's columns may follow the schemas that its records name by id."""
    own_schema = {"avro": rule.avro_schema, "protobuf": rule.protobuf_schema}
    return (
        rule.schema_evolution != "ignore"
        and rule.sql is None  # its columns are the SELECT's
        and has_registry
        and rule.format in own_schema
        and own_schema[rule.format] is None
    )


@dataclass(frozen=True, slots=True)
class SchemaFields:
    """The fields of one schema; `schema` is its label in messages."""

    schema: str
    fields: "tuple[WriterField, ...]"


@dataclass(frozen=True, slots=True)
class MissingColumns:
    """What a table lacks: `columns`, each with the label of the schema that has it.

    `lost` describes fields that no column can be added for.
    """

    columns: tuple[tuple[Column, str], ...]
    lost: tuple[str, ...]

    def refuse(self, table: str) -> None:
        """Raise SchemaDiffers if the table lacks anything."""
        from kafka2hive.schema_evolution.differences import schema_differs

        columns = [f"no column for {column.name} {column.type} ({schema})" for column, schema in self.columns]
        if columns or self.lost:
            raise schema_differs(table, "the newest version", "; ".join([*columns, *self.lost]))

    def added(self, at: str, epoch: int) -> tuple[AddedColumn, ...]:
        """Return the columns in the form of the ledger."""
        return tuple(
            AddedColumn(name=column.name, type=column.type, schema=schema, added_at=at, epoch=epoch)
            for column, schema in self.columns
        )


def schema_fields(
    label: str, schema: WriterSchema, message: str | None, settings: TableSettings
) -> SchemaFields | None:
    """Return a schema's fields; None if it does not describe the table's records.

    Its kind may not match the table's format, it may be unreadable, or hold several message types.
    """
    if (schema.kind, settings.format) == (AVRO, "avro"):
        from kafka2hive.decode.schemas.avro import parse
        from kafka2hive.decode.schemas.writers import SchemaInvalid
        from kafka2hive.schema_evolution.fields import avro_fields

        try:
            parsed = parse(schema)
        except SchemaInvalid as error:
            log.warning("%s: the schema with %s cannot be read: %s", settings.table, label, error)
            return None
        is_change_log = change_log_of(settings.source) is not None
        return SchemaFields(label, tuple(avro_fields(parsed, is_change_log=is_change_log)))
    if (schema.kind, settings.format) == (PROTOBUF, "protobuf"):
        return _read_protobuf(label, schema, message, settings)
    return None


def _read_protobuf(
    label: str, schema: WriterSchema, message: str | None, settings: TableSettings
) -> SchemaFields | None:
    from kafka2hive.decode.schemas.protobuf import parse
    from kafka2hive.decode.schemas.writers import SchemaInvalid
    from kafka2hive.schema_evolution.fields import protobuf_fields

    try:
        parsed = parse(schema)
        name = parsed.only_type(message)
    except SchemaInvalid as error:  # records name their message type
        log.debug("%s: the schema with %s: %s", settings.table, label, error)
        return None
    return SchemaFields(label, tuple(protobuf_fields(parsed, name)))


def missing_columns(settings: TableSettings, schemas: Sequence[SchemaFields]) -> MissingColumns:
    """Return what the table lacks of all these schemas together. Pure."""
    from kafka2hive.schema_evolution.differences import differences

    columns: dict[str, tuple[Column, str]] = {}
    for written in schemas:
        new = differences(settings, written.fields).columns
        columns |= {column.name.lower(): (column, written.schema) for column in new}
        settings = _with(settings, new)
    lost = (text for written in schemas for text in differences(settings, written.fields).lost)
    return MissingColumns(tuple(columns.values()), tuple(dict.fromkeys(lost)))


def _with(settings: TableSettings, new: Sequence[Column]) -> TableSettings:
    columns = {column.name.lower(): column for column in settings.columns}
    columns |= {column.name.lower(): column for column in new}
    added = settings.added | {column.name.lower() for column in new}
    return replace(settings, columns=tuple(columns.values()), added=added)


class NewestSchemas:
    """The newest schemas of subjects. After an outage, the registry is asked again only after `refresh_seconds`.

    That is safe, because records name their schemas.
    """

    def __init__(self, registry: Registry, clock: Clock, refresh_seconds: float) -> None:
        self._registry = registry
        self._clock = clock
        self.refresh_seconds = refresh_seconds
        self._away_until = float("-inf")
        self._one_at_a_time = threading.Lock()

    def of(self, rule: TableRule, topics: tuple[str, ...], settings: TableSettings) -> list[SchemaFields]:
        """Return the newest schemas in the order of the topics, without those that the registry lacks or cannot give now."""
        subjects = dict.fromkeys(rule.subject.replace("{topic}", topic) for topic in topics)
        newest = [self._newest(subject, settings) for subject in subjects]
        return [written for written in newest if written is not None]

    def _newest(self, subject: str, settings: TableSettings) -> SchemaFields | None:
        with self._one_at_a_time:
            if self._clock.monotonic() < self._away_until:
                return None
            try:
                newest = self._registry.newest(subject)
            except TableError as error:
                if isinstance(error, SchemaRegistryUnavailable):
                    self._away_until = self._clock.monotonic() + self.refresh_seconds
                log.warning("the newest schemas are not known, so no column is added for them now: %s", error)
                return None
        if newest is None:
            log.debug("%s: the schema registry has no subject %s", settings.table, subject)
            return None
        label = f"id {newest.schema_id}, version {newest.version} of {subject}"
        return schema_fields(label, newest.schema, None, settings)


def newest_schemas(wiring: Wiring) -> NewestSchemas | None:
    """Build the map's NewestSchemas; None if the map has no registry. Nothing is connected yet."""
    options, registry = wiring.map.registry, wiring.registry()
    if options is None or registry is None:
        return None
    return NewestSchemas(registry, wiring.ports.clock, options.refresh_seconds)
