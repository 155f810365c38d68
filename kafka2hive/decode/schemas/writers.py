"""Writers' schemas: the interfaces by which decoders get and report them, and their comparison."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from kafka2hive.model.writer_schema import AVRO, PROTOBUF, SchemaId, SchemaInvalid, WriterSchema

if TYPE_CHECKING:
    from kafka2hive.decode.schemas.avro import AvroSchema
    from kafka2hive.decode.schemas.json import JsonSchema
    from kafka2hive.decode.schemas.protobuf import ProtobufSchema


class SchemaCheck(Protocol):
    """Receives each writer's schema after it was parsed. If a method raises, no message of the batch is decoded."""

    def avro(self, schema_id: SchemaId, schema: "AvroSchema") -> None: ...

    def protobuf(self, schema_id: SchemaId, schema: "ProtobufSchema", message: str) -> None: ...

    def json(self, schema_id: SchemaId, schema: "JsonSchema") -> None: ...

    def unresolvable(self, schema_id: SchemaId, why: str) -> None:
        """Record a schema whose messages cannot fill the columns."""
        ...


class WriterSchemas(Protocol):
    """Returns schemas by the ids in messages or headers. The schema of an id never changes."""

    def get(self, schema_id: SchemaId) -> WriterSchema | None:
        """Return the schema; None if the registry answers that the id does not exist.

        Raises SchemaRegistryUnavailable if the registry does not answer and the schema is not cached.
        """
        ...


def same_schema(one: WriterSchema, other: WriterSchema) -> bool:
    """Return whether two schemas mean the same to a decoder. If one of them is invalid, their texts are compared."""
    if one.kind != other.kind:
        return False
    if one == other:
        return True
    parse: Callable[[WriterSchema], object] | None = None
    if one.kind == AVRO:
        from kafka2hive.decode.schemas.avro import parse
    elif one.kind == PROTOBUF:
        from kafka2hive.decode.schemas.protobuf import parse
    if parse is not None:
        with suppress(SchemaInvalid):
            return parse(one) == parse(other)
    return one.references == other.references and _json(one.text) == _json(other.text)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
