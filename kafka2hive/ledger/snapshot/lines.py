"""The lines of a snapshot's text, but for its header: each value as a JSON object, and back.

A parser takes what `check_shape` has passed. What it raises besides (KeyError, TypeError, ValueError) is damage, too.
"""

from operator import itemgetter
from typing import Any

from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.offset_accounting import OffsetAccounting, RangeAccounting
from kafka2hive.model.offsets import OffsetRange, Position, TopicPartition
from kafka2hive.model.snapshot import (
    AcceptedGap,
    AcceptedLoss,
    AddedColumn,
    ComparedTable,
    ForgottenRegistration,
)

_COUNTS = ("read", "written", "filtered", "tombstones", "dead_lettered", "absent", "bytes")
_MORE = "more_rows"
"""Only where it is not 0: see format 3 (codec.py)."""


class _Shape:
    """The values of plain types that a line must have."""

    def __init__(self, texts: str, numbers: str) -> None:
        self._kinds = {**dict.fromkeys(texts.split(), str), **dict.fromkeys(numbers.split(), int)}
        self._values = itemgetter(*self._kinds)
        self._wanted = tuple(self._kinds.values())

    def check(self, tag: str, row: Any) -> None:
        if tuple(map(type, self._values(row))) != self._wanted:
            wrong = next(name for name, kind in self._kinds.items() if type(row[name]) is not kind)
            raise ValueError(f"{tag}: {wrong} is {row[wrong]!r}")


_SHAPES = {
    "file": _Shape("kind staged final table partition location checksum", "length rows task"),
    "header": _Shape(
        "ledger service table owner written_at previous cluster location start", "format generation epoch"
    ),
    "position": _Shape("topic topic_id", "number start end leader_epoch"),
    "account": _Shape("topic", "task number start end " + " ".join(_COUNTS)),
    "gap": _Shape("topic how at", "number start end epoch"),
    "loss": _Shape("path how at", "rows epoch"),
    "unregistered": _Shape("table partition location", ""),
    "registered": _Shape("table partition location", ""),
    "compared": _Shape("table location format columns partition_columns", ""),
    "forgotten": _Shape("table partition location reason by at", "epoch"),
    "added": _Shape("column type schema at", "epoch"),
    "tracking": _Shape("through", "since"),
    "open": _Shape("table partition location opened_at", "since files rows"),
    "reopened": _Shape("table partition location", ""),
    "certificate": _Shape("table partition location through policy success_file", "since files rows"),
}
"""Each line's values of plain types; the rest is checked where it is read."""


def check_shape(tag: str, row: Any) -> None:
    """Raises KeyError, TypeError, ValueError: a value is missing or of another type."""
    if shape := _SHAPES.get(tag):
        shape.check(tag, row)


def file(f: DataFile) -> dict[str, Any]:
    return {
        "kind": f.kind.value,
        "staged": f.staged,
        "final": f.final,
        **partition(f.hive_partition),
        "length": f.length,
        "rows": f.rows,
        "checksum": f.checksum,
        "task": f.task,
        "ranges": [[r.topic_partition.topic, r.topic_partition.number, r.start, r.end] for r in f.ranges],
    }


def parse_file(v: dict[str, Any]) -> DataFile:
    return DataFile(
        kind=FileKind(v["kind"]),
        staged=v["staged"],
        final=v["final"],
        hive_partition=parse_partition(v),
        length=v["length"],
        rows=v["rows"],
        checksum=v["checksum"],
        task=v["task"],
        ranges=tuple(map(_parse_file_range, v["ranges"])),
    )


def _parse_file_range(values: list[Any]) -> OffsetRange:
    topic, number, start, end = values
    if (type(topic), type(number), type(start), type(end)) != (str, int, int, int):
        raise ValueError(f"file: a range is {values!r}")
    return OffsetRange(TopicPartition(topic, number), start, end)


