"""The schemas that messages were written with, as decoders ask for them."""

from dataclasses import dataclass
from typing import Protocol

AVRO, PROTOBUF, JSON = "AVRO", "PROTOBUF", "JSON"
"""Kinds of schemas, in the registry's words."""


@dataclass(frozen=True, slots=True)
class WriterSchema:
    """A schema as the registry has it.

    `references`: texts of the named schemas that it refers to, in the order in which they must be parsed.
    """

    kind: str
    text: str
    references: tuple[str, ...] = ()


class WriterSchemas(Protocol):
    """Schemas by the ids that stand in messages. An id means one schema for ever."""

    def get(self, schema_id: int) -> WriterSchema | None:
        """None: the registry says for certain that there is no such id.

        Raises SchemaRegistryUnavailable when the registry does not answer and the id is not cached.
        """
        ...
