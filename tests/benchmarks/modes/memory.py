"""What a task's memory grows by while 1, 48 or 1,000 buckets are open, against the map's `limits.task_memory`.

Each measurement is a process of its own that runs the task without Spark: first a small one, which loads all
libraries and connects, then the one that counts. Growth = highest resident size of the second - size before it.
"""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from kafka2hive.config.keys import Bucketing, StorageOptions
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.plan.contract import TaskPlan
from kafka2hive.task import run_task
from tests.benchmarks.aims import TASK_MEMORY, Aim, Rows
from tests.benchmarks.contestants import environment
from tests.benchmarks.data.data_sets import DATA_SETS, DataSet
from tests.benchmarks.data.topics import PARTITIONS, fill
from tests.benchmarks.room import Room
from tests.harness.task_files import table_settings, table_task, task_settings
from tests.services.flights import flights

_LIMIT_MB = 256
_AIM = Aim(round(_LIMIT_MB * TASK_MEMORY * 1.048576), " MB")
_BUCKETS = (1, 48, 1_000)
OF_A_WORKER = {**environment, "ARROW_DEFAULT_MEMORY_POOL": "system"}
_COPIES = 6  # 2 million rows, 350 MB as Arrow: more than the limit


def _with_bucket(buckets: int) -> DataSet:
    """Flights with a column `b` that runs through so many values without order."""
    shape = DATA_SETS["flights"].shape

    def records() -> tuple[bytes, ...]:
        start = [b'{"b":%d,' % ((n * 2_654_435_761 >> 12) % buckets) for n in range(len(flights()))]
        return tuple(head + record[1:] for head, record in zip(start, flights(), strict=True))

    made = records()
    assert orjson.loads(made[0])["b"] == 0
    return DataSet(f"b{buckets}", replace(shape, columns={"b": "bigint", **shape.columns}), lambda: made)


def measure(room: Room) -> dict[str, Any]:
    """Peak growth for each number of buckets, on local disk; all buckets' files are open at once."""
    rows, megabytes = Rows("memory"), {}
    for buckets in _BUCKETS:
        topic = fill(room.kafka(), _with_bucket(buckets), _COPIES)
        command = [
            *(sys.executable, "-m", "tests.benchmarks.modes.memory", room.kafka().bootstrap, topic.name),
            *(str(buckets), str(topic.records), str(room.new_folder())),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=OF_A_WORKER)
        figures = json.loads(done.stdout)
        megabytes[str(buckets)] = figures
        grown = figures["peak_mb"] - figures["before_mb"]
        text = f"{grown:.0f} MB over {figures['before_mb']:.0f} MB"
        rows.add(f"growth of a task with {buckets:,} buckets open", text, grown, _AIM)
    return {"rows": rows.made, "megabytes": megabytes, "task_memory_mib": _LIMIT_MB}


def _one_task(bootstrap: str, topic: str, buckets: int, records: int, folder: Path) -> dict[str, float]:
    """Run in a process of its own."""
    shape = DATA_SETS["flights"].shape
    columns = [("b", "bigint"), *shape.columns.items()]
    table = replace(
        table_settings("db.t", "json", columns, (), Bucketing("b={b}")), location=f"{folder.as_uri()}/t"
    )
    base = folder.as_uri()
    settings = task_settings(bootstrap, table, open_files=buckets, memory_bytes=_LIMIT_MB << 20)
    settings = replace(
        settings, storage=StorageOptions(base, f"{base}/ledger", base), dead_letter_location=f"{base}/dead"
    )

    def run(first: int, last: int) -> None:
        ranges = (OffsetRange(TopicPartition(topic, number), first, last) for number in range(PARTITIONS))
        (manifest,) = run_task(TaskPlan(0, (table_task("db.t", *ranges),)), settings)
        assert manifest.failure is None, manifest.failure
        assert sum(file.rows for file in manifest.files) == (last - first) * PARTITIONS

    run(0, 1_000)
    before = status_mb("VmRSS")
    clear_peak()
    run(1_000, records // PARTITIONS)
    return {"before_mb": before, "peak_mb": status_mb("VmHWM")}


def clear_peak() -> None:
    """The high-water mark of the resident size begins here."""
    Path("/proc/self/clear_refs").write_text("5")


def status_mb(name: str) -> float:
    """MB (10^6) of a line of /proc/self/status."""
    text = Path("/proc/self/status").read_text()
    return int(text.partition(f"{name}:")[2].split()[0]) * 1024 / 1e6


if __name__ == "__main__":
    bootstrap_, topic_, buckets_, records_, folder_ = sys.argv[1:]
    sys.stdout.write(json.dumps(_one_task(bootstrap_, topic_, int(buckets_), int(records_), Path(folder_))))
