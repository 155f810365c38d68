"""Columns in addition to the map's: those that the ledger has added, and those that records' schemas require."""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kafka2hive.config.keys import Column, TableRule, TableSettings
from kafka2hive.config.keys.source import change_log_of
from kafka2hive.model.errors import SchemaRegistryUnavailable, TableError
from kafka2hive.model.hive_types import is_wider
from kafka2hive.model.offsets import name_in_kafka
from kafka2hive.model.snapshot import AddedColumn
from kafka2hive.model.writer_schema import AVRO, JSON, PROTOBUF, SchemaInvalid, WriterSchema
from kafka2hive.registry.port import Registry
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import Clock

if TYPE_CHECKING:
    from kafka2hive.schema_evolution.fields import WriterField

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EffectiveColumns:
    """All columns of a table. `added` has the lower-case names of the columns that the ledger has added."""

    columns: tuple[Column, ...]
    added: frozenset[str]


def effective_columns(
    rule: TableRule, known: Sequence[Column], added: Sequence[AddedColumn]
) -> EffectiveColumns:
    """Return `known` (the map's columns, or Hive's if the map has none) with the columns that the ledger has added.

    The map's columns take precedence.
    """
    newest = {a.name.lower(): a for a in added if a.name not in rule.ignored_fields}
    columns: list[Column] = []
    names: set[str] = set()
    for column in known:
        evolved = None if rule.columns else newest.get(column.name.lower())
        if evolved is None:
            columns.append(column)
        else:  # somebody may have widened the column in Hive
            kind = evolved.type if is_wider(evolved.type, column.type) else column.type
            columns.append(Column(evolved.name, kind))
            names.add(evolved.name.lower())
    known_names = {column.name.lower() for column in known}
    for name, evolved in newest.items():
        if name not in known_names:
            columns.append(Column(evolved.name, evolved.type))
            names.add(name)
    return EffectiveColumns(tuple(columns), frozenset(names))


def watches_schemas(rule: TableRule, *, has_registry: bool) -> bool:
    """Return whether the table's columns may follow the schemas that its records name by id."""
    own_schema = {"avro": rule.avro_schema, "protobuf": rule.protobuf_schema, "json_schema": None}
    return (
        rule.schema_evolution != "ignore"
        and rule.sql is None  # such a table has the columns of its SELECT
        and has_registry
        and rule.format in own_schema
        and own_schema[rule.format] is None
        and not rule.schemas
    )


@dataclass(frozen=True, slots=True)
class SchemaFields:
    """The fields of one schema; `schema` is its label in messages."""

    schema: str
    fields: "tuple[WriterField, ...]"


@dataclass(frozen=True, slots=True)
class MissingColumns:
    """The columns that a table lacks, each with the label of the schema that requires it.

    `lost` describes fields for which a column cannot be added.
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
        """Return the columns as values for the ledger."""
        return tuple(
            AddedColumn(name=column.name, type=column.type, schema=schema, added_at=at, epoch=epoch)
            for column, schema in self.columns
        )


def schema_fields(
    label: str, schema: WriterSchema, message: str | None, settings: TableSettings
) -> SchemaFields | None:
    """Return a schema's fields; None if it does not describe the table's records.

    Reasons are a kind that does not match the table's format, an unreadable schema, or several message types.
    """
    if (schema.kind, settings.format) == (AVRO, "avro"):
        from kafka2hive.decode.schemas.avro import parse
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
    if (schema.kind, settings.format) == (JSON, "json_schema"):
        return _read_json(label, schema, settings)
    return None


def _read_json(label: str, schema: WriterSchema, settings: TableSettings) -> SchemaFields | None:
    from kafka2hive.decode.schemas.json import parse
    from kafka2hive.schema_evolution.json_types import json_fields

    try:
        parsed = parse(schema)
    except SchemaInvalid as error:
        log.warning("%s: the schema with %s cannot be read: %s", settings.table, label, error)
        return None
    is_change_log = change_log_of(settings.source) is not None
    return SchemaFields(label, tuple(json_fields(parsed, is_change_log=is_change_log)))


def _read_protobuf(
    label: str, schema: WriterSchema, message: str | None, settings: TableSettings
) -> SchemaFields | None:
    from kafka2hive.decode.schemas.protobuf import parse
    from kafka2hive.schema_evolution.fields import protobuf_fields

    try:
        parsed = parse(schema)
        name = parsed.only_type(message)
    except SchemaInvalid as error:  # expected for several message types, because records name theirs
        log.debug("%s: the schema with %s: %s", settings.table, label, error)
        return None
    return SchemaFields(label, tuple(protobuf_fields(parsed, name)))


def missing_columns(settings: TableSettings, schemas: Sequence[SchemaFields]) -> MissingColumns:
    """Return the columns that the table lacks for all these schemas together. Pure."""
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
    """The newest schemas of subjects. After an outage, requests pause for `refresh_seconds`.

    The pause cannot lose a field, because records name their schemas by id.
    """

    def __init__(self, registry: Registry, clock: Clock, refresh_seconds: float) -> None:
        self._registry = registry
        self._clock = clock
        self.refresh_seconds = refresh_seconds
        self._away_until = float("-inf")
        self._one_at_a_time = threading.Lock()

    def of(self, rule: TableRule, topics: tuple[str, ...], settings: TableSettings) -> list[SchemaFields]:
        """Return the newest schemas in the order of the topics, as far as the registry has them and answers."""
        subjects = dict.fromkeys(rule.subject.replace("{topic}", name_in_kafka(topic)) for topic in topics)
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
    """Build the map's NewestSchemas; None if the map has no registry. The registry is connected at the first request."""
    options, registry = wiring.map.registry, wiring.registry()
    if options is None or registry is None:
        return None
    return NewestSchemas(registry, wiring.ports.clock, options.refresh_seconds)
