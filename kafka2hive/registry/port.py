"""The schema registry as the rest of the program sees it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kafka2hive.model.writer_schema import SchemaId, WriterSchema

SameSchema = Callable[[WriterSchema, WriterSchema], bool]
"""Whether two schemas mean the same to a decoder, however their texts are formatted."""


@dataclass(frozen=True, slots=True)
class NewestSchema:
    """The last version of a subject."""

    schema_id: int
    version: int
    schema: WriterSchema


class Registry(Protocol):
    """A schema registry with Confluent's API.

    Every question raises SchemaRegistryUnavailable (it does not answer: waiting is right) or another TableError of
    registry/errors.py (it never will, until somebody corrects the map or the registry).
    """

    def schema(self, schema_id: SchemaId) -> WriterSchema | None:
        """With everything it refers to. None: the registry says for certain that it has no such id."""
        ...

    def newest(self, subject: str) -> NewestSchema | None:
        """The last version of a subject. None: the registry says for certain that it has no such subject."""
        ...

    def kinds(self) -> tuple[str, ...]:
        """The kinds of schemas it holds; nothing but a registry answers this."""
        ...
