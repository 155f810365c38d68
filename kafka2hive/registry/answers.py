"""What a response of the registry means (pure).

The API: https://docs.confluent.io/platform/current/schema-registry/develop/api.html
"""

import json
from dataclasses import dataclass
from typing import Any

MISSING_SCHEMA = 40403
"""error_code of a 404: the registry knows no schema of this id."""

_MISSING = frozenset({40401, 40402, MISSING_SCHEMA})  # no such subject, no such version, no such schema
_TRANSIENT = frozenset({408, 425, 429})
_LONGEST_QUOTE = 200


@dataclass(frozen=True, slots=True)
class Document:
    """The JSON that was asked for: an object, or a list."""

    content: Any


@dataclass(frozen=True, slots=True)
class Missing:
    """The registry itself says that it does not have it; `code` says what."""

    code: int


@dataclass(frozen=True, slots=True)
class Busy:
    """Not now: trying again is right."""

    why: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The registry wants other credentials."""

    status: int


@dataclass(frozen=True, slots=True)
class Foreign:
    """No registry's response: the URL leads to something else."""

    why: str


Answer = Document | Missing | Busy | Refused | Foreign


def read_answer(status: int, body: bytes) -> Answer:
    """Of a whole response. Only `Missing` says anything about a schema; a bare 404 is what any server says to any path."""
    content = _json(body)
    if status in (401, 403):
        return Refused(status)
    if status in _TRANSIENT or status >= 500:
        return Busy(f"{status}{_message(content)}")
    if status == 200:
        is_json = isinstance(content, dict | list)
        return Document(content) if is_json else Foreign("200 with a text that is no JSON object")
    code = content.get("error_code") if isinstance(content, dict) else None
    if status == 404 and code in _MISSING:
        return Missing(code)
    if 300 <= status < 400:
        return Foreign(f"{status}, a redirect")
    return Foreign(f"{status}{_message(content)}")


def _json(body: bytes) -> Any:
    """None where it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # UnicodeDecodeError among them
        return None


def _message(content: Any) -> str:
    message = content.get("message") if isinstance(content, dict) else None
    if not isinstance(message, str):
        return ""
    return ", " + "".join(c if c.isprintable() else " " for c in message[:_LONGEST_QUOTE])
