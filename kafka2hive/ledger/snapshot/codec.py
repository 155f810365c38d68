"""A snapshot as text a person can read, and back. Format version 1.

Line 1: the final addresses of the epoch's files, tab-separated (`-` without files), as the original Kafka2Hive wrote
them. Then one line each, a tag and a JSON object: `file`s, one `header`, `position`s (all of the table's topic
partitions), `account`s by task, `gap`s, `losse`s, `pending registration`s, `registered` partitions, `compared` tables and
`forgotten`
registrations. Last `checksum sha256:<hex>` over every byte before it; the next snapshot's header repeats it.
A reader of version N reads every version <= N (frozen files: tests/contract/snapshots).
"""

import hashlib
from collections.abc import Iterable
from typing import Any

import orjson

from kafka2hive.ledger.snapshot import hive_lines
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.offset_accounting import OffsetAccounting, RangeAccounting
from kafka2hive.model.offsets import OffsetRange, Position, TopicPartition
from kafka2hive.model.snapshot import AcceptedGap, AcceptedLoss, Snapshot

FORMAT = 1
_CHECKSUM = b"checksum sha256:"
_NO_FILES = "-"
_ACCOUNT_FIELDS = ("read", "written", "filtered", "tombstones", "dead_lettered", "absent", "bytes")


class SnapshotDamaged(ValueError):
    """The bytes are not a whole, unchanged snapshot of a format this version reads."""


def encode(snapshot: Snapshot) -> bytes:
    lines = ["\t".join(f.final for f in snapshot.files) or _NO_FILES]
    lines += [_line("file", _file(f)) for f in snapshot.files]
    lines.append(_line("header", _header(snapshot)))
    lines += [_line("position", _position(p)) for p in snapshot.positions]
    lines += [
        _line("account", {"task": a.task, **_range(a.range), **_account(a.account)})
        for a in snapshot.accounts
    ]
    lines += [
        _line("gap", {**_range(g.range), **_accepted(g.reason, g.accepted_at, g.epoch)})
        for g in snapshot.gaps
    ]
    lines += [
        _line("loss", {"path": x.path, "rows": x.rows, **_accepted(x.remedy, x.accepted_at, x.epoch)})
        for x in snapshot.losses
    ]
    lines += [_line("unregistered", hive_lines.partition(d)) for d in snapshot.unregistered]
    lines += [_line("registered", hive_lines.partition(r)) for r in snapshot.registered]
    lines += [_line("compared", hive_lines.compared(c)) for c in snapshot.compared]
    lines += [_line("forgotten", hive_lines.forgotten(f)) for f in snapshot.forgotten]
    body = ("\n".join(lines) + "\n").encode()
    return body + _CHECKSUM + hashlib.sha256(body).hexdigest().encode() + b"\n"


def checksum_of(snapshot: Snapshot) -> str:
    """What stands in the last line of its text, `sha256:<hex>`."""
    return snapshot.checksum or written(snapshot, encode(snapshot)).checksum


def written(snapshot: Snapshot, text: bytes) -> Snapshot:
    """The snapshot that knows the checksum of its text."""
    return snapshot.with_checksum(text[text.rfind(_CHECKSUM) + len(b"checksum ") : -1].decode())


def decode(data: bytes) -> Snapshot:
    """Raises SnapshotDamaged, naming what is wrong."""
    at = data.rfind(b"\n" + _CHECKSUM)
    if at < 0:
        raise SnapshotDamaged("no checksum line: cut off, or not a snapshot")
    body, tail = data[: at + 1], data[at + 1 :]
    if tail != _CHECKSUM + hashlib.sha256(body).hexdigest().encode() + b"\n":
        raise SnapshotDamaged("the checksum does not match: the file was changed")
    try:
        return written(_decode(body.decode()), data)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise SnapshotDamaged(f"not format {FORMAT}: {type(error).__name__} {error}") from error


