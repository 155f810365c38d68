"""`kafka2hive counts`: how many of a table's records have their Kafka timestamp in each window of time. Only reads."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from kafka2hive.ledger.history import final_snapshots
from kafka2hive.ledger.look import View
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.offsets import OffsetAccounting, TopicPartition
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.model.text import unix_seconds
from kafka2hive.model.window_counts import NO_WINDOW, WindowCount
from kafka2hive.service.tables.ledgers import each_ledger, ledger_tables, readable, require_table
from kafka2hive.service.wiring import Wiring

ALL = -1
"""The number of a sum over all topic partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRequest:
    """What to add up: one topic ("" for all), and the windows that begin in `[begin, end)`, in Unix seconds.

    `by_partition`: one sum for each topic partition instead of each topic.
    """

    topic: str = ""
    begin: float = -math.inf
    end: float = math.inf
    by_partition: bool = False

    def has(self, window: WindowCount) -> bool:
        if self.topic not in ("", window.topic_partition.topic):
            return False
        return window.start == NO_WINDOW or self.begin <= (unix_seconds(window.start) or 0) < self.end


def moment(text: str) -> float:
    """Return an ISO 8601 time in Unix seconds. Raises ConfigError (`usage.time`)."""
    seconds = unix_seconds(text)
    if seconds is None:
        raise ConfigError("usage.time", f"not a time: {text!r}", "write it as 2026-11-21T08:00:00Z")
    return seconds


@dataclass(frozen=True, slots=True, order=True)
class WindowKey:
    """A window of a topic, or of one of its partitions; `number` is ALL for the sum."""

    topic: str
    start: str
    seconds: int
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSum:
    """The records of a window in all epochs. `first` and `last` are offsets, which only a single topic partition has."""

    records: int = 0
    dead_lettered: int = 0
    bytes: int = 0
    first: int = 0
    last: int = 0


@dataclass(slots=True)
class TableCounts:
    """The counts of one table.

    `uncounted` records were read by epochs without counts, because the map had no `counts` then, or the ledger was rebuilt. Their
    timestamps are at most `uncounted_through_ms`, so the counts of later windows are whole. `epochs` is how many snapshots were
    read; older ones cannot have a record of the selected time.
    """

    table: str
    windows: dict[WindowKey, WindowSum] = field(default_factory=dict)
    uncounted: int = 0
    uncounted_through_ms: int | None = None
    epochs: int = 0
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    """The table's positions."""

    def is_whole(self, key: WindowKey) -> bool:
        """Return whether all records of the window are counted."""
        return key.start != NO_WINDOW and self.is_whole_from(unix_seconds(key.start) or 0)

    def is_whole_from(self, seconds: float) -> bool:
        """Return whether all records with this timestamp (Unix seconds) or a later one are counted."""
        through = self.uncounted_through_ms
        return not self.uncounted or (through is not None and seconds * 1000 > through)


def table_counts(wiring: Wiring, table: str, request: CountRequest) -> TableCounts:
    """Add up the counts of a table from its ledger and archive. Memory grows with the selected windows, not with the epochs.

    Raises ConfigError (no such table), ManualActionRequired, ServiceUnavailable.
    """

    def add_up(view: View) -> Iterator[TableCounts]:
        pending = [view.state] if view.newest.pending else []
        finals = final_snapshots(wiring.ports.files, view.paths, view.directory)
        counts = counts_of(table, _once(pending, finals), request)
        counts.ends = {each.topic_partition: each.end for each in view.state.positions}
        yield counts

    ledgers = ledger_tables(wiring)
    require_table(wiring, table, {paths.table for paths in ledgers})
    found = list(readable(each_ledger(wiring, [wiring.paths(table)], add_up)))
    return found[0] if found else TableCounts(table)


def _once(pending: Iterable[Snapshot], finals: Iterable[Snapshot]) -> Iterator[Snapshot]:
    """Yield the pending snapshot, then the final ones; it may have become final meanwhile."""
    known: set[int] = set()
    for snapshot in pending:
        known.add(snapshot.epoch)
        yield snapshot
    yield from (snapshot for snapshot in finals if snapshot.epoch not in known)


def counts_of(table: str, snapshots: Iterable[Snapshot], request: CountRequest) -> TableCounts:
    """Add up the counts of snapshots, which come newest first."""
    counts = TableCounts(table)
    for snapshot in snapshots:
        if snapshot.newest_ms is not None and snapshot.newest_ms < request.begin * 1000:
            break  # neither this epoch nor an older one has a record of the selected time
        counts.epochs += 1
        for window in filter(request.has, snapshot.windows):
            _add(counts.windows, window, request.by_partition)
        if not snapshot.windows:
            accounts = (
                each.account
                for each in snapshot.accounts
                if request.topic in ("", each.range.topic_partition.topic)
            )
            read = sum(accounts, OffsetAccounting()).read
            counts.uncounted += read
            if read and snapshot.newest_ms is not None:
                counts.uncounted_through_ms = max(snapshot.newest_ms, counts.uncounted_through_ms or 0)
    return counts


def _add(sums: dict[WindowKey, WindowSum], window: WindowCount, by_partition: bool) -> None:
    place = window.topic_partition
    key = WindowKey(place.topic, window.start, window.seconds, place.number if by_partition else ALL)
    known = sums.get(key)
    first, last = (window.first, window.last) if by_partition else (0, 0)
    more = WindowSum(
        records=window.records,
        dead_lettered=window.dead_lettered,
        bytes=window.bytes,
        first=first,
        last=last,
    )
    sums[key] = more if known is None else _sum(known, more)


def _sum(one: WindowSum, other: WindowSum) -> WindowSum:
    return replace(
        one,
        records=one.records + other.records,
        dead_lettered=one.dead_lettered + other.dead_lettered,
        bytes=one.bytes + other.bytes,
        first=min(one.first, other.first),
        last=max(one.last, other.last),
    )
