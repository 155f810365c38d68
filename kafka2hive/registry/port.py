"""The interface of a schema registry."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kafka2hive.model.writer_schema import SchemaId, WriterSchema

SameSchema = Callable[[WriterSchema, WriterSchema], bool]
"""Return whether two schemas mean the same to a decoder, however their texts are formatted."""


@dataclass(frozen=True, slots=True)
class NewestSchema:
    """The last version of a subject."""

    schema_id: int
    version: int
    schema: WriterSchema


class Registry(Protocol):
    """A schema registry with Confluent's API.

    Every method raises SchemaRegistryUnavailable (no answer: wait and retry) or another TableError of registry/errors.py
    (no answer until the map or the registry is corrected).
    """

    def schema(self, schema_id: SchemaId) -> WriterSchema | None:
        """Return the schema of an id with its references, None if the registry itself says that it has no such id."""
        ...

    def newest(self, subject: str) -> NewestSchema | None:
        """Return the last version of a subject, None if the registry itself says that it has no such subject."""
        ...

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of schemas that it supports; only a real registry answers this request."""
        ...
