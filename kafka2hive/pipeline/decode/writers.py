"""The schemas that messages were written with, as decoders ask for them."""

from typing import TYPE_CHECKING, Protocol

from kafka2hive.model.writer_schema import AVRO as AVRO
from kafka2hive.model.writer_schema import JSON as JSON
from kafka2hive.model.writer_schema import PROTOBUF as PROTOBUF
from kafka2hive.model.writer_schema import SchemaId as SchemaId
from kafka2hive.model.writer_schema import SchemaReference as SchemaReference
from kafka2hive.model.writer_schema import WriterSchema as WriterSchema

if TYPE_CHECKING:
    from kafka2hive.pipeline.decode.avro.schema import Schema as AvroSchema
    from kafka2hive.pipeline.decode.protobuf.schema import Schema as ProtobufSchema


class SchemaCheck(Protocol):
    """Told of each writer's schema once it can be read; what it raises ends the batch, and nothing of it is decoded."""

    def avro(self, schema_id: SchemaId, schema: "AvroSchema") -> None: ...

    def protobuf(self, schema_id: SchemaId, schema: "ProtobufSchema", message: str) -> None: ...

    def unresolvable(self, schema_id: SchemaId, why: str) -> None:
        """No message of this schema can fill the columns."""
        ...


class WriterSchemas(Protocol):
    """Schemas by the ids that stand in messages or headers. An id means one schema for ever."""

    def get(self, schema_id: SchemaId) -> WriterSchema | None:
        """None: the registry says for certain that there is no such id.

        Raises SchemaRegistryUnavailable when the registry does not answer and the id is not cached.
        """
        ...
