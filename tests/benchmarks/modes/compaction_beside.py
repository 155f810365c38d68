"""How fresh other tables of a service are while it compacts, against the same service before: seen by Hive, p99.

The table with the small files is paused at first, so that its units do not run; then an order resumes it.
"""

from contextlib import closing
from typing import Any

from tests.benchmarks import aims
from tests.benchmarks.aims import Rows
from tests.benchmarks.contestants import environment
from tests.benchmarks.modes.commands import timed
from tests.benchmarks.modes.compaction_map import compacting_map, staged
from tests.benchmarks.modes.latency import PARTITIONS, SHAPE, Sender, Watcher, percentile
from tests.benchmarks.room import Room
from tests.harness.program import Running

_OTHERS = 4  # tables over the same topic; one of them is watched
_LONGEST = 200.0  # seconds: Hive is asked for the last four minutes


def add_freshness(room: Room, rows: Rows, files: int, seconds: float) -> dict[str, Any]:
    """Send records for `seconds`, then while units rewrite so many files. Gives the waits."""
    folder = room.new_folder()
    topic, small_files = f"{folder.name}-others", f"{folder.name}-small"
    archive, uri = "compaction.archive", f"{room.hdfs().namenode_url}/{folder.name}"
    room.kafka().create_topic(topic, PARTITIONS)
    others: list[dict[str, object]] = [
        {
            "table": f"compaction.other_{number}",
            "topics": [topic],
            "start": "earliest",
            "columns": dict(SHAPE.columns),
            "bucket": {"field": SHAPE.time, "path": "dt=%Y%m%d%H%M"},
            "flush": {"interval": "1s"},
        }
        for number in range(_OTHERS)
    ]
    config = compacting_map(room, folder, uri, [archive], small_files, *others, trigger="1s")
    early = staged(room, config, archive, small_files, files)
    timed("recover", config=config)
    timed("pause", "--table", archive, config=config)
    with Running(config, env=environment) as run, closing(room.hive().connect()) as connection:
        sender = Sender(room.kafka().bootstrap, topic)
        sender.send(PARTITIONS)  # the first epoch of a process is slow, and makes the Hive tables
        run.wait_for_epoch()
        watcher = Watcher(connection, "compaction.other_0")
        run.wait_until(watcher.sees_anything, "in Hive")
        alone = sorted(watcher.run(sender, seconds))
        timed("resume", "--table", archive, config=config)
        run.wait_until(lambda: run.said(f"{archive}: compacts"), "compacting")
        beside = sorted(watcher.run(sender, _LONGEST, lambda: run.said(f"{archive}: dt=2013 is compacted")))
        is_over = run.said("is compacted")
    p99, p99_beside = percentile(alone, 0.99), percentile(beside, 0.99)
    ratio = p99_beside / p99
    rows.add(
        f"freshness of other tables while units rewrite {early.files:,} files, p99 against p99 without",
        f"{ratio:.2f}: {p99_beside:.1f} s ({len(beside):,} records) against {p99:.1f} s ({len(alone):,});"
        f" p50 {percentile(beside, 0.5):.1f} against {percentile(alone, 0.5):.1f} s"
        f"{'' if is_over else '; the units went on'}",
        ratio,
        aims.FRESHNESS_BESIDE,
    )
    return {"without": alone, "with": beside}
