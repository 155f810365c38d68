"""Encode a snapshot as text that people can read, and decode it.

Line 1 has the final paths of the epoch's files, separated by tabs (`-` without files), as the original Kafka2Hive wrote them.
The next lines are declared in lines.py; each is a tag and a JSON object. The last line is `checksum sha256:<hex>` of all bytes
before it; the next snapshot's header repeats this checksum.
A program that knows format N reads all formats up to N (tests/contract/snapshots has one of each format).
"""

import hashlib
from functools import lru_cache
from typing import Any

import orjson

from kafka2hive.ledger.snapshot.line import Line
from kafka2hive.ledger.snapshot.lines import FILE, FORMAT, HEADER, LINES
from kafka2hive.model.snapshot import Snapshot

_CHECKSUM = b"checksum sha256:"
_NO_FILES = "-"
_CACHE_SIZE = 16
"""A start decodes the newest snapshot of a table two or three times, and several tables start at once."""
_BY_TAG = {line.tag: line for line in LINES}
_NEWER = [line for line in LINES if line.since > 1 or line.later_fields]


class SnapshotDamaged(ValueError):
    """The bytes are not a snapshot, or were truncated or changed."""


class SnapshotNewer(SnapshotDamaged):
    """The snapshot is whole, but its format is newer than this program, because a newer version wrote it."""


def encode(snapshot: Snapshot) -> bytes:
    """Return the text of the snapshot with its checksum, in UTF-8."""
    text = [_addresses(snapshot)]
    for line in LINES:
        text += [f"{line.tag} {orjson.dumps(row).decode()}" for row in _rows(snapshot, line)]
    body = ("\n".join(text) + "\n").encode()
    return body + _CHECKSUM + hashlib.sha256(body).hexdigest().encode() + b"\n"


def _rows(snapshot: Snapshot, line: Line) -> list[dict[str, Any]]:
    if line is HEADER:
        return [{"format": _format_of(snapshot), **line.write(snapshot)}]
    return [line.write(value) for value in _values(snapshot, line)]


def _values(snapshot: Snapshot, line: Line) -> tuple[Any, ...]:
    if line is HEADER:
        return (snapshot,)
    content = getattr(snapshot, line.attribute)
    return content if not line.is_single else () if content is None else (content,)


def _format_of(snapshot: Snapshot) -> int:
    """Return the oldest format whose readers understand the snapshot."""
    return max([1, *[line.format_of(value) for line in _NEWER for value in _values(snapshot, line)]])


def _addresses(snapshot: Snapshot) -> str:
    return "\t".join(file.final for file in snapshot.files) or _NO_FILES


def checksum_of(snapshot: Snapshot) -> str:
    """Return the checksum of the snapshot's text as in its last line, `sha256:<hex>`."""
    return snapshot.checksum or with_checksum_of(snapshot, encode(snapshot)).checksum


def with_checksum_of(snapshot: Snapshot, text: bytes) -> Snapshot:
    """Return the snapshot with the checksum of its text."""
    return snapshot.with_checksum(text[text.rfind(_CHECKSUM) + len(b"checksum ") : -1].decode())


@lru_cache(_CACHE_SIZE)
def decode(data: bytes) -> Snapshot:
    """Decode the text of a snapshot. Raises SnapshotDamaged."""
    at = data.rfind(b"\n" + _CHECKSUM)
    if at < 0:
        raise SnapshotDamaged("no checksum line: truncated, or not a snapshot")
    body, tail = data[: at + 1], data[at + 1 :]
    if tail != _CHECKSUM + hashlib.sha256(body).hexdigest().encode() + b"\n":
        raise SnapshotDamaged("the checksum does not match: the file was changed")
    try:
        return with_checksum_of(_decode(body.decode()), data)
    except SnapshotDamaged:
        raise
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise SnapshotDamaged(f"not a format up to {FORMAT}: {type(error).__name__} {error}") from error


def _decode(text: str) -> Snapshot:
    # splitlines would also split at U+2028 and other characters that a Hive partition may have in its name
    addresses, *lines = text.removesuffix("\n").split("\n")
    rows: dict[str, list[Any]] = {}
    for line in lines:
        tag, _, value = line.partition(" ")
        rows.setdefault(tag, []).append(orjson.loads(value))
    (header,) = rows.pop(HEADER.tag)
    _check_format(header["format"])
    if unknown := sorted(rows.keys() - _BY_TAG.keys()):
        raise SnapshotDamaged(f"unknown lines: {', '.join(unknown)}")
    values = {
        _BY_TAG[tag].attribute: _content(_BY_TAG[tag], list(map(_BY_TAG[tag].read, tag_rows)))
        for tag, tag_rows in rows.items()
    }
    snapshot = Snapshot(**HEADER.arguments(header), **values)
    if addresses != _addresses(snapshot):
        raise SnapshotDamaged(f"line 1 does not name the files of the {FILE.tag} lines")
    return snapshot


def _check_format(number: Any) -> None:
    if type(number) is not int:
        raise ValueError(f"{HEADER.tag}: format is {number!r}")
    if number > FORMAT:
        raise SnapshotNewer(f"format {number} of a newer version; this one reads formats up to {FORMAT}")
    if number < 1:
        raise SnapshotDamaged(f"format {number}")


def _content(line: Line, values: list[Any]) -> Any:
    if not line.is_single:
        return tuple(values)
    (only,) = values
    return only
