"""The schema that a message was written with."""

import sys
from dataclasses import dataclass

AVRO, PROTOBUF, JSON = "AVRO", "PROTOBUF", "JSON"
"""Kinds of schemas, in the registry's words."""

SchemaId = int | str
"""The number by which a registry has a schema, or its GUID as a text."""


@dataclass(frozen=True, slots=True)
class SchemaReference:
    """Another schema that one refers to: by the type's name in Avro, by the path of its import in Protobuf."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class WriterId:
    """What a message names its schema by. `message`: of Protobuf, the full name of its type."""

    number: SchemaId
    message: str | None = None

    def __str__(self) -> str:
        return f"id {self.number}" + (f", message {self.message}" if self.message else "")


@dataclass(frozen=True, slots=True)
class WriterSchema:
    """A schema as the registry has it.

    `references`: the schemas that it refers to, and those that they refer to, in the order in which they must be parsed.
    `message`: of a Protobuf schema that is no registry's, the full name of the messages' type.
    """

    kind: str
    text: str
    references: tuple[SchemaReference, ...] = ()
    message: str | None = None

    @property
    def bytes(self) -> int:
        """Size in memory, in bytes."""
        return sum(map(sys.getsizeof, (self.text, *(reference.text for reference in self.references))))
