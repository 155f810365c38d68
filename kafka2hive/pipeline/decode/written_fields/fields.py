"""The fields at the top of a writer's schema, each with the Hive type that loses nothing of it. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from kafka2hive.model.errors import ConfigError
from kafka2hive.model.hive.types import parse_hive_type
from kafka2hive.pipeline.decode.avro.schema import Record
from kafka2hive.pipeline.decode.avro.schema import Schema as AvroSchema
from kafka2hive.pipeline.decode.protobuf.schema import Schema as ProtobufSchema
from kafka2hive.pipeline.decode.written_fields.avro_types import AvroTypes, envelope_row
from kafka2hive.pipeline.decode.written_fields.protobuf_types import ProtobufTypes


@dataclass(frozen=True, slots=True)
class WrittenField:
    """`type` None: Hive has none for it. `notes`: on what of it has none."""

    name: str
    type: str | None
    notes: tuple[str, ...] = ()


def avro_fields(schema: AvroSchema, *, is_change_log: bool) -> Iterator[WrittenField]:
    """Of the record; of a change log those of the row within the envelope, none where the schema is no envelope."""
    record = envelope_row(schema) if is_change_log else schema.whole(schema.root)
    if not isinstance(record, Record):
        return
    for field in record.fields:
        types = AvroTypes(schema)
        kind = types.type_of(field.type, field.name, (record.name,))
        yield _field(field.name, kind, types.notes)


def protobuf_fields(schema: ProtobufSchema, message: str) -> Iterator[WrittenField]:
    for field in schema.messages[message].fields:
        types = ProtobufTypes(schema)
        kind = types.type_of(field, field.name, (message,))
        yield _field(field.name, kind, types.notes)


def _field(name: str, kind: str | None, notes: list[str]) -> WrittenField:
    if kind is None:
        return WrittenField(
            name, None, tuple(notes) or (f"{name} has no field with a type of Hive: left out",)
        )
    try:
        parse_hive_type(kind)
    except ConfigError as error:  # fields that differ by case, too deep
        return WrittenField(name, None, (f"{name} is no type of Hive ({error.message}): left out",))
    return WrittenField(name, kind, tuple(notes))
