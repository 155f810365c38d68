"""The plan of one epoch: the due tables get max-min fair shares of the epoch's budget, which are packed into even tasks.

A big table is cut by estimated bytes; small ones stay whole.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from operator import attrgetter

from kafka2hive.config.keys import Flush, Limits
from kafka2hive.model.offsets import OffsetRange, in_order, merge_ranges
from kafka2hive.model.snapshot import EventBounds
from kafka2hive.plan.contract import TableTask, TaskPlan

TASK_BYTES_AT_LEAST = 16 * 1024 * 1024
"""The least bytes that are worth a separate task: a task costs 33-44 ms and reads about 70 MB/s, so below this size the fixed
cost is noticeable, and more tasks would make more and smaller files."""
RANGE_OVERHEAD_BYTES = 64 * 1024
"""Each range costs about a millisecond at the broker, in which this many bytes could be read."""
_TOLERANCE = 0.25
"""A table is cut only if it exceeds the mean weight of a task by this fraction, because more pieces mean more files."""


@dataclass(frozen=True, slots=True)
class TableBacklog:
    """The unread offsets of one table, between its ledger's positions and the end of the log in Kafka.

    - `ranges`: one range per topic partition, from the position to the end, possibly empty.
    - `bytes_per_record`: the driver's estimate of a record's size in Kafka, from earlier epochs.
    - `most_bytes_per_record`: the largest expected size of a record, which bounds the epoch.
    - `seconds_since_epoch`: the time since the table's last epoch was planned, infinity before the first of this run.
    - `epoch`: the number of the table's next snapshot.
    - `may_wait`: whether the table may wait longer than `flush.interval` for `flush.min_bytes`.
    - `bounds`: the bounds of event time, without the time of planning.
    - `fresh_records`: how many of the records have come since the table's last epoch of this run was planned.
    - `most_records`: how many records the table may read now (ceiling.py); None without a ceiling.
    """

    table: str
    ledger_id: str
    generation: int
    epoch: int
    ranges: tuple[OffsetRange, ...]
    bytes_per_record: float
    seconds_since_epoch: float
    flush: Flush
    most_bytes_per_record: float = 0.0
    may_wait: bool = False
    bounds: EventBounds | None = None
    fresh_records: int = 0
    most_records: int | None = None

    @property
    def records(self) -> int:
        """Return the number of waiting offsets, including absent ones (compacted away, transaction markers)."""
        return sum([r.end - r.start for r in self.ranges])

    @property
    def readable(self) -> int:
        """Return the number of waiting offsets that the table may read now."""
        return self.records if self.most_records is None else min(self.records, self.most_records)

    @property
    def bytes(self) -> float:
        """Return the estimated number of waiting bytes that the table may read now."""
        return self.readable * self.bytes_per_record


@dataclass(frozen=True, slots=True)
class RangePiece:
    """Ranges of one table that one task reads; `table` is an index into the planner's tables, `weight` is in bytes."""

    table: int
    ranges: tuple[OffsetRange, ...]
    weight: float


def is_due(backlog: TableBacklog) -> bool:
    """Return whether the table is due: records wait, and the flush interval has passed or enough bytes wait.

    A table waits for enough bytes so that its files become large. If it may wait longer, the interval is between
    `flush.interval` and `flush.max_interval`: it ends when the bytes are worth a file.
    """
    if not backlog.readable:
        return False
    flush, waited = backlog.flush, backlog.seconds_since_epoch
    if waited >= flush.longest_seconds or backlog.bytes >= flush.bytes:
        return True
    return waited >= flush.interval_seconds and (not backlog.may_wait or backlog.bytes >= flush.min_bytes)


