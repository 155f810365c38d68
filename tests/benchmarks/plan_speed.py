"""How long planning takes: python tests/benchmarks/plan_speed.py [TOPIC_PARTITIONS]; the aim is 1 s for 100,000."""

import statistics
import sys
import time

from kafka2hive.config.values import Flush, Limits
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.pipeline.plan import TableBacklog, plan_epoch


def backlogs(topic_partitions: int, tables: int) -> list[TableBacklog]:
    """Tables with equally many topic partitions, of very different lengths."""
    each = topic_partitions // tables
    return [
        TableBacklog(
            f"db.t{t:05d}",
            "id",
            1,
            1,
            tuple(OffsetRange(TopicPartition(f"topic{t}", n), 5, 5 + (t * 7919 + n * 104729) % 5000) for n in range(each)),
            300.0,
            float("inf"),
            Flush(),
        )
        for t in range(tables)
    ]  # fmt: skip


def main() -> None:
    """Print the median of five plans for each shape."""
    topic_partitions = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    for tables in (1, 1000, topic_partitions // 2):
        waiting = backlogs(topic_partitions, tables)
        seconds = []
        for _ in range(5):
            began = time.perf_counter()
            plans = plan_epoch(waiting, Limits(), 4, 0)
            seconds.append(time.perf_counter() - began)
        sys.stdout.write(
            f"{topic_partitions} topic partitions in {tables} tables: {statistics.median(seconds):.2f} s,"
            f" {len(plans)} tasks\n"
        )


if __name__ == "__main__":
    main()
