"""A schema as it is kept in a file: JSON after a line with its checksum. `read(write(x)) == x`, anything damaged is None."""

import hashlib
import json
from dataclasses import dataclass

from kafka2hive.model.writer_schema import SchemaId, SchemaReference, WriterSchema

_HEAD = b"kafka2hive schema 2 sha256:"


@dataclass(frozen=True, slots=True)
class KeptSchema:
    """`registry` is the identity of the one whose `schema_id` it is."""

    registry: str
    schema_id: SchemaId
    schema: WriterSchema


def write_kept(kept: KeptSchema) -> bytes:
    content = {
        "registry": kept.registry,
        "id": kept.schema_id,
        "kind": kept.schema.kind,
        "schema": kept.schema.text,
        "references": [[reference.name, reference.text] for reference in kept.schema.references],
    }
    body = json.dumps(content).encode()
    return _HEAD + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def read_kept(data: bytes) -> KeptSchema | None:
    """None: half-written, changed, or of another version of the format."""
    head, _, body = data.partition(b"\n")
    if head != _HEAD + hashlib.sha256(body).hexdigest().encode():
        return None
    match json.loads(body):
        case {
            "registry": str(registry),
            "id": int() | str() as schema_id,
            "kind": str(kind),
            "schema": str(text),
            "references": [*references],
        }:
            found = tuple(SchemaReference(str(name), str(written)) for name, written in references)
            return KeptSchema(registry, schema_id, WriterSchema(kind, text, found))
        case _:
            return None
