"""The interface of a schema registry, and its errors. An error sets the table aside; it never makes a dead letter."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kafka2hive.model.errors import TableError
from kafka2hive.model.writer_schema import SchemaId, WriterSchema

SameSchema = Callable[[WriterSchema, WriterSchema], bool]
"""Returns whether a decoder reads the same values with both schemas, even if their texts are formatted differently."""
_BEFORE, _AFTER = 40, 60
"""The numbers of characters that are shown before and after the first difference of two schemas."""


@dataclass(frozen=True, slots=True)
class NewestSchema:
    """The last version of a subject."""

    schema_id: int
    version: int
    schema: WriterSchema


class Registry(Protocol):
    """A schema registry with Confluent's API.

    Every method raises SchemaRegistryUnavailable (no answer for now; a retry may succeed), or another TableError of
    registry/port.py (no answer until the map or the registry is corrected).
    """

    def schema(self, schema_id: SchemaId) -> WriterSchema | None:
        """Return the schema of an id with its references, None if the registry itself says that it has no such id."""
        ...

    def newest(self, subject: str) -> NewestSchema | None:
        """Return the last version of a subject, None if the registry itself says that it has no such subject."""
        ...

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of schemas that the registry supports. Only a real registry answers this request."""
        ...


def denied_credentials(url: str, status: int) -> TableError:
    """Return the error for credentials that the registry refuses."""
    return TableError(
        "registry.denied",
        f"the schema registry {url} does not accept the map's credentials ({status})",
        "correct username and password or token of the registry section, or grant this user the right to read schemas",
    )


def foreign_answer(url: str, why: str) -> TableError:
    """Return the error for an answer that no schema registry gives."""
    return TableError(
        "registry.answer",
        f"{url} does not answer as a schema registry does: {why}",
        "correct registry.url: it ends where /schemas/ids begins, e.g. http://host:8081 or http://host:8080/apis/ccompat/v7",
    )


def tls_error(url: str, why: str) -> TableError:
    """Return the error for TLS: one side does not trust the other, or a certificate file of the map cannot be used."""
    return TableError(
        "registry.tls",
        f"no TLS connection to the schema registry {url}: {why}",
        "correct ca_file, certificate_file and key_file of the registry section (on every machine with executors)",
    )


def too_many_unknown(urls: str, count: int) -> TableError:
    """Return the error for more unknown ids than can be accidental: the records or the registry must be wrong."""
    return TableError(
        "registry.unknown_ids",
        f"{count} different schema ids within a minute are unknown to the schema registry {urls}",
        "check whether these records are in Confluent's wire format and belong to this registry; then correct the table's"
        " format or schema in the map, or registry.url",
    )


def schema_changed(
    urls: str, schema_id: SchemaId, path: str, before: WriterSchema, now: WriterSchema
) -> TableError:
    """Return the error for an id that now means another schema, because the registry was recreated or restored."""
    return TableError(
        "registry.changed",
        f"schema id {schema_id} of the schema registry {urls} differs from the schema that was used before:"
        f" {_difference(before, now)}. A record with this id may have been written with either schema; nothing is committed",
        "was the registry recreated or restored? If the records that are not read yet were written with the earlier"
        f" schema, give the registry its earlier ids back, and the table resumes. If all of them were written with the"
        f" registry's present schema, stop the run, move {path} away and start the run again (docs/operations.md)",
    )


def _difference(before: WriterSchema, now: WriterSchema) -> str:
    """Return the digests of both schemas, and the text around their first difference."""
    texts = [_canonical(schema) for schema in (before, now)]
    at = next((i for i, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
    shown = [
        "".join(c if c.isprintable() else " " for c in text[max(at - _BEFORE, 0) : at + _AFTER])
        for text in texts
    ]
    digests = [hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12] for text in texts]
    return (
        f"kept {before.kind[:20]} sha256:{digests[0]} has `{shown[0]}`,"
        f" the registry's {now.kind[:20]} sha256:{digests[1]} has `{shown[1]}`"
    )


def _canonical(schema: WriterSchema) -> str:
    """Return the texts of a schema and of its references, with the white space of their JSON normalised."""
    return "\n".join(map(_plain, (schema.text, *(reference.text for reference in schema.references))))


def _plain(text: str) -> str:
    try:
        return json.dumps(json.loads(text), separators=(",", ":"))
    except (ValueError, RecursionError):
        return text
