"""Check each writer's schema against the table's columns before its messages are decoded."""

from collections.abc import Iterator

from kafka2hive.config.keys import TableSettings
from kafka2hive.config.keys.change_log import change_log_of
from kafka2hive.decode.schemas.avro import AvroSchema as AvroSchema
from kafka2hive.decode.schemas.protobuf import ProtobufSchema as ProtobufSchema
from kafka2hive.model.errors import SchemaDiffers
from kafka2hive.model.writer_schema import SchemaId, WriterId
from kafka2hive.schema_evolution.differences import differences
from kafka2hive.schema_evolution.fields import WriterField, avro_fields, protobuf_fields


class WriterFieldsCheck:
    """The SchemaCheck of a table whose schema evolution is `add` or `stop`."""

    def __init__(self, table: TableSettings) -> None:
        self._table = table

    def avro(self, schema_id: SchemaId, schema: AvroSchema) -> None:
        is_change_log = change_log_of(self._table.source) is not None
        self._check(WriterId(schema_id), avro_fields(schema, is_change_log=is_change_log))

    def protobuf(self, schema_id: SchemaId, schema: ProtobufSchema, message: str) -> None:
        self._check(WriterId(schema_id, message), protobuf_fields(schema, message))

    def unresolvable(self, schema_id: SchemaId, why: str) -> None:
        if self._table.schema_evolution == "stop":
            raise schema_differs(self._table.table, f"id {schema_id}", why)

    def _check(self, writer: WriterId, fields: Iterator[WriterField]) -> None:
        difference = differences(self._table, fields)
        if difference.columns if self._table.schema_evolution == "add" else difference:
            raise schema_differs(self._table.table, str(writer), difference.text, writer)


def schema_differs(table: str, schema: str, text: str, writer: WriterId | None = None) -> SchemaDiffers:
    """Return the error for differences between the columns and a schema; `schema` is its name in the message."""
    return SchemaDiffers(
        f"{table}: the schema with {schema} has what the table's columns do not take: {text}. Nothing of its records is lost:"
        " they wait in Kafka",
        "add columns to the map, or name the fields in ignored_fields, and restart; or set schema_evolution: add. A table"
        " whose columns are Hive's resumes after an ALTER TABLE",
        writer,
    )
