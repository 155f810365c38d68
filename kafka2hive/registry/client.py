"""The client of the schema registry: several addresses, retries of transient failures, references resolved."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from kafka2hive.config.keys import RegistryOptions
from kafka2hive.model.errors import SchemaRegistryUnavailable, TableError
from kafka2hive.model.writer_schema import AVRO, SchemaId, SchemaReference, WriterSchema
from kafka2hive.registry import port as errors
from kafka2hive.registry.http import HttpClient, NoResponse
from kafka2hive.registry.port import NewestSchema, Registry
from kafka2hive.storage.concurrency import SystemClock
from kafka2hive.storage.port import Clock

MISSING_SCHEMA = 40403
"""The error_code of a 404 for a schema id that the registry does not have."""
PAUSES = (0.2, 1.0)
"""The seconds between the rounds over all addresses."""
MOST_REFERENCES = 500
MOST_REFERRED = 16 * 1024 * 1024
"""The limits of the schemas to which one schema refers, directly and indirectly: their number and their total characters."""

_MISSING = frozenset({40401, 40402, MISSING_SCHEMA})  # no such subject, no such version, no such schema
_TRANSIENT = frozenset({408, 425, 429})
_LONGEST_QUOTE = 200


@dataclass(frozen=True, slots=True)
class Document:
    """A response with the requested JSON: an object or a list."""

    content: Any


@dataclass(frozen=True, slots=True)
class AbsenceAnswer:
    """The registry's answer that it has no such schema, subject or version; `code` is its error_code."""

    code: int


@dataclass(frozen=True, slots=True)
class Busy:
    """A transient failure, to be retried."""

    why: str


@dataclass(frozen=True, slots=True)
class CredentialsRefused:
    """The registry refuses the map's credentials."""

    status: int


@dataclass(frozen=True, slots=True)
class ForeignResponse:
    """A response that no registry sends, so the URL belongs to another server."""

    why: str


Answer = Document | AbsenceAnswer | Busy | CredentialsRefused | ForeignResponse


def read_answer(status: int, body: bytes) -> Answer:
    """Classify a response that arrived in full.

    A 404 is an AbsenceAnswer only with one of the registry's error codes, because any server answers 404 to an unknown path.
    """
    content = _json(body)
    if status in (401, 403):
        return CredentialsRefused(status)
    if status in _TRANSIENT or status >= 500:
        return Busy(f"{status}{_message(content)}")
    if status == 200:
        is_json = isinstance(content, dict | list)
        return (
            Document(content)
            if is_json
            else ForeignResponse("200, but the body is neither a JSON object nor a JSON list")
        )
    code = content.get("error_code") if isinstance(content, dict) else None
    if status == 404 and code in _MISSING:
        return AbsenceAnswer(code)
    if 300 <= status < 400:
        return ForeignResponse(f"{status}, a redirect")
    return ForeignResponse(f"{status}{_message(content)}")


def _json(body: bytes) -> Any:
    """Parse JSON; return None if it is malformed."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # includes UnicodeDecodeError
        return None


def _message(content: Any) -> str:
    message = content.get("message") if isinstance(content, dict) else None
    if not isinstance(message, str):
        return ""
    return ", " + "".join(c if c.isprintable() else " " for c in message[:_LONGEST_QUOTE])


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to a version of a subject, and the name under which the schema imports it."""

    name: str
    subject: str
    version: int


