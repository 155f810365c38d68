"""`kafka2hive dead-letters`: the contents of the dead-letter table. This module only reads.

The ledgers name the files; no directory is listed. One file is in memory at a time. A file that is missing (perhaps deleted
by somebody's clean-up job) or damaged is reported, and the other files are still read.
"""

import datetime
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka2hive.config.keys import ServiceMap
from kafka2hive.ledger.history import Letters, final_snapshots
from kafka2hive.ledger.look import View
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.files import DataFile
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.paths.path import base_name
from kafka2hive.model.paths.table_directory import DataFileName
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
_COUNTED = ["topic", "partition", "offset", "reason", "detail", "epoch", "timestamp"]
_PAYLOAD = ["key", "value", "headers"]
_NEWEST_FIRST = [("epoch", "descending"), ("timestamp", "descending"), ("offset", "descending")]

Age = tuple[int, bool, datetime.datetime | None, int]
"""Orders letters: epoch, timestamp (letters without one are older), offset."""


@dataclass(frozen=True, slots=True)
class LetterGroup:
    """`count` dead letters of one source table, topic and reason; `place` and `detail` describe the newest one."""

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
    """One dead letter as stored in `file`. `timestamp` is the record's, in UTC; None if it has no timestamp.

    If `is_hidden`, the table has masks, and key, value and headers are left out, whatever the file holds of them.
    """

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
    is_hidden: bool = False

    @property
    def time_text(self) -> str | None:
        """`timestamp` as ISO 8601 in milliseconds."""
        return self.timestamp.isoformat(timespec="milliseconds") + "Z" if self.timestamp else None


@dataclass(frozen=True, slots=True)
class LetterPage:
    """Dead letters up to a limit; `more` says whether further ones exist."""

    letters: tuple[Letter, ...]
    more: bool = False


def list_dead_letters(wiring: Wiring, tables: Collection[str], limit: int) -> DeadLetterList:
    """Count the dead letters of these source tables, or of all, by table, topic and reason.

    Raises ServiceUnavailable, ManualActionRequired (also if the ledger of a table is gone), ConfigError (no such table).
    """
    expired: list[DataFile] = []
    if not tables:
        refuse_lost_ledgers(wiring, (), [paths.table for paths in ledger_tables(wiring)])
    result = count_letters(wiring, _files(wiring, tables, lambda _file: True, expired), limit)
    return replace(result, expired=sum(file.rows for file in expired), expired_files=len(expired))


def count_letters(wiring: Wiring, files_of: Iterable[tuple[str, DataFile]], limit: int) -> DeadLetterList:
    """Count the dead letters of these files. `files_of` has each file with its source table, a table's newest file first.

    Raises StorageError, and what the iterable raises.
    """
    groups: dict[tuple[str, str, str], tuple[Age, LetterGroup]] = {}
    not_read: list[tuple[str, str]] = []
    files = letters = 0
    for source, file in files_of:
        rows = _rows(wiring, file, _COUNTED, not_read)
        if rows is None:
            continue
        files += 1
        letters += len(rows)
        for age, group in _groups(source, rows):
            key = group.table, group.topic, group.reason
            known_age, known = groups.get(key, (age, replace(group, count=0)))
            newest = group if age > known_age else known
            groups[key] = max(age, known_age), replace(newest, count=known.count + group.count)
    by_frequency = sorted(
        (g for _, g in groups.values()), key=lambda g: (-g.count, g.table, g.topic, g.reason)
    )
    return DeadLetterList(
        letters=letters,
        files=files,
        groups=tuple(by_frequency[:limit]),
        more_groups=max(0, len(by_frequency) - limit),
        not_read=tuple(not_read),
    )


def show_dead_letters(
    wiring: Wiring, place: OffsetPlace | None, tables: Collection[str], limit: int
) -> LetterPage:
    """Return the dead letters of one place, or those of some tables, the newest first: by epoch, then by the record's timestamp.

    Raises ServiceUnavailable, ManualActionRequired, ConfigError (no such table, no dead letter).
    """
    letters: list[Letter] = []
    not_read: list[tuple[str, str]] = []
    expired: list[DataFile] = []

    def may_hold(file: DataFile) -> bool:
        return place is None or any(map(place.is_in, file.ranges))

    for _, of_epoch in groupby(_files(wiring, tables, may_hold, expired), key=_table_and_epoch):
        most, newest = limit + 1 - len(letters), list[Letter]()
        for source, file in of_epoch:
            rows = _rows(wiring, file, None, not_read)
            if rows is None:
                continue
            rows = rows if place is None else rows.filter(_is_at(rows, place))
            rows = rows.take(pc.sort_indices(rows, sort_keys=_NEWEST_FIRST)[:most])
            is_hidden = _has_masks(wiring.map, source)
            newest += _letters(source, file, rows, is_hidden=is_hidden)
            newest = sorted(newest, key=_age_of, reverse=True)[:most]
        letters += newest
        if len(letters) > limit:
            return LetterPage(tuple(letters[:limit]), more=True)
    if not letters:
        refuse_lost_ledgers(wiring, (), [paths.table for paths in ledger_tables(wiring)])
        gone = f"; not read: {', '.join(f'{path} ({why})' for path, why in not_read)}" if not_read else ""
        gone += f"; expired: {', '.join(file.final for file in expired[:_SHOWN])}" if expired else ""
        raise ConfigError(
            "usage.no_dead_letter",
            f"service {wiring.map.service} has no dead letter of {place or ', '.join(tables)}{gone}",
            "`kafka2hive dead-letters list -c MAP` shows all dead letters;"
            " `kafka2hive where TOPIC-PARTITION@OFFSET -c MAP` shows where a record went",
        )
    return LetterPage(tuple(letters))


