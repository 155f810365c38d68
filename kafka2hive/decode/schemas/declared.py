"""Schemas that the map declares for the ids in messages, where no registry is asked."""

from collections.abc import Mapping, Sequence

from kafka2hive.config.keys import Framing
from kafka2hive.config.keys.source import declared_id
from kafka2hive.decode.schemas.avro import parse
from kafka2hive.decode.schemas.fingerprints import fingerprint_of
from kafka2hive.model.writer_schema import AVRO, SchemaId, SchemaInvalid, WriterSchema


class DeclaredSchemas:
    """The map's schemas by id, an implementation of WriterSchemas. An id that the map lacks has no schema."""

    def __init__(self, schemas: Mapping[SchemaId, WriterSchema]) -> None:
        self._schemas = schemas

    def get(self, schema_id: SchemaId) -> WriterSchema | None:
        return self._schemas.get(schema_id)


def declared_schemas(framing: Framing, schemas: Sequence[tuple[str, str]]) -> DeclaredSchemas:
    """Return the schemas of the map's pairs of an id and an Avro schema; with `single_object`, the ids are fingerprints.

    Raises ValueError, which names the pair, for an invalid schema, or for schemas that the framing cannot tell apart.
    """
    by_id: dict[SchemaId, WriterSchema] = {}
    names: dict[SchemaId, str] = {}
    for name, text in schemas:
        writer = WriterSchema(AVRO, text)
        try:
            schema_id = declared_id(framing, name)
            schema = parse(writer)
        except (SchemaInvalid, ValueError) as error:
            raise ValueError(f"schemas.{name}: {error}") from error
        if schema_id is None:
            schema_id = fingerprint_of(schema)
        if schema_id in by_id:
            raise ValueError(f"schemas.{name} and schemas.{names[schema_id]} have the same id, {schema_id}")
        by_id[schema_id], names[schema_id] = writer, name
    return DeclaredSchemas(by_id)
