"""From a writer's Avro schema to the columns of a draft. Pure."""

from kafka2hive.pipeline.decode.avro.schema import Record, Schema
from kafka2hive.pipeline.decode.written_fields.avro_types import AvroTypes
from kafka2hive.service.sample.columns import Names
from kafka2hive.service.sample.draft import DraftColumn


class AvroColumns:
    """A column for each field of a record, and `notes` on what has none."""

    def __init__(self, schema: Schema, record: Record) -> None:
        types = AvroTypes(schema)
        self.notes = types.notes
        names = Names(self.notes)
        kinds = ((field, types.type_of(field.type, field.name, (record.name,))) for field in record.fields)
        self.columns = tuple(
            DraftColumn(names.name((field.name,)), kind, (field.name,))
            for field, kind in kinds
            if kind is not None
        )