def _decode(text: str) -> Snapshot:
    # not splitlines: a Hive partition may be named with U+2028 and other characters that it takes for line ends
    addresses, *lines = text.removesuffix("\n").split("\n")
    rows: dict[str, list[Any]] = {}
    for line in lines:
        tag, _, value = line.partition(" ")
        row = orjson.loads(value)
        for name, kind in _SHAPES.get(tag, _UNKNOWN).items():
            if type(row[name]) is not kind:
                raise SnapshotDamaged(f"{tag}: {name} is {row[name]!r}")
        rows.setdefault(tag, []).append(row)
    (header,) = rows.pop("header")
    if header["newest_ms"] is not None and type(header["newest_ms"]) is not int:
        raise SnapshotDamaged(f"header: newest_ms is {header['newest_ms']!r}")
    if not 1 <= header["format"] <= FORMAT:
        raise SnapshotDamaged(
            f"format {header['format']}, this version reads up to {FORMAT}: use a newer kafka2hive"
        )
    files = tuple(map(_parse_file, rows.pop("file", ())))
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
        positions=tuple(map(_parse_position, rows.pop("position", ()))),
        accounts=tuple(
            RangeAccounting(a["task"], _parse_range(a), _parse_account(a)) for a in rows.pop("account", ())
        ),
        gaps=tuple(
            AcceptedGap(range=_parse_range(g), reason=g["how"], accepted_at=g["at"], epoch=g["epoch"])
            for g in rows.pop("gap", ())
        ),
        losses=tuple(
            AcceptedLoss(
                path=x["path"], remedy=x["how"], rows=x["rows"], accepted_at=x["at"], epoch=x["epoch"]
            )
            for x in rows.pop("loss", ())
        ),
        unregistered=tuple(map(hive_lines.parse_partition, rows.pop("unregistered", ()))),
        registered=tuple(map(hive_lines.parse_partition, rows.pop("registered", ()))),
        compared=tuple(map(hive_lines.parse_compared, rows.pop("compared", ()))),
        forgotten=tuple(map(hive_lines.parse_forgotten, rows.pop("forgotten", ()))),
    )
    if rows:
        raise SnapshotDamaged(f"unknown lines: {', '.join(sorted(rows))}")
    return snapshot


def _shape(texts: str, numbers: str) -> dict[str, type]:
    return {**dict.fromkeys(texts.split(), str), **dict.fromkeys(numbers.split(), int)}


_SHAPES = {
    "file": _shape("kind staged final table partition location checksum", "length rows task"),
    "header": _shape(
        "ledger service table owner written_at previous cluster location start", "format generation epoch"
    ),
    "position": _shape("topic topic_id", "number start end leader_epoch"),
    "account": _shape("topic", "task number start end " + " ".join(_ACCOUNT_FIELDS)),
    "gap": _shape("topic how at", "number start end epoch"),
    "loss": _shape("path how at", "rows epoch"),
    "unregistered": _shape("table partition location", ""),
    "registered": _shape("table partition location", ""),
    "compared": _shape("table location format columns partition_columns", ""),
    "forgotten": _shape("table partition location reason by at", "epoch"),
}
"""Each line's values of plain types; the rest is checked where it is read."""
_UNKNOWN: dict[str, type] = {}


def _line(tag: str, value: dict[str, Any]) -> str:
    return f"{tag} {orjson.dumps(value).decode()}"


def _header(s: Snapshot) -> dict[str, Any]:
    return {
        "format": FORMAT,
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


def _range(r: OffsetRange) -> dict[str, Any]:
    return {
        "topic": r.topic_partition.topic,
        "number": r.topic_partition.number,
        "start": r.start,
        "end": r.end,
    }


def _parse_range(v: dict[str, Any]) -> OffsetRange:
    return OffsetRange(TopicPartition(v["topic"], v["number"]), v["start"], v["end"])


def _account(a: OffsetAccounting) -> dict[str, Any]:
    return {name: getattr(a, name) for name in _ACCOUNT_FIELDS}


def _parse_account(v: dict[str, Any]) -> OffsetAccounting:
    return OffsetAccounting(*(v[name] for name in _ACCOUNT_FIELDS))


def _accepted(how: str, at: str, epoch: int) -> dict[str, Any]:
    return {"how": how, "at": at, "epoch": epoch}


def _position(p: Position) -> dict[str, Any]:
    return {
        "topic": p.topic_partition.topic,
        "topic_id": p.topic_id,
        "number": p.topic_partition.number,
        "start": p.start,
        "end": p.end,
        "leader_epoch": p.leader_epoch,
    }


def _parse_position(v: dict[str, Any]) -> Position:
    topic_partition = TopicPartition(v["topic"], v["number"])
    return Position(topic_partition, v["start"], v["end"], v["topic_id"], v["leader_epoch"])


def _file(f: DataFile) -> dict[str, Any]:
    return {
        "kind": f.kind.value,
        "staged": f.staged,
        "final": f.final,
        **hive_lines.partition(f.hive_partition),
        "length": f.length,
        "rows": f.rows,
        "checksum": f.checksum,
        "task": f.task,
        "ranges": [list(_range_tuple(r)) for r in f.ranges],
    }


def _range_tuple(r: OffsetRange) -> Iterable[Any]:
    return r.topic_partition.topic, r.topic_partition.number, r.start, r.end


def _parse_file(v: dict[str, Any]) -> DataFile:
    return DataFile(
        kind=FileKind(v["kind"]),
        staged=v["staged"],
        final=v["final"],
        hive_partition=hive_lines.parse_partition(v),
        length=v["length"],
        rows=v["rows"],
        checksum=v["checksum"],
        task=v["task"],
        ranges=tuple(map(_parse_range_tuple, v["ranges"])),
    )


def _parse_range_tuple(values: list[Any]) -> OffsetRange:
    topic, number, start, end = values
    if (type(topic), type(number), type(start), type(end)) != (str, int, int, int):
        raise SnapshotDamaged(f"file: a range is {values!r}")
    return OffsetRange(TopicPartition(topic, number), start, end)
