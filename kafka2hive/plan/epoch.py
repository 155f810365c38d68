"""The plan of one epoch: what waits, due tables, fair shares of the epoch's budget, packed into tasks."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from kafka2hive.config.keys import Flush, Limits
from kafka2hive.model.offsets import OffsetRange, joined
from kafka2hive.plan.contract import TableTask, TaskPlan
from kafka2hive.plan.packing import RangePiece, cut, fair_shares, pack, task_count, weigh


@dataclass(frozen=True, slots=True)
class TableBacklog:
    """One table as the planner sees it: everything between its ledger's position and Kafka's watermarks.

    `ranges`: one per topic partition, position to end, possibly empty. `bytes_per_record` is the driver's estimate of
    a record's size in Kafka (taken from earlier epochs), `most_bytes_per_record` what it may be next: an epoch is bounded
    by that; `seconds_since_epoch` since the table's last epoch began to
    be planned, infinity when there was none in this run. `epoch` is the number its next snapshot will have.
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

    @property
    def records(self) -> int:
        """Offsets that wait; those without a record (compacted, markers) count too."""
        return sum(r.end - r.start for r in self.ranges)

    @property
    def bytes(self) -> float:
        """Bytes that wait, estimated."""
        return self.records * self.bytes_per_record


def is_due(backlog: TableBacklog) -> bool:
    """Say whether the table deserves an epoch now: something waits, and long enough or enough of it.

    This is how file sizes are controlled: at the source, by waiting.
    """
    if not any(r.end > r.start for r in backlog.ranges):
        return False
    flush = backlog.flush
    return backlog.seconds_since_epoch >= flush.interval_seconds or backlog.bytes >= flush.bytes


def plan_epoch(
    backlogs: Sequence[TableBacklog],
    limits: Limits,
    slots: int,
    planned_at_ms: int,
    *,
    drain: bool = False,
    only_tables: frozenset[str] | None = None,
) -> tuple[TaskPlan, ...]:
    """Plan an epoch; empty when nothing is due.

    `slots` is how many tasks the cluster should get at most (cores x `limits.tasks_per_core`); `planned_at_ms` (epoch
    milliseconds) becomes the processing time of every record. `drain` plans every table that has anything (`--once`);
    `only_tables` plans these alone, due or not (failure_isolation.py).

    What holds for the result, whatever the order of `backlogs`:
    - of each topic partition a prefix `[position, x)` is planned, possibly in several tasks, without hole or overlap;
    - tables share the epoch's budget max-min fairly, measured by whichever of bytes and records a table uses more of;
      so do the topic partitions of a table; each that has records gets at least one. So an epoch stays within
      `epoch_records`, and as far as its records are no larger than expected within `epoch_bytes`, but for at most one
      record of each topic partition;
    - at most `slots` tasks, one when there is little to do; a table is spread over more than one only when it is
      bigger than an even task; task indexes are 0..n-1.
    """
    if only_tables is not None:
        wanted = [b for b in backlogs if b.table in only_tables]
    else:
        wanted = [b for b in backlogs if drain or is_due(b)]
    tables = sorted((b for b in wanted if b.records > 0), key=lambda b: b.table)
    pieces = [
        RangePiece(index, ranges, weigh(ranges, _record_bytes(tables[index])))
        for index, ranges in enumerate(_allocate(tables, limits))
    ]
    if not pieces:
        return ()
    total = sum(p.weight for p in pieces)
    count = task_count(total, slots)
    parts = [part for p in pieces for part in cut(p, _record_bytes(tables[p.table]), total / count)]
    return tuple(
        TaskPlan(index, tuple(_table_task(tables[p.table], p.ranges, planned_at_ms) for p in _joined(task)))
        for index, task in enumerate(pack(parts, count))
    )


def _record_bytes(backlog: TableBacklog) -> float:
    """The estimate, at least one byte: a topic of empty records takes time too."""
    return max(1.0, backlog.bytes_per_record)


def _allocate(tables: Sequence[TableBacklog], limits: Limits) -> list[tuple[OffsetRange, ...]]:
    """What each table reads in this epoch.

    Tables compete for one budget: a record costs the larger of its parts of the two limits (dominant resource
    fairness, Ghodsi et al. 2011), in whole numbers so that nothing is lost to rounding.
    """
    epoch_bytes, epoch_records = max(1, limits.epoch_bytes), max(1, limits.epoch_records)
    most = [max(_record_bytes(t), t.most_bytes_per_record) for t in tables]
    prices = [max(epoch_bytes, ceil(size * epoch_records)) for size in most]
    demands = [t.records * price for t, price in zip(tables, prices, strict=True)]
    shares = fair_shares(demands, epoch_bytes * epoch_records)
    return [
        _prefixes(t.ranges, share // price) for t, price, share in zip(tables, prices, shares, strict=True)
    ]


def _prefixes(ranges: Sequence[OffsetRange], records: int) -> tuple[OffsetRange, ...]:
    """The fair beginning of every range, together about `records`, sorted, without empty ranges."""
    waiting = sorted(r for r in ranges if r.end > r.start)
    demands = [r.end - r.start for r in waiting]
    if sum(demands) <= records:
        return tuple(waiting)
    return tuple(
        r if share >= demand else OffsetRange(r.topic_partition, r.start, r.start + max(1, share))
        for r, demand, share in zip(waiting, demands, fair_shares(demands, records), strict=True)
    )


def _joined(pieces: Sequence[RangePiece]) -> list[RangePiece]:
    """The pieces of one task by table, each table once, its ranges in order and adjacent ones made one again."""
    by_table: dict[int, list[OffsetRange]] = {}
    for piece in pieces:
        by_table.setdefault(piece.table, []).extend(piece.ranges)
    return [RangePiece(table, tuple(joined(by_table[table])), 0.0) for table in sorted(by_table)]


def _table_task(backlog: TableBacklog, ranges: tuple[OffsetRange, ...], planned_at_ms: int) -> TableTask:
    return TableTask(
        table=backlog.table,
        ledger_id=backlog.ledger_id,
        generation=backlog.generation,
        epoch=backlog.epoch,
        planned_at_ms=planned_at_ms,
        ranges=ranges,
    )
