"""A snapshot as text that people can read, and back. Format version 1; 2 where columns were added, 3 where records became
more rows than one, 4 where complete partitions are told from others, 5 where some of them were opened again.

Line 1: the final addresses of the epoch's files, tab-separated (`-` without files), as the original Kafka2Hive wrote
them. Then one line each, a tag and a JSON object: `file`s, one `header`, `position`s (all of the table's topic
partitions), `account`s by task, `gap`s, `loss`es, `unregistered` and `registered` partitions, `compared` tables,
`forgotten` registrations, `added` columns; `tracking`, `open` partitions, `certificate`s of complete ones, `reopened` ones. Last
`checksum sha256:<hex>` over every byte before it; the next snapshot's header repeats it.
A reader of version N reads every version <= N (frozen files: tests/contract/snapshots).
"""

import hashlib
from functools import lru_cache
from typing import Any

import orjson

from kafka2hive.ledger.snapshot import completeness_lines, lines
from kafka2hive.model.snapshot import Snapshot

FORMAT = 5
"""The newest that is read. One is written only where it is needed: a program that does not know it reads all others, and
would find too many rows in the files of these, or forget which partitions are open.
"""
_CHECKSUM = b"checksum sha256:"
_NO_FILES = "-"
_REMEMBERED = (
    16  # a start reads the newest snapshot of each table two or three times, of a few tables side by side
)


class SnapshotDamaged(ValueError):
    """The bytes are not a whole, unchanged snapshot of a format this version reads."""


def encode(snapshot: Snapshot) -> bytes:
    text = [
        "\t".join(f.final for f in snapshot.files) or _NO_FILES,
        *(_line("file", lines.file(f)) for f in snapshot.files),
        _line("header", _header(snapshot)),
        *(_line("position", lines.position(p)) for p in snapshot.positions),
        *(_line("account", lines.account(a)) for a in snapshot.accounts),
        *(_line("gap", lines.gap(g)) for g in snapshot.gaps),
        *(_line("loss", lines.loss(x)) for x in snapshot.losses),
        *(_line("unregistered", lines.partition(p)) for p in snapshot.unregistered),
        *(_line("registered", lines.partition(p)) for p in snapshot.registered),
        *(_line("compared", lines.compared(c)) for c in snapshot.compared),
        *(_line("forgotten", lines.forgotten(f)) for f in snapshot.forgotten),
        *(_line("added", lines.added(a)) for a in snapshot.added),
        *([_line("tracking", completeness_lines.tracking(snapshot.tracking))] if snapshot.tracking else []),
        *(_line("open", completeness_lines.open_partition(o)) for o in snapshot.open),
        *(_line("certificate", completeness_lines.certificate(c)) for c in snapshot.certificates),
        *(_line("reopened", lines.partition(p)) for p in snapshot.reopened),
    ]
    body = ("\n".join(text) + "\n").encode()
    return body + _CHECKSUM + hashlib.sha256(body).hexdigest().encode() + b"\n"


def checksum_of(snapshot: Snapshot) -> str:
    """What stands in the last line of its text, `sha256:<hex>`."""
    return snapshot.checksum or written(snapshot, encode(snapshot)).checksum


def written(snapshot: Snapshot, text: bytes) -> Snapshot:
    """The snapshot that knows the checksum of its text."""
    return snapshot.with_checksum(text[text.rfind(_CHECKSUM) + len(b"checksum ") : -1].decode())


@lru_cache(_REMEMBERED)
def decode(data: bytes) -> Snapshot:
    """Raises SnapshotDamaged, naming what is wrong."""
    at = data.rfind(b"\n" + _CHECKSUM)
    if at < 0:
        raise SnapshotDamaged("no checksum line: truncated, or not a snapshot")
    body, tail = data[: at + 1], data[at + 1 :]
    if tail != _CHECKSUM + hashlib.sha256(body).hexdigest().encode() + b"\n":
        raise SnapshotDamaged("the checksum does not match: the file was changed")
    try:
        return written(_decode(body.decode()), data)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise SnapshotDamaged(f"not a format up to {FORMAT}: {type(error).__name__} {error}") from error


def _decode(text: str) -> Snapshot:
    # not splitlines: a Hive partition may be named with U+2028 and other characters that it takes for line ends
    addresses, *rest = text.removesuffix("\n").split("\n")
    rows: dict[str, list[Any]] = {}
    for line in rest:
        tag, _, value = line.partition(" ")
        row = orjson.loads(value)
        lines.check_shape(tag, row)
        rows.setdefault(tag, []).append(row)
    (header,) = rows.pop("header")
    if header["newest_ms"] is not None and type(header["newest_ms"]) is not int:
        raise SnapshotDamaged(f"header: newest_ms is {header['newest_ms']!r}")
    if not 1 <= header["format"] <= FORMAT:
        raise SnapshotDamaged(
            f"format {header['format']}, this version reads up to {FORMAT}: use a newer kafka2hive"
        )
    files = tuple(map(lines.parse_file, rows.pop("file", ())))
    if addresses != ("\t".join(f.final for f in files) or _NO_FILES):
        raise SnapshotDamaged("line 1 does not name the files of the file lines")
    snapshot = Snapshot(
        ledger_id=header["ledger"],
        service=header["service"],
        table=header["table"],
        generation=header["generation"],
        owner=header["owner"],
        epoch=header["epoch"],
        written_at=header["written_at"],
        previous=header["previous"],
        cluster_id=header["cluster"],
        location=header["location"],
        start=header["start"],
        newest_ms=header["newest_ms"],
        files=files,
        positions=tuple(map(lines.parse_position, rows.pop("position", ()))),
        accounts=tuple(map(lines.parse_account, rows.pop("account", ()))),
        gaps=tuple(map(lines.parse_gap, rows.pop("gap", ()))),
        losses=tuple(map(lines.parse_loss, rows.pop("loss", ()))),
        unregistered=tuple(map(lines.parse_partition, rows.pop("unregistered", ()))),
        registered=tuple(map(lines.parse_partition, rows.pop("registered", ()))),
        compared=tuple(map(lines.parse_compared, rows.pop("compared", ()))),
        forgotten=tuple(map(lines.parse_forgotten, rows.pop("forgotten", ()))),
        added=tuple(map(lines.parse_added, rows.pop("added", ()))),
        tracking=completeness_lines.parse_tracking(*rows.pop("tracking", [None])),
        open=tuple(map(completeness_lines.parse_open_partition, rows.pop("open", ()))),
        certificates=tuple(map(completeness_lines.parse_certificate, rows.pop("certificate", ()))),
        reopened=tuple(map(lines.parse_partition, rows.pop("reopened", ()))),
    )
    if rows:
        raise SnapshotDamaged(f"unknown lines: {', '.join(sorted(rows))}")
    return snapshot


def _line(tag: str, value: dict[str, Any]) -> str:
    return f"{tag} {orjson.dumps(value).decode()}"


def _format_of(s: Snapshot) -> int:
    """The oldest whose readers read it right."""
    if s.reopened:
        return 5
    if s.tracking is not None:
        return 4
    if any(a.account.more_rows for a in s.accounts):
        return 3
    return 2 if s.added else 1


def _header(s: Snapshot) -> dict[str, Any]:
    return {
        "format": _format_of(s),
        "ledger": s.ledger_id,
        "service": s.service,
        "table": s.table,
        "generation": s.generation,
        "owner": s.owner,
        "epoch": s.epoch,
        "written_at": s.written_at,
        "previous": s.previous,
        "cluster": s.cluster_id,
        "location": s.location,
        "start": s.start,
        "newest_ms": s.newest_ms,
    }