def plan_epoch(
    backlogs: Sequence[TableBacklog],
    limits: Limits,
    slots: int,
    planned_at_ms: int,
    *,
    drain: bool = False,
    only_tables: frozenset[str] | None = None,
) -> tuple[TaskPlan, ...]:
    """Plan an epoch; the result is empty if nothing is due.

    `slots` is the maximum number of tasks (cores x `limits.tasks_per_core`). `planned_at_ms` (epoch milliseconds)
    becomes the processing time of every record. `drain` plans every table with a backlog (`--once`). `only_tables`
    plans exactly these tables, due or not (failure_isolation.py).

    The following holds for the result, and does not depend on the order of `backlogs`:
    - For each topic partition a prefix `[position, x)` is planned, possibly in several tasks, without gap or overlap.
    - Tables share the epoch's budget max-min fairly, measured by bytes or records, whichever a table uses more of.
      So do the topic partitions of a table, and each with a backlog gets at least one offset. An epoch therefore stays
      within `epoch_records`, and within `epoch_bytes` if records are no larger than expected, except for at most one
      record of each topic partition.
    - There are at most `slots` tasks, and only one if there is little to read. A table is spread over several tasks
      only if it is bigger than an even task. Task indexes are 0..n-1.
    """
    if only_tables is not None:
        eligible = [b for b in backlogs if b.table in only_tables and b.records]
    else:
        eligible = [b for b in backlogs if (b.records if drain else is_due(b))]
    tables = sorted(eligible, key=attrgetter("table"))
    pieces = [
        RangePiece(index, ranges, weigh(ranges, record_bytes(tables[index])))
        for index, ranges in enumerate(_allocate(tables, limits))
    ]
    if not pieces:
        return ()
    total = sum(p.weight for p in pieces)
    count = task_count(total, slots)
    parts = [part for p in pieces for part in cut(p, record_bytes(tables[p.table]), total / count)]
    return tuple(
        TaskPlan(index, tuple(_table_task(tables[p.table], p.ranges, planned_at_ms) for p in _join(task)))
        for index, task in enumerate(pack(parts, count))
    )


def record_bytes(backlog: TableBacklog) -> float:
    """Return the estimated size of a record: at least one byte, because empty records also take time to read."""
    return max(1.0, backlog.bytes_per_record)


