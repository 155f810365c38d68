"""The fields of schemas as the registry has them, and what of them a table lacks."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kafka2hive.config.values import Column, TableSettings
from kafka2hive.config.values.change_log import change_log_of
from kafka2hive.model.snapshot import AddedColumn
from kafka2hive.model.writer_schema import AVRO, PROTOBUF, WriterSchema

if TYPE_CHECKING:  # commands and runs without a registry start without pyarrow
    from kafka2hive.pipeline.decode.written_fields.fields import WrittenField

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Written:
    """The fields that records of a schema have. `schema` says which one it is."""

    schema: str
    fields: "tuple[WrittenField, ...]"


@dataclass(frozen=True, slots=True)
class Lacking:
    """`columns` with the schema that has each. `lost`: what stays out of every column, beside them."""

    columns: tuple[tuple[Column, str], ...]
    lost: tuple[str, ...]

    def refuse(self, table: str) -> None:
        """Raises SchemaDiffers where a table lacks anything at all."""
        from kafka2hive.pipeline.decode.written_fields.check import schema_differs

        columns = [f"no column for {column.name} {column.type} ({schema})" for column, schema in self.columns]
        if columns or self.lost:
            raise schema_differs(table, "the newest version", "; ".join([*columns, *self.lost]))

    def added(self, at: str, epoch: int) -> tuple[AddedColumn, ...]:
        """The columns as the ledger keeps them."""
        return tuple(
            AddedColumn(name=column.name, type=column.type, schema=schema, added_at=at, epoch=epoch)
            for column, schema in self.columns
        )


def read_written(
    label: str, schema: WriterSchema, message: str | None, settings: TableSettings
) -> Written | None:
    """None where it says nothing about the table's records: of another kind, unreadable, or of several messages."""
    if (schema.kind, settings.format) == (AVRO, "avro"):
        from kafka2hive.pipeline.decode.avro.parse import SchemaInvalid, parse
        from kafka2hive.pipeline.decode.written_fields.fields import avro_fields

        try:
            parsed = parse(schema)
        except SchemaInvalid as error:
            log.warning("%s: the schema with %s cannot be read: %s", settings.table, label, error)
            return None
        is_change_log = change_log_of(settings.source) is not None
        return Written(label, tuple(avro_fields(parsed, is_change_log=is_change_log)))
    if (schema.kind, settings.format) == (PROTOBUF, "protobuf"):
        return _read_protobuf(label, schema, message, settings)
    return None


def _read_protobuf(
    label: str, schema: WriterSchema, message: str | None, settings: TableSettings
) -> Written | None:
    from kafka2hive.pipeline.decode.protobuf.decoder import only_type
    from kafka2hive.pipeline.decode.protobuf.parse import parse
    from kafka2hive.pipeline.decode.protobuf.protoc import SchemaInvalid
    from kafka2hive.pipeline.decode.written_fields.fields import protobuf_fields

    try:
        parsed = parse(schema)
        name = only_type(parsed, message)
    except SchemaInvalid as error:  # which message the records have, they say themselves
        log.debug("%s: the schema with %s: %s", settings.table, label, error)
        return None
    return Written(label, tuple(protobuf_fields(parsed, name)))


def lacking(settings: TableSettings, schemas: Sequence[Written]) -> Lacking:
    """What the table lacks of all these schemas together. Pure."""
    from kafka2hive.pipeline.decode.written_fields.differences import differences

    columns: dict[str, tuple[Column, str]] = {}
    for written in schemas:
        found = differences(settings, written.fields)
        columns |= {column.name.lower(): (column, written.schema) for column in found.columns}
        settings = _with(settings, found.columns)
    lost = (text for written in schemas for text in differences(settings, written.fields).lost)
    return Lacking(tuple(columns.values()), tuple(dict.fromkeys(lost)))


def _with(settings: TableSettings, new: Sequence[Column]) -> TableSettings:
    columns = {column.name.lower(): column for column in settings.columns}
    columns |= {column.name.lower(): column for column in new}
    added = settings.added | {column.name.lower() for column in new}
    return replace(settings, columns=tuple(columns.values()), added=added)
