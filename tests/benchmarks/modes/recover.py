"""`kafka2hive recover` after a death right behind the commit point: everything is committed, nothing promoted."""

import statistics
from typing import Any

from kafka2hive.model.offsets import OffsetRange, TopicPartition
from tests.benchmarks.aims import RECOVER, Rows, say
from tests.benchmarks.contestants import TABLE, Place, write_map
from tests.benchmarks.data.data_sets import DATA_SETS
from tests.benchmarks.modes.commands import timed
from tests.benchmarks.room import Room
from tests.harness.epochs import begin, wiring_of
from tests.harness.staged_epoch import commit_staged
from tests.oracle.tree import HdfsTree

_SHAPE = DATA_SETS["flights"].shape
_HIVE_PARTITIONS = 100


def measure(room: Room) -> dict[str, Any]:
    """Whole commands on a real NameNode; every file is looked for afterwards."""
    room.kafka().create_topic("pending", 1)
    rows, seconds = Rows("recover"), {}
    for files, aim in RECOVER.items():
        times = []
        for attempt in range(3 if files == min(RECOVER) else 1):
            folder = room.new_folder()
            uri = f"{room.hdfs().namenode_url}/{folder.name}"
            config = write_map(Place(folder, uri, room.kafka().bootstrap, "pending", _SHAPE))
            say(f"staging {files} files, attempt {attempt + 1}")
            wiring = wiring_of(config)
            ranges = OffsetRange(TopicPartition("pending", 0), 0, files)
            buckets = [f"dt=2013-{number % _HIVE_PARTITIONS:04d}" for number in range(files)]
            commit_staged(wiring, begin(wiring, TABLE), ranges, buckets)
            times.append(timed("recover", config=config))
            location = f"{uri}/warehouse/{TABLE.replace('.', '.db/')}"
            paths = HdfsTree(room.hdfs().client()).files(location)
            visible = sum(path.endswith(".parquet.final") for path in paths)
            assert visible == files, f"{visible} of {files} files are visible after recover"
        seconds[str(files)] = times
        middle = statistics.median(times)
        what = f"{files:,} pending files in {_HIVE_PARTITIONS} Hive partitions"
        rows.add(what, f"{middle:.2f} s, median of {len(times)}", middle, aim)
    return {"rows": rows.made, "seconds": seconds}
