"""The schema registry as the rest of the program sees it."""

from typing import Protocol

from kafka2hive.model.writer_schema import WriterSchema


class Registry(Protocol):
    """A schema registry with Confluent's API.

    Every question raises SchemaRegistryUnavailable (it does not answer: waiting is right) or another TableError of
    registry/errors.py (it never will, until somebody corrects the map or the registry).
    """

    def schema(self, schema_id: int) -> WriterSchema | None:
        """With everything it refers to. None: the registry says for certain that it has no such id."""
        ...

    def kinds(self) -> tuple[str, ...]:
        """The kinds of schemas it holds; nothing but a registry answers this."""
        ...
