"""From a Protobuf message type to the columns of a draft. Pure."""

from kafka2hive.pipeline.decode.protobuf.schema import Message, Schema
from kafka2hive.pipeline.decode.written_fields.protobuf_types import ProtobufTypes
from kafka2hive.service.sample.columns import Names
from kafka2hive.service.sample.draft import DraftColumn


class ProtobufColumns:
    """A column for each field of a message, and `notes` on what has none."""

    def __init__(self, schema: Schema, message: Message) -> None:
        types = ProtobufTypes(schema)
        self.notes = types.notes
        names = Names(self.notes)
        kinds = ((field, types.type_of(field, field.name, (message.name,))) for field in message.fields)
        self.columns = tuple(
            DraftColumn(names.name((field.name,)), kind, (field.name,))
            for field, kind in kinds
            if kind is not None
        )