def position(p: Position) -> dict[str, Any]:
    return {
        "topic": p.topic_partition.topic,
        "topic_id": p.topic_id,
        "number": p.topic_partition.number,
        "start": p.start,
        "end": p.end,
        "leader_epoch": p.leader_epoch,
    }


def parse_position(v: dict[str, Any]) -> Position:
    topic_partition = TopicPartition(v["topic"], v["number"])
    return Position(topic_partition, v["start"], v["end"], v["topic_id"], v["leader_epoch"])


def account(a: RangeAccounting) -> dict[str, Any]:
    more = {_MORE: a.account.more_rows} if a.account.more_rows else {}
    return {"task": a.task, **_range(a.range), **{name: getattr(a.account, name) for name in _COUNTS}, **more}


def parse_account(v: dict[str, Any]) -> RangeAccounting:
    more = v.get(_MORE, 0)
    if type(more) is not int:
        raise ValueError(f"account: {_MORE} is {more!r}")
    counts = OffsetAccounting(*[*(v[name] for name in _COUNTS), more])
    return RangeAccounting(v["task"], _parse_range(v), counts)


def gap(g: AcceptedGap) -> dict[str, Any]:
    return {**_range(g.range), "how": g.reason, "at": g.accepted_at, "epoch": g.epoch}


def parse_gap(v: dict[str, Any]) -> AcceptedGap:
    return AcceptedGap(range=_parse_range(v), reason=v["how"], accepted_at=v["at"], epoch=v["epoch"])


def loss(x: AcceptedLoss) -> dict[str, Any]:
    return {"path": x.path, "rows": x.rows, "how": x.remedy, "at": x.accepted_at, "epoch": x.epoch}


def parse_loss(v: dict[str, Any]) -> AcceptedLoss:
    return AcceptedLoss(
        path=v["path"], remedy=v["how"], rows=v["rows"], accepted_at=v["at"], epoch=v["epoch"]
    )


def partition(p: HivePartition) -> dict[str, Any]:
    return {"table": p.table, "partition": p.path, "location": p.location}


def parse_partition(v: dict[str, Any]) -> HivePartition:
    return HivePartition(v["table"], v["partition"], v["location"])


def compared(c: ComparedTable) -> dict[str, Any]:
    return {
        "table": c.table,
        "location": c.location,
        "format": c.format,
        "columns": c.columns,
        "partition_columns": c.partition_columns,
    }


def parse_compared(v: dict[str, Any]) -> ComparedTable:
    return ComparedTable(
        table=v["table"],
        location=v["location"],
        format=v["format"],
        columns=v["columns"],
        partition_columns=v["partition_columns"],
    )


def forgotten(f: ForgottenRegistration) -> dict[str, Any]:
    by = {"reason": f.reason, "by": f.accepted_by, "at": f.accepted_at, "epoch": f.epoch}
    return {**partition(f.partition), **by}


def parse_forgotten(v: dict[str, Any]) -> ForgottenRegistration:
    return ForgottenRegistration(
        partition=parse_partition(v),
        reason=v["reason"],
        accepted_by=v["by"],
        accepted_at=v["at"],
        epoch=v["epoch"],
    )


def added(a: AddedColumn) -> dict[str, Any]:
    return {"column": a.name, "type": a.type, "schema": a.schema, "at": a.added_at, "epoch": a.epoch}


def parse_added(v: dict[str, Any]) -> AddedColumn:
    return AddedColumn(
        name=v["column"], type=v["type"], schema=v["schema"], added_at=v["at"], epoch=v["epoch"]
    )


def _range(r: OffsetRange) -> dict[str, Any]:
    tp = r.topic_partition
    return {"topic": tp.topic, "number": tp.number, "start": r.start, "end": r.end}


def _parse_range(v: dict[str, Any]) -> OffsetRange:
    return OffsetRange(TopicPartition(v["topic"], v["number"]), v["start"], v["end"])