def _allocate(tables: Sequence[TableBacklog], limits: Limits) -> list[tuple[OffsetRange, ...]]:
    """Return the ranges that each table reads in this epoch.

    Tables compete for one budget. A record costs the larger of its fractions of the two limits (dominant resource
    fairness, Ghodsi et al. 2011), in whole numbers to avoid rounding errors.
    """
    epoch_bytes, epoch_records = max(1, limits.epoch_bytes), max(1, limits.epoch_records)
    most = [max(record_bytes(t), t.most_bytes_per_record) for t in tables]
    prices = [max(epoch_bytes, ceil(size * epoch_records)) for size in most]
    demands = [t.readable * price for t, price in zip(tables, prices, strict=True)]
    shares = fair_shares(demands, epoch_bytes * epoch_records)
    return [
        _prefixes(t.ranges, share // price) for t, price, share in zip(tables, prices, shares, strict=True)
    ]


def _prefixes(ranges: Sequence[OffsetRange], records: int) -> tuple[OffsetRange, ...]:
    """Return a fair prefix of every range, sorted and without empty ones; together they hold about `records` offsets."""
    waiting = sorted([r for r in ranges if r.end > r.start], key=in_order)
    demands = [r.end - r.start for r in waiting]
    if sum(demands) <= records:
        return tuple(waiting)
    return tuple(
        r if share >= demand else OffsetRange(r.topic_partition, r.start, r.start + max(1, share))
        for r, demand, share in zip(waiting, demands, fair_shares(demands, records), strict=True)
    )


def _join(pieces: Sequence[RangePiece]) -> list[RangePiece]:
    """Merge the pieces of one task, so that each table has one piece; its ranges are in order, adjacent ranges joined."""
    by_table: dict[int, RangePiece] = {}
    for piece in pieces:
        if (other := by_table.get(piece.table)) is not None:
            ranges = merge_ranges((*other.ranges, *piece.ranges))
            piece = RangePiece(piece.table, tuple(ranges), other.weight + piece.weight)
        by_table[piece.table] = piece
    return [by_table[table] for table in sorted(by_table)]


def _table_task(backlog: TableBacklog, ranges: tuple[OffsetRange, ...], planned_at_ms: int) -> TableTask:
    return TableTask(
        table=backlog.table,
        ledger_id=backlog.ledger_id,
        generation=backlog.generation,
        epoch=backlog.epoch,
        planned_at_ms=planned_at_ms,
        ranges=ranges,
        bounds=None if backlog.bounds is None else replace(backlog.bounds, planned_ms=planned_at_ms),
    )


def weigh(ranges: Sequence[OffsetRange], bytes_per_record: float) -> float:
    """Return the estimated cost of reading the ranges in one task, in bytes."""
    records = sum([r.end - r.start for r in ranges])
    return records * bytes_per_record + len(ranges) * RANGE_OVERHEAD_BYTES


def task_count(weight: float, slots: int) -> int:
    """Return the number of tasks for an epoch of this weight (bytes): at least one, at most `slots`."""
    return max(1, min(slots, ceil(weight / TASK_BYTES_AT_LEAST)))


def cut(piece: RangePiece, bytes_per_record: float, goal: float) -> list[RangePiece]:
    """Cut a piece evenly into the fewest pieces whose weights exceed `goal` by at most a quarter.

    A range may be split; its parts cover it in order, without gap or overlap.
    """
    pieces = ceil(piece.weight / goal - _TOLERANCE)
    if pieces < 2:
        return [piece]
    goal = piece.weight / pieces
    finished: list[RangePiece] = []
    current: list[OffsetRange] = []
    room = goal

    def close() -> None:
        nonlocal current, room
        finished.append(RangePiece(piece.table, tuple(current), weigh(current, bytes_per_record)))
        current, room = [], goal

    for whole in piece.ranges:
        remaining = whole
        while len(finished) < pieces - 1 and weigh((remaining,), bytes_per_record) > room:
            fits = int((room - RANGE_OVERHEAD_BYTES) / bytes_per_record)
            if fits >= 1:
                middle = remaining.start + fits
                current.append(OffsetRange(remaining.topic_partition, remaining.start, middle))
                remaining = OffsetRange(remaining.topic_partition, middle, remaining.end)
            elif not current:
                break  # not even the overhead fits, and an empty piece would be useless
            close()
        current.append(remaining)
        room -= weigh((remaining,), bytes_per_record)
    close()
    return finished


def pack(pieces: Sequence[RangePiece], tasks: int) -> list[list[RangePiece]]:
    """Spread pieces over at most `tasks` tasks: the heaviest first, each to the lightest task.

    Deterministic: ties go to the earlier table, the earlier piece and the lower task.
    """
    loads = [(0.0, task) for task in range(tasks)]
    packed: list[list[RangePiece]] = [[] for _ in range(tasks)]
    for piece in sorted(pieces, key=lambda p: -p.weight):
        load, task = loads[0]
        packed[task].append(piece)
        heapq.heapreplace(loads, (load + piece.weight, task))
    return [task for task in packed if task]


def fair_shares(demands: Sequence[int], capacity: int) -> list[int]:
    """Divide `capacity` among `demands` (same unit, >= 0); the result aligns with `demands`.

    A share never exceeds its demand. A share is smaller than another only if its demand is met; if the capacity does not
    divide evenly, the earlier demands get one unit more. The sum is min(capacity, sum(demands)). Takes O(n log n).
    """
    shares = [0] * len(demands)
    remaining = max(0, capacity)
    order = sorted(range(len(demands)), key=demands.__getitem__)
    for served, index in enumerate(order):
        level, odd = divmod(remaining, len(order) - served)
        if demands[index] > level:
            for nth, unserved in enumerate(sorted(order[served:])):
                shares[unserved] = level + (nth < odd)
            break
        shares[index] = demands[index]
        remaining -= demands[index]
    return shares
