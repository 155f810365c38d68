"""A snapshot as text that people can read, and back.

Line 1: the final addresses of the epoch's files, tab-separated (`-` without files), as the original Kafka2Hive wrote
them. Then the lines that lines.py declares, each a tag and a JSON object. Last `checksum sha256:<hex>` over every byte
before it; the next snapshot's header repeats it.
A reader of version N reads every version <= N (frozen files: tests/contract/snapshots).
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
_REMEMBERED = (
    16  # a start reads the newest snapshot of each table two or three times, of a few tables side by side
)
_BY_TAG = {line.tag: line for line in LINES}
_NEWER = [line for line in LINES if line.since > 1 or line.later_fields]


class SnapshotDamaged(ValueError):
    """The bytes are not a whole, unchanged snapshot of a format this version reads."""


def encode(snapshot: Snapshot) -> bytes:
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
    held = getattr(snapshot, line.attribute)
    return held if not line.is_single else () if held is None else (held,)


def _format_of(snapshot: Snapshot) -> int:
    """The oldest whose readers read it right."""
    return max([1, *[line.format_of(value) for line in _NEWER for value in _values(snapshot, line)]])


def _addresses(snapshot: Snapshot) -> str:
    return "\t".join(file.final for file in snapshot.files) or _NO_FILES


def checksum_of(snapshot: Snapshot) -> str:
    """What stands in the last line of its text, `sha256:<hex>`."""
    return snapshot.checksum or written(snapshot, encode(snapshot)).checksum


def written(snapshot: Snapshot, text: bytes) -> Snapshot:
    """The snapshot that knows the checksum of its text."""
    return snapshot.with_checksum(text[text.rfind(_CHECKSUM) + len(b"checksum ") : -1].decode())


@lru_cache(_REMEMBERED)
def decode(data: bytes) -> Snapshot:
    """Decode the text of a snapshot. Raises SnapshotDamaged, which names what is wrong."""
    at = data.rfind(b"\n" + _CHECKSUM)
    if at < 0:
        raise SnapshotDamaged("no checksum line: truncated, or not a snapshot")
    body, tail = data[: at + 1], data[at + 1 :]
    if tail != _CHECKSUM + hashlib.sha256(body).hexdigest().encode() + b"\n":
        raise SnapshotDamaged("the checksum does not match: the file was changed")
    try:
        return written(_decode(body.decode()), data)
    except SnapshotDamaged:
        raise
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise SnapshotDamaged(f"not a format up to {FORMAT}: {type(error).__name__} {error}") from error


def _decode(text: str) -> Snapshot:
    # not splitlines: a Hive partition may be named with U+2028 and other characters that it takes for line ends
    addresses, *rest = text.removesuffix("\n").split("\n")
    rows: dict[str, list[Any]] = {}
    for line in rest:
        tag, _, value = line.partition(" ")
        rows.setdefault(tag, []).append(orjson.loads(value))
    (header,) = rows.pop(HEADER.tag)
    _check_format(header["format"])
    if unknown := sorted(rows.keys() - _BY_TAG.keys()):
        raise SnapshotDamaged(f"unknown lines: {', '.join(unknown)}")
    values = {
        _BY_TAG[tag].attribute: _held(_BY_TAG[tag], list(map(_BY_TAG[tag].read, found)))
        for tag, found in rows.items()
    }
    snapshot = Snapshot(**HEADER.arguments(header), **values)
    if addresses != _addresses(snapshot):
        raise SnapshotDamaged(f"line 1 does not name the files of the {FILE.tag} lines")
    return snapshot


def _check_format(number: Any) -> None:
    if type(number) is not int:
        raise ValueError(f"{HEADER.tag}: format is {number!r}")
    if not 1 <= number <= FORMAT:
        raise SnapshotDamaged(f"format {number}, this version reads up to {FORMAT}: use a newer kafka2hive")


def _held(line: Line, values: list[Any]) -> Any:
    if not line.is_single:
        return tuple(values)
    (only,) = values
    return only
