"""What a service of given tables and loads costs: cores, memory, calls of the NameNode, files. Pure.

The costs are those of docs/sizing.md, where each says how it was measured; a test compares the sums with a soak.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from kafka2hive.config.keys import Flush, Limits
from kafka2hive.config.keys.units import MIB
from kafka2hive.plan.epoch import TASK_BYTES_AT_LEAST

HOUR, DAY = 3600.0, 86_400.0


class RecordKind(Enum):
    """Kinds of records by what they cost: records and bytes that a CPU-second takes, and the bytes of one that was measured."""

    JSON = (800_000, 243e6, 300)
    SCHEMA = (850_000, 64e6, 75)
    CHANGES = (490_000, 293e6, 600)
    COMPRESSED = (370_000, 111e6, 300)

    def __init__(self, records: float, length: float, usual_bytes: int) -> None:
        self.records_per_cpu_second = records
        self.bytes_per_cpu_second = length
        self.usual_bytes = usual_bytes

    def cpu_seconds(self, record_bytes: float) -> float:
        """Return the CPU time of one record: small ones cost as records, large ones as bytes."""
        return max(1 / self.records_per_cpu_second, record_bytes / self.bytes_per_cpu_second)


EPOCH_CPU = 0.33
"""CPU-seconds of an epoch, however many tables it has: Spark's job, and its tasks."""
TABLE_EPOCH_CPU = 6.4e-3
"""CPU-seconds of a table in an epoch."""
TABLE_CPU_PER_HOUR = 0.18
IDLE_CPU_PER_HOUR = 26.0
IDLE_CALLS_PER_HOUR = 2860.0
TABLE_CALLS_PER_HOUR, TABLES_WITH_CALLS = 240.0, 100
EPOCH_CALLS, FILE_CALLS = 15.0, 10.0
PUBLISHING_SECONDS = 3.2e-3
"""Time in the driver of a table that is due, in which the other tables of the epoch wait."""
DRIVER_BYTES = 500e6
TASK_BYTES = 256 * MIB
"""Memory of a task beside `limits.task_memory`."""
HEADROOM = 2.0
"""Cores for peaks and catching up, as a multiple of the busy ones."""


@dataclass(frozen=True, slots=True)
class TableLoad:
    """What `tables` tables of one entry of the map get, each the same.

    - `records`: records a second of each.
    - `partitions_per_epoch`: Hive partitions that get rows in one epoch.
    """

    name: str
    records: float
    record_bytes: float
    kind: RecordKind
    flush: Flush
    tables: int = 1
    partitions_per_epoch: int = 1

    @property
    def bytes(self) -> float:
        return self.records * self.record_bytes

    def interval(self, shortest: float) -> float:
        """Return the seconds between two epochs of a table, as `plan.epoch.is_due` decides; infinite without records.

        The run looks every `shortest` seconds.
        """
        if not self.records:
            return math.inf
        flush = self.flush
        worth_a_file = min(max(flush.min_bytes / self.bytes, flush.interval_seconds), flush.longest_seconds)
        return max(min(worth_a_file, flush.bytes / self.bytes), 1 / self.records, shortest)


@dataclass(frozen=True, slots=True)
class TableCost:
    """What the tables of one load cost together."""

    load: TableLoad
    interval: float
    files_per_epoch: int

    @property
    def epochs_per_hour(self) -> float:
        return self.load.tables * HOUR / self.interval

    @property
    def files_per_day(self) -> float:
        return self.epochs_per_hour * 24 * self.files_per_epoch

    @property
    def file_bytes(self) -> float:
        """Return the Kafka bytes whose rows one file holds."""
        return self.load.bytes * self.interval / self.files_per_epoch if self.files_per_epoch else 0.0


@dataclass(frozen=True, slots=True)
class ServiceCost:
    """The sums of a service, without compaction, SQL, replays and Spark's own memory beyond the driver's."""

    tables: tuple[TableCost, ...]
    busy_cores: float
    cores: int
    memory: float
    namenode_calls_per_second: float
    epoch_bytes: float
    """Kafka bytes that arrive between two looks of the run, and so in an epoch of tables that are always due."""
    publishing: float
    """Seconds in the driver of an epoch in which all tables are due."""

    @property
    def records(self) -> float:
        return sum(cost.load.records * cost.load.tables for cost in self.tables)

    @property
    def bytes(self) -> float:
        return sum(cost.load.bytes * cost.load.tables for cost in self.tables)

    @property
    def files_per_day(self) -> float:
        return sum(cost.files_per_day for cost in self.tables)

    @property
    def shortest_interval(self) -> float:
        return min(cost.interval for cost in self.tables)

    @property
    def services(self) -> int:
        """Return into how many services to split: so many that publishing takes at most half of the shortest interval."""
        return max(1, math.ceil(2 * self.publishing / self.shortest_interval))


def cost_of(loads: Sequence[TableLoad], limits: Limits, trigger_seconds: float) -> ServiceCost:
    """Add up what a service with these tables costs."""
    tables = sum(load.tables for load in loads)
    intervals = [load.interval(trigger_seconds) for load in loads]
    epochs_per_hour = sum(load.tables * HOUR / each for load, each in zip(loads, intervals, strict=True))
    reading = sum(load.tables * load.records * load.kind.cpu_seconds(load.record_bytes) for load in loads)
    together = min(
        epochs_per_hour, HOUR / min(intervals)
    )  # tables that are due at the same time share an epoch
    beside = (
        together * EPOCH_CPU
        + epochs_per_hour * TABLE_EPOCH_CPU
        + tables * TABLE_CPU_PER_HOUR
        + IDLE_CPU_PER_HOUR
    )
    busy = reading + beside / HOUR
    cores = max(1, math.ceil(HEADROOM * busy))
    slots = cores * limits.tasks_per_core
    costs = tuple(
        TableCost(load, each, _files_per_epoch(load, each, limits, slots))
        for load, each in zip(loads, intervals, strict=True)
    )
    calls = (
        IDLE_CALLS_PER_HOUR
        + TABLE_CALLS_PER_HOUR * min(tables, TABLES_WITH_CALLS)
        + sum(cost.epochs_per_hour * (EPOCH_CALLS + FILE_CALLS * cost.files_per_epoch) for cost in costs)
    )
    return ServiceCost(
        tables=costs,
        busy_cores=busy,
        cores=cores,
        memory=DRIVER_BYTES + slots * (limits.task_memory_bytes + TASK_BYTES),
        namenode_calls_per_second=calls / HOUR,
        epoch_bytes=sum(load.bytes * load.tables for load in loads) * trigger_seconds,
        publishing=PUBLISHING_SECONDS * sum(load.tables for load in loads if load.records),
    )


def _files_per_epoch(load: TableLoad, interval: float, limits: Limits, slots: int) -> int:
    if not load.records:
        return 0
    waiting = load.bytes * interval
    tasks = max(1, min(slots, math.ceil(waiting / TASK_BYTES_AT_LEAST)))
    rolled = math.ceil(waiting / (tasks * load.partitions_per_epoch * limits.file_bytes))
    return tasks * load.partitions_per_epoch * max(1, rolled)
