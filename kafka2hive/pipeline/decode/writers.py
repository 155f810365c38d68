"""The schemas that messages were written with, as decoders ask for them."""

from typing import Protocol

from kafka2hive.model.writer_schema import AVRO as AVRO
from kafka2hive.model.writer_schema import JSON as JSON
from kafka2hive.model.writer_schema import PROTOBUF as PROTOBUF
from kafka2hive.model.writer_schema import SchemaReference as SchemaReference
from kafka2hive.model.writer_schema import WriterSchema as WriterSchema


class WriterSchemas(Protocol):
    """Schemas by the ids that stand in messages. An id means one schema for ever."""

    def get(self, schema_id: int) -> WriterSchema | None:
        """None: the registry says for certain that there is no such id.

        Raises SchemaRegistryUnavailable when the registry does not answer and the id is not cached.
        """
        ...
