"""`kafka2hive dead-letters`: what lies in the dead-letter table, found by the ledgers, not by listing. Only reads.

One file is in memory at a time. A file that is not there (retention, a recorded loss) or cannot be read is counted and
named; the commands go on.
"""

import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka2hive.ledger.history import final_snapshots
from kafka2hive.ledger.look import View
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.service.inspect.where import OffsetPlace
from kafka2hive.service.tables.ledgers import each_ledger, ledger_tables, readable, unknown_tables
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import NotFound

_UNREADABLE = (pa.ArrowException, OSError, KeyError)


@dataclass(frozen=True, slots=True)
class Group:
    """`count` dead letters of one source table, topic and reason; `place` and `detail` are those of the newest read."""

    table: str
    topic: str
    reason: str
    count: int
    place: OffsetPlace
    detail: str


@dataclass(frozen=True, slots=True)
class DeadLetterList:
    """`groups`: the most frequent first, at most as many as asked for; `more_groups` were left out.

    `not_read`: addresses of files that are not there or cannot be read, each with the reason.
    """

    letters: int
    files: int
    groups: tuple[Group, ...]
    more_groups: int = 0
    not_read: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Letter:
    """One dead letter, as its file holds it. `timestamp`: the record's, in UTC, None where it has none."""

    table: str
    place: OffsetPlace
    epoch: int
    reason: str
    detail: str
    timestamp: datetime.datetime | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] | None
    file: str

    @property
    def time_text(self) -> str | None:
        """ISO 8601 to the millisecond."""
        return self.timestamp.isoformat(timespec="milliseconds") + "Z" if self.timestamp else None


@dataclass(frozen=True, slots=True)
class FoundLetters:
    """`more`: there are further ones, which nobody asked for."""

    letters: tuple[Letter, ...]
    more: bool = False


def list_dead_letters(wiring: Wiring, table: str | None, limit: int) -> DeadLetterList:
    """Counts by source table, topic and reason. Raises ServiceUnavailable, ManualActionRequired, ConfigError (no such table)."""
    groups: dict[tuple[str, str, str], Group] = {}
    not_read: list[tuple[str, str]] = []
    files = letters = 0
    for source, file in _files(wiring, table, lambda _file: True):
        rows = _rows(wiring, file, ["topic", "partition", "offset", "reason", "detail"], not_read)
        if rows is None:
            continue
        files += 1
        letters += len(rows)
        for group in _grouped(source, rows):
            key = group.table, group.topic, group.reason
            known = groups.get(key)
            groups[key] = group if known is None else replace(known, count=known.count + group.count)
    found = sorted(groups.values(), key=lambda g: (-g.count, g.table, g.topic, g.reason))
    return DeadLetterList(
        letters=letters,
        files=files,
        groups=tuple(found[:limit]),
        more_groups=max(0, len(found) - limit),
        not_read=tuple(not_read),
    )


def show_dead_letters(
    wiring: Wiring, place: OffsetPlace | None, table: str | None, limit: int
) -> FoundLetters:
    """The dead letters of one place, else the newest of a table; the newest epoch first.

    Raises ServiceUnavailable, ManualActionRequired, ConfigError (no such table, no dead letter there).
    """
    found: list[Letter] = []
    not_read: list[tuple[str, str]] = []
    for source, file in _files(
        wiring, table, lambda file: place is None or any(map(place.is_in, file.ranges))
    ):
        rows = _rows(wiring, file, None, not_read)
        if rows is not None and place is not None:
            rows = rows.filter(_is_at(rows, place))
        if rows is not None:
            found += _letters(source, file, rows.slice(0, limit + 1 - len(found)))
        if len(found) > limit:
            return FoundLetters(tuple(found[:limit]), more=True)
    if not found:
        gone = f"; not read: {', '.join(f'{path} ({why})' for path, why in not_read)}" if not_read else ""
        raise ConfigError(
            "usage.no_dead_letter",
            f"{place or table}: no dead letter of service {wiring.map.service} is there{gone}",
            "`kafka2hive dead-letters list -c MAP` shows what there is;"
            " `kafka2hive where TOPIC-PARTITION@OFFSET -c MAP` where a record went",
        )
    return FoundLetters(tuple(found))


def _files(
    wiring: Wiring, only: str | None, wanted: Callable[[DataFile], bool]
) -> Iterator[tuple[str, DataFile]]:
    """Source table and file of every dead-letter file of finished epochs, the newest epoch of a table first."""
    paths = ledger_tables(wiring)
    for _, error in unknown_tables(wiring, [only] if only is not None else [], [p.table for p in paths]):
        raise error

    def of_table(view: View) -> Iterator[tuple[str, DataFile]]:
        if view.state.service != wiring.map.service:
            return
        lost = {loss.path for loss in view.state.losses}
        for snapshot in final_snapshots(wiring.ports.files, view.paths, view.directory):
            for file in snapshot.files:
                if file.kind is FileKind.DEAD_LETTER and file.final not in lost and wanted(file):
                    yield view.paths.table, file

    return readable(each_ledger(wiring, (p for p in paths if only in (None, p.table)), of_table))


def _rows(
    wiring: Wiring, file: DataFile, columns: list[str] | None, not_read: list[tuple[str, str]]
) -> pa.Table | None:
    """A file's rows; None, and an entry in `not_read`, for one that is not there or damaged. Raises StorageError."""
    try:
        data = wiring.ports.files.read(file.final)
    except NotFound:
        not_read.append((file.final, "is not there"))
        return None
    try:
        return pq.read_table(BytesIO(data), columns=columns, coerce_int96_timestamp_unit="us")
    except _UNREADABLE as error:
        not_read.append((file.final, f"is damaged: {error}"))
        return None


def _grouped(table: str, rows: pa.Table) -> list[Group]:
    """Counts of one file by topic and reason, in Arrow."""
    aggregates = [("offset", "count"), ("partition", "first"), ("offset", "first"), ("detail", "first")]
    counted = rows.group_by(["topic", "reason"], use_threads=False).aggregate(aggregates)
    return [
        Group(
            table=table,
            topic=row["topic"],
            reason=row["reason"],
            count=row["offset_count"],
            place=OffsetPlace(TopicPartition(row["topic"], row["partition_first"]), row["offset_first"]),
            detail=row["detail_first"] or "",
        )
        for row in counted.to_pylist()
    ]


def _is_at(rows: pa.Table, place: OffsetPlace) -> pa.ChunkedArray:
    at = place.topic_partition
    return pc.and_(
        pc.and_(pc.equal(rows["topic"], at.topic), pc.equal(rows["partition"], at.number)),
        pc.equal(rows["offset"], place.offset),
    )


def _letters(table: str, file: DataFile, rows: pa.Table) -> list[Letter]:
    return [
        Letter(
            table=table,
            place=OffsetPlace(TopicPartition(row["topic"], row["partition"]), row["offset"]),
            epoch=row["epoch"],
            reason=row["reason"],
            detail=row["detail"] or "",
            timestamp=row["timestamp"],
            key=row["key"],
            value=row["value"],
            headers=_headers(row["headers"]),
            file=file.final,
        )
        for row in rows.to_pylist()
    ]


def _headers(pairs: list[dict[str, Any]] | None) -> tuple[tuple[str, bytes | None], ...] | None:
    return None if pairs is None else tuple((pair["key"], pair["value"]) for pair in pairs)
