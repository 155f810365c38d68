"""The schema that a message was written with."""

from dataclasses import dataclass

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
