"""A schema as it is kept in a file: JSON after a line with its checksum. `read(write(x)) == x`, anything damaged is None."""

import hashlib
import json
from dataclasses import dataclass

from kafka2hive.model.writer_schema import WriterSchema

_HEAD = b"kafka2hive schema 1 sha256:"


@dataclass(frozen=True, slots=True)
class KeptSchema:
    """`registry` is the identity of the one whose `schema_id` it is."""

    registry: str
    schema_id: int
    schema: WriterSchema


def write_kept(kept: KeptSchema) -> bytes:
    content = {
        "registry": kept.registry,
        "id": kept.schema_id,
        "kind": kept.schema.kind,
        "schema": kept.schema.text,
        "references": list(kept.schema.references),
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
            "id": int(schema_id),
            "kind": str(kind),
            "schema": str(text),
            "references": [*references],
        }:
            return KeptSchema(registry, schema_id, WriterSchema(kind, text, tuple(map(str, references))))
        case _:
            return None
