"""`kafka2hive dead-letters`: the contents of the dead-letter table. This module only reads.

The ledgers name the files; no directory is listed. One file is in memory at a time. A file that is missing (perhaps deleted
by somebody's clean-up job) or damaged is reported, and the other files are still read.
"""

import datetime
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka2hive.ledger.history import Letters, final_snapshots
from kafka2hive.ledger.look import View
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.files import DataFile
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.service.inspect.where import OffsetPlace
from kafka2hive.service.tables.ledgers import (
    each_ledger,
    ledger_tables,
    readable,
    refuse_lost_ledgers,
    require_table,
)
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import NotFound

_SHOWN = 3
_UNREADABLE = (pa.ArrowException, OSError, KeyError)


@dataclass(frozen=True, slots=True)
class LetterGroup:
    """`count` dead letters of one source table, topic and reason; `place` and `detail` describe one letter of the newest file."""

    table: str
    topic: str
    reason: str
    count: int
    place: OffsetPlace
    detail: str


@dataclass(frozen=True, slots=True)
class DeadLetterList:
    """The numbers of dead letters and files, and the groups of letters, the most frequent first, up to a limit.

    `more_groups` is the number of groups beyond the limit. `not_read` has the paths of files that are missing or damaged,
    each with the reason. `expired` and `expired_files` count what retention has dropped; the other numbers leave it out.
    """

    letters: int
    files: int
    groups: tuple[LetterGroup, ...]
    more_groups: int = 0
    not_read: tuple[tuple[str, str], ...] = ()
    expired: int = 0
    expired_files: int = 0


@dataclass(frozen=True, slots=True)
class Letter:
    """One dead letter as stored in `file`. `timestamp` is the record's, in UTC; None if it has no timestamp."""

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
        """`timestamp` as ISO 8601 in milliseconds."""
        return self.timestamp.isoformat(timespec="milliseconds") + "Z" if self.timestamp else None


@dataclass(frozen=True, slots=True)
class LetterPage:
    """Dead letters up to a limit; `more` says whether further ones exist."""

    letters: tuple[Letter, ...]
    more: bool = False


def list_dead_letters(wiring: Wiring, table: str | None, limit: int) -> DeadLetterList:
    """Count the dead letters of one or all source tables by table, topic and reason.

    Raises ServiceUnavailable, ManualActionRequired (also if the ledger of a table is gone), ConfigError (no such table).
    """
    expired: list[DataFile] = []
    if table is None:
        refuse_lost_ledgers(wiring, (), [paths.table for paths in ledger_tables(wiring)])
    result = count_letters(wiring, _files(wiring, table, lambda _file: True, expired), limit)
    return replace(result, expired=sum(file.rows for file in expired), expired_files=len(expired))


def count_letters(wiring: Wiring, files_of: Iterable[tuple[str, DataFile]], limit: int) -> DeadLetterList:
    """Count the dead letters of these files. `files_of` has each file with its source table, a table's newest file first.

    Raises StorageError, and what the iterable raises.
    """
    groups: dict[tuple[str, str, str], LetterGroup] = {}
    not_read: list[tuple[str, str]] = []
    files = letters = 0
    for source, file in files_of:
        rows = _rows(wiring, file, ["topic", "partition", "offset", "reason", "detail"], not_read)
        if rows is None:
            continue
        files += 1
        letters += len(rows)
        for group in _groups(source, rows):
            key = group.table, group.topic, group.reason
            known = groups.get(key)
            groups[key] = group if known is None else replace(known, count=known.count + group.count)
    by_frequency = sorted(groups.values(), key=lambda g: (-g.count, g.table, g.topic, g.reason))
    return DeadLetterList(
        letters=letters,
        files=files,
        groups=tuple(by_frequency[:limit]),
        more_groups=max(0, len(by_frequency) - limit),
        not_read=tuple(not_read),
    )


def show_dead_letters(wiring: Wiring, place: OffsetPlace | None, table: str | None, limit: int) -> LetterPage:
    """Return the dead letters of one place, or those of a table; the newest epoch comes first.

    Raises ServiceUnavailable, ManualActionRequired, ConfigError (no such table, no dead letter).
    """
    letters: list[Letter] = []
    not_read: list[tuple[str, str]] = []
    expired: list[DataFile] = []

    def may_hold(file: DataFile) -> bool:
        return place is None or any(map(place.is_in, file.ranges))

    for source, file in _files(wiring, table, may_hold, expired):
        rows = _rows(wiring, file, None, not_read)
        if rows is not None and place is not None:
            rows = rows.filter(_is_at(rows, place))
        if rows is not None:
            letters += _letters(source, file, rows.slice(0, limit + 1 - len(letters)))
        if len(letters) > limit:
            return LetterPage(tuple(letters[:limit]), more=True)
    if not letters:
        refuse_lost_ledgers(wiring, (), [paths.table for paths in ledger_tables(wiring)])
        gone = f"; not read: {', '.join(f'{path} ({why})' for path, why in not_read)}" if not_read else ""
        gone += f"; expired: {', '.join(file.final for file in expired[:_SHOWN])}" if expired else ""
        raise ConfigError(
            "usage.no_dead_letter",
            f"service {wiring.map.service} has no dead letter of {place or table}{gone}",
            "`kafka2hive dead-letters list -c MAP` shows all dead letters;"
            " `kafka2hive where TOPIC-PARTITION@OFFSET -c MAP` shows where a record went",
        )
    return LetterPage(tuple(letters))


def _files(
    wiring: Wiring, only: str | None, wanted: Callable[[DataFile], bool], expired: list[DataFile]
) -> Iterator[tuple[str, DataFile]]:
    """Yield each dead-letter file of finalised epochs with its source table, a table's newest epoch first.

    Files that are recorded as lost, and those whose letters were replayed, are left out. Those that retention has dropped are
    added to `expired` instead.
    """
    paths = ledger_tables(wiring)
    if only is not None:
        require_table(wiring, only, [p.table for p in paths])

    def of_table(view: View) -> Iterator[tuple[str, DataFile]]:
        if view.state.service != wiring.map.service:
            return
        letters = Letters(view.state)
        for snapshot in final_snapshots(wiring.ports.files, view.paths, view.directory):
            yield from ((view.paths.table, file) for file in letters.add(snapshot) if wanted(file))
        expired.extend(filter(wanted, letters.expired))

    return readable(each_ledger(wiring, (p for p in paths if only in (None, p.table)), of_table))


def _rows(
    wiring: Wiring, file: DataFile, columns: list[str] | None, not_read: list[tuple[str, str]]
) -> pa.Table | None:
    """Read a file; if it is missing or damaged, add it to `not_read` and return None. Raises StorageError."""
    try:
        data = wiring.ports.files.read(file.final)
    except NotFound:
        not_read.append((file.final, "does not exist"))
        return None
    try:
        return pq.read_table(BytesIO(data), columns=columns, coerce_int96_timestamp_unit="us")
    except _UNREADABLE as error:
        not_read.append((file.final, f"is damaged: {error}"))
        return None


def _groups(table: str, rows: pa.Table) -> list[LetterGroup]:
    """Count the rows of one file by topic and reason."""
    aggregates = [("offset", "count"), ("partition", "first"), ("offset", "first"), ("detail", "first")]
    counted = rows.group_by(["topic", "reason"], use_threads=False).aggregate(aggregates)
    return [
        LetterGroup(
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
