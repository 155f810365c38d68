"""From the start after a `kill -9` to the first new rows that a reader sees, on HDFS: what an on-call engineer waits for."""

import statistics
import time
from functools import partial
from typing import Any

from tests.benchmarks.aims import AFTER_KILL, Rows
from tests.benchmarks.contestants import TABLE, Place, write_map
from tests.benchmarks.data.data_sets import DATA_SETS
from tests.benchmarks.data.topics import PARTITIONS
from tests.benchmarks.room import Room
from tests.harness.program import Running
from tests.harness.service_map import location
from tests.oracle.tree import HdfsTree
from tests.services.produce import produce

_KILLS = 7
_RECORDS = 1_000  # that wait at each start
_PAUSE = 0.05


def measure(room: Room) -> dict[str, Any]:
    """A service whose driver is killed again and again, and started at once; JVM and workers have to notice by themselves."""
    folder = room.new_folder()
    topic, uri = folder.name, f"{room.hdfs().namenode_url}/{folder.name}"
    data, kafka = DATA_SETS["flights"], room.kafka()
    kafka.create_topic(topic, PARTITIONS)
    config = write_map(Place(folder, uri, kafka.bootstrap, topic, data.shape), trigger="1s")
    tree, place = HdfsTree(room.hdfs().client()), location(uri, TABLE)

    def visible() -> int:
        return sum("/_tmp/" not in path for path in tree.files(place))

    waited: list[float] = []
    for start in range(0, (_KILLS + 1) * _RECORDS, _RECORDS):
        produce(kafka.bootstrap, topic, data.records()[start : start + _RECORDS], PARTITIONS)
        more = partial(lambda before: visible() > before, visible())
        with Running(config) as run:
            run.wait_until(more, "through an epoch", 300, _PAUSE)
            waited.append(time.monotonic() - run.began)
            run.wait_for_epoch()  # else the next start makes files of this epoch visible, and they would count
            run.kill_driver()
    seconds = sorted(waited[1:])  # the first start follows no kill
    rows, middle = Rows("after-kill"), statistics.median(seconds)
    text = f"p50 {middle:.1f} s (worst of {len(seconds)}: {seconds[-1]:.1f} s)"
    rows.add(f"first rows after kill -9, {_RECORDS:,} records wait, HDFS", text, middle, AFTER_KILL)
    return {"rows": rows.made, "seconds": seconds}