def _table_and_epoch(file: tuple[str, DataFile]) -> tuple[str, int]:
    parsed = DataFileName.parse(base_name(file[1].final))
    return file[0], parsed[0].epoch if parsed else 0


def _age_of(letter: Letter) -> Age:
    return letter.epoch, letter.timestamp is not None, letter.timestamp, letter.place.offset


def _files(
    wiring: Wiring, only: Collection[str], wanted: Callable[[DataFile], bool], expired: list[DataFile]
) -> Iterator[tuple[str, DataFile]]:
    """Yield each dead-letter file of finalised epochs with its source table, a table's newest epoch first.

    Files that are recorded as lost, and those whose letters were replayed, are left out. Those that retention has dropped are
    added to `expired` instead.
    """
    paths = ledger_tables(wiring)
    for table in only:
        require_table(wiring, table, [p.table for p in paths])

    def of_table(view: View) -> Iterator[tuple[str, DataFile]]:
        if view.state.service != wiring.map.service:
            return
        letters = Letters(view.state)
        for snapshot in final_snapshots(wiring.ports.files, view.paths, view.directory):
            yield from ((view.paths.table, file) for file in letters.add(snapshot) if wanted(file))
        expired.extend(filter(wanted, letters.expired))

    return readable(each_ledger(wiring, (p for p in paths if not only or p.table in only), of_table))


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


def _groups(table: str, rows: pa.Table) -> Iterator[tuple[Age, LetterGroup]]:
    """Count the rows of one file by topic and reason, each count with the age of its newest letter."""
    firsts = [
        (name, "first", pc.ScalarAggregateOptions(skip_nulls=False))
        for name in ("partition", "offset", "detail", "epoch", "timestamp")
    ]
    grouped = rows.sort_by(_NEWEST_FIRST).group_by(["topic", "reason"], use_threads=False)
    for row in grouped.aggregate([("offset", "count"), *firsts]).to_pylist():
        group = LetterGroup(
            table=table,
            topic=row["topic"],
            reason=row["reason"],
            count=row["offset_count"],
            place=OffsetPlace(TopicPartition(row["topic"], row["partition_first"]), row["offset_first"]),
            detail=row["detail_first"] or "",
        )
        timestamp = row["timestamp_first"]
        yield (row["epoch_first"], timestamp is not None, timestamp, group.place.offset), group


def _is_at(rows: pa.Table, place: OffsetPlace) -> pa.ChunkedArray:
    at = place.topic_partition
    return pc.and_(
        pc.and_(pc.equal(rows["topic"], at.topic), pc.equal(rows["partition"], at.number)),
        pc.equal(rows["offset"], place.offset),
    )


def _has_masks(service_map: ServiceMap, table: str) -> bool:
    """Return whether a rule of the map with masks can be the table's."""
    return any(
        re.fullmatch(".+".join(map(re.escape, re.split(r"\{[^{}]*\}", rule.table))), table, re.IGNORECASE)
        for rule in service_map.tables
        if any(column.mask is not None for column in rule.decoded_columns)
    )


def _letters(table: str, file: DataFile, rows: pa.Table, *, is_hidden: bool) -> list[Letter]:
    if is_hidden:
        rows = rows.drop_columns(_PAYLOAD)
    return [
        Letter(
            table=table,
            place=OffsetPlace(TopicPartition(row["topic"], row["partition"]), row["offset"]),
            epoch=row["epoch"],
            reason=row["reason"],
            detail=row["detail"] or "",
            timestamp=row["timestamp"],
            key=row.get("key"),
            value=row.get("value"),
            headers=_headers(row.get("headers")),
            file=file.final,
            is_hidden=is_hidden,
        )
        for row in rows.to_pylist()
    ]


def _headers(pairs: list[dict[str, Any]] | None) -> tuple[tuple[str, bytes | None], ...] | None:
    return None if pairs is None else tuple((pair["key"], pair["value"]) for pair in pairs)
