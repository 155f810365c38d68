"""Kept schemas: each schema that was used is written to a small file on the map's storage, for times without a registry."""

import hashlib
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from kafka2hive.config.keys import RegistryOptions
from kafka2hive.model.paths.ledger import schema_draft, schema_path
from kafka2hive.model.writer_schema import SchemaId, SchemaReference, WriterSchema
from kafka2hive.storage.port import (
    AlreadyExists,
    FileSystem,
    NotFound,
    StorageError,
    in_its_directory,
    write_file,
)

log = logging.getLogger(__name__)

_HEAD = b"kafka2hive schema 2 sha256:"


@dataclass(frozen=True, slots=True)
class KeptSchema:
    """A schema with its id; `registry` is the identity of the registry that gave the id."""

    registry: str
    schema_id: SchemaId
    schema: WriterSchema


def write_kept(kept: KeptSchema) -> bytes:
    """Return the file's content: a line with a checksum, then JSON."""
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
    """Parse a file; return None if it is incomplete, damaged or of another version of the format."""
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
            schemas = tuple(SchemaReference(str(name), str(schema)) for name, schema in references)
            return KeptSchema(registry, schema_id, WriterSchema(kind, text, schemas))
        case _:
            return None


def identity_of(options: RegistryOptions) -> str:
    """Return the name under which a registry's schemas are kept: an id has a meaning only in its registry.

    The name depends only on the set of addresses, not on their order or on credentials.
    """
    normal = []
    for url in options.urls:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        normal.append(f"{parts.scheme}://{(parts.hostname or '').lower()}:{port}{parts.path}")
    return hashlib.sha256("\n".join(sorted(set(normal))).encode()).hexdigest()[:32]


class KeptSchemas:
    """The files of one registry below `root`. They are a cache, so a failure of the storage is only logged."""

    def __init__(self, files: FileSystem, root: str, registry: str, new_uuid: Callable[[], str]) -> None:
        self._files = files
        self._root = root
        self._registry = registry
        self._new_uuid = new_uuid

    def read(self, schema_id: SchemaId) -> WriterSchema | None:
        """Return a kept schema; None if its file is missing, unreadable or damaged, or came from another registry."""
        path = self.path(schema_id)
        try:
            kept = read_kept(self._files.read(path))
        except NotFound:
            return None
        except StorageError as error:
            log.warning("cannot read a kept schema; the registry is asked instead: %s", error)
            return None
        if kept is None or (kept.registry, kept.schema_id) != (self._registry, schema_id):
            log.warning("%s is damaged; the registry is asked instead", path)
            return None
        return kept.schema

    def keep(self, schema_id: SchemaId, schema: WriterSchema) -> WriterSchema | None:
        """Keep the schema in a file. Return the schema of a valid file that exists already, otherwise None.

        A draft is written under a unique name, then renamed. A valid file stays; a damaged one is moved aside and replaced.
        A crash in the middle leaves a draft, which is never read, and perhaps no file in place of the damaged one. A second
        call changes nothing. A failure of the storage is only logged.
        """
        path = self.path(schema_id)
        draft = schema_draft(path, self._new_uuid(), "in-progress")
        data = write_kept(KeptSchema(self._registry, schema_id, schema))
        try:
            in_its_directory(self._files, draft, partial(write_file, self._files, draft, data))
            try:
                self._files.rename(draft, path)
            except AlreadyExists:
                return self._kept_before(draft, path, schema_id)
        except StorageError as error:
            log.warning("cannot keep schema %s for use while the registry is down: %s", schema_id, error)
        return None

    def _kept_before(self, draft: str, path: str, schema_id: SchemaId) -> WriterSchema | None:
        """Return the schema of the existing file and delete the draft; if it is damaged, replace it and return None."""
        before = self.read(schema_id)
        if before is None:
            self._files.rename(path, schema_draft(path, self._new_uuid(), "damaged"))
            self._files.rename(draft, path)
        else:
            self._files.delete(draft)
        return before

    def path(self, schema_id: SchemaId) -> str:
        """Return the path of the file in which a schema is kept."""
        return schema_path(self._root, self._registry, schema_id)
