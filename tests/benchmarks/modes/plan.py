"""How long planning an epoch takes: the pure function, without asking Kafka."""

import statistics
import time
from typing import Any

from kafka2hive.config.keys import Flush, Limits
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.plan import TableBacklog, plan_epoch
from tests.benchmarks.aims import PLAN, Rows
from tests.benchmarks.contestants import CORES
from tests.benchmarks.room import Room

_SIZES = (1_000, 10_000, 100_000)
_TIMES = 5


def backlogs(topic_partitions: int, tables: int) -> list[TableBacklog]:
    """Tables with equally many topic partitions, of very different lengths."""

    def ranges(table: int) -> tuple[OffsetRange, ...]:
        places = (TopicPartition(f"topic{table}", number) for number in range(topic_partitions // tables))
        return tuple(OffsetRange(p, 5, 5 + (table * 7919 + p.number * 104729) % 5000) for p in places)

    return [
        TableBacklog(f"db.t{table:05d}", "id", 1, 1, ranges(table), 300.0, float("inf"), Flush())
        for table in range(tables)
    ]


def measure(room: Room) -> dict[str, Any]:
    """Medians for one table, a thousand tables, and two topic partitions a table."""
    rows, seconds = Rows("plan"), {}
    for topic_partitions in _SIZES:
        for tables in sorted({1, min(1000, topic_partitions // 2), topic_partitions // 2}):
            waiting = backlogs(topic_partitions, tables)
            times = []
            for _ in range(_TIMES):
                began = time.perf_counter()
                plan_epoch(waiting, Limits(), CORES, 0)
                times.append(time.perf_counter() - began)
            what = f"{topic_partitions:,} topic partitions in {tables:,} tables"
            seconds[what] = times
            middle = statistics.median(times)
            rows.add(what, f"{middle:.3f} s", middle, PLAN if topic_partitions == max(_SIZES) else None)
    return {"rows": rows.made, "seconds": seconds}
