"""The schemas of messages."""

import sys
from dataclasses import dataclass

AVRO, PROTOBUF, JSON = "AVRO", "PROTOBUF", "JSON"
"""Kinds of schemas, as the registry names them."""

SchemaId = int | str
"""A schema's number in the registry, or its GUID as text."""


class SchemaInvalid(ValueError):
    """The text of a schema is not a schema of its kind."""


@dataclass(frozen=True, slots=True)
class SchemaReference:
    """A schema to which another schema refers by `name`: the type's name in Avro, the path of the import in Protobuf."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class WriterId:
    """The schema that a message names; `message` is the full name of its type in Protobuf."""

    number: SchemaId
    message: str | None = None

    def __str__(self) -> str:
        return f"id {self.number}" + (f", message {self.message}" if self.message else "")


@dataclass(frozen=True, slots=True)
class WriterSchema:
    """A schema from the registry or from the map.

    `references` holds the schemas to which this schema refers, directly or indirectly, in the order in which they must be
    parsed. `message` is the full name of the messages' type; only a Protobuf schema from the map has it.
    """

    kind: str
    text: str
    references: tuple[SchemaReference, ...] = ()
    message: str | None = None

    @property
    def bytes(self) -> int:
        """The size in memory, in bytes."""
        return sum(map(sys.getsizeof, (self.text, *(reference.text for reference in self.references))))