class RegistryClient:
    """A client of one registry at one or several addresses.

    Each request is answered within about three times the map's timeout, or raises SchemaRegistryUnavailable.
    """

    def __init__(self, options: RegistryOptions, clock: Clock) -> None:
        self._urls = options.urls
        self._limit = 2 * options.timeout_seconds
        self._clock = clock
        self._http = HttpClient(options)

    def schema(self, schema_id: SchemaId) -> WriterSchema | None:
        """See Registry."""
        kind = "ids" if isinstance(schema_id, int) else "guids"
        where, answer = self._ask(f"/schemas/{kind}/{schema_id}")
        if isinstance(answer, AbsenceAnswer):
            if answer.code != MISSING_SCHEMA:
                raise errors.foreign_answer(where, f"404, error_code {answer.code}")
            return None
        return self._with_references(answer.content, where)

    def newest(self, subject: str) -> NewestSchema | None:
        """See Registry."""
        where, answer = self._ask(f"/subjects/{quote(subject, safe='')}/versions/latest")
        if isinstance(answer, AbsenceAnswer):
            return None
        numbers = [answer.content.get(key) for key in ("id", "version")] if _is_object(answer) else []
        match numbers:
            case [int(schema_id), int(version)]:
                return NewestSchema(schema_id, version, self._with_references(answer.content, where))
            case _:
                raise _malformed(where, "id or version")

    def kinds(self) -> tuple[str, ...]:
        """See Registry."""
        where, answer = self._ask("/schemas/types")
        kinds = answer.content if isinstance(answer, Document) else None
        if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
            raise errors.foreign_answer(where, "the response is not a list of schema types")
        return tuple(sorted(kinds))

    def _with_references(self, content: Any, where: str) -> WriterSchema:
        """Return the schema of a response from the URL `where`, with all schemas to which it refers."""
        resolved: dict[Reference, SchemaReference] = {}
        self._resolve(_references(content, where), resolved, ())
        return WriterSchema(_kind(content, where), _text(content, where), tuple(resolved.values()))

    def _resolve(
        self,
        references: Sequence[Reference],
        resolved: dict[Reference, SchemaReference],
        within: tuple[Reference, ...],
    ) -> None:
        """Add the schemas of `references` to `resolved`, each after those to which it refers itself."""
        for reference in references:
            if reference in resolved:
                continue
            path = f"/subjects/{quote(reference.subject, safe='')}/versions/{reference.version}"
            where, answer = self._ask(path)
            if reference in within or len(resolved) + len(within) >= MOST_REFERENCES:
                raise errors.foreign_answer(
                    where, f"references in a circle, or more than {MOST_REFERENCES} of them"
                )
            if isinstance(answer, AbsenceAnswer):
                raise errors.foreign_answer(
                    where, "a schema refers to this version, which the registry does not have"
                )
            self._resolve(_references(answer.content, where), resolved, (*within, reference))
            resolved[reference] = SchemaReference(reference.name, _text(answer.content, where))
            if sum(len(schema.text) for schema in resolved.values()) > MOST_REFERRED:
                raise errors.foreign_answer(where, f"references to more than {MOST_REFERRED} characters")

    def _ask(self, path: str) -> tuple[str, Document | AbsenceAnswer]:
        """Request `path`, and return the URL that answered and its answer. Raises SchemaRegistryUnavailable.

        If one address answers that it has no such schema or subject, the others are asked before this counts as the answer,
        because they may be ahead of it. If all are busy, they are asked again after each pause, until the time limit.
        """
        began, failures = self._clock.monotonic(), dict[str, str]()
        missing: tuple[str, AbsenceAnswer] | None = None
        for pause in (0.0, *PAUSES):
            self._clock.sleep(pause)
            for url in self._urls:
                match self._ask_address(url, path):
                    case Document() as document:
                        return url + path, document
                    case AbsenceAnswer() as answer:
                        missing = missing or (url + path, answer)
                    case Busy(why):
                        failures[url] = why
                if failures and self._clock.monotonic() - began >= self._limit:
                    break
            if missing is not None:
                return missing
            if self._clock.monotonic() - began >= self._limit:
                break
        reasons = "; ".join(f"{url}: {why}" for url, why in failures.items())
        raise SchemaRegistryUnavailable(f"the schema registry does not answer ({reasons})")

    def _ask_address(self, url: str, path: str) -> Document | AbsenceAnswer | Busy:
        """Ask one address. Raises TableError if neither a retry nor another address would help."""
        try:
            response = self._http.get(url, path)
        except NoResponse as error:
            return Busy(str(error))
        match read_answer(response.status, response.body):
            case CredentialsRefused(status):
                raise errors.denied_credentials(url, status)
            case ForeignResponse(why):
                raise errors.foreign_answer(url + path, why)
            case answer:
                return answer


def connect_registry(options: RegistryOptions) -> Registry:
    """Return the client of the map's registry; it does not connect yet."""
    return RegistryClient(options, SystemClock())


def _is_object(answer: Document) -> bool:
    return isinstance(answer.content, dict)


def _kind(content: Any, where: str) -> str:
    """Return the kind of a schema; it is Avro if the response names none."""
    kind = content.get("schemaType", AVRO) if isinstance(content, dict) else None
    if not isinstance(kind, str):
        raise _malformed(where, "schemaType")
    return kind


def _text(content: Any, where: str) -> str:
    text = content.get("schema") if isinstance(content, dict) else None
    if not isinstance(text, str):
        raise _malformed(where, "schema")
    return text


def _references(content: Any, where: str) -> list[Reference]:
    """Return the references of a response in their order."""
    listed = content.get("references") if isinstance(content, dict) else None
    if listed is None:
        return []
    if not isinstance(listed, list):
        raise _malformed(where, "references")
    references = []
    for reference in listed:
        match reference:
            case {"subject": str(subject), "version": int(version)}:
                name = reference.get("name")
                references.append(Reference(name if isinstance(name, str) else "", subject, version))
            case _:
                raise _malformed(where, "references")
    return references


def _malformed(where: str, key: str) -> TableError:
    return errors.foreign_answer(where, f"the response has no valid {key}")
