"""Many small files of a partition rewritten as few: `kafka2hive compact` against Spark, on HDFS.

Both rewrite the same two partitions, a small and a large one, so that start-up cancels; every value of both results is
compared. A task's memory is measured in a process of its own, and the calls of the NameNode until the small files are
deleted. compaction_beside.py has the freshness of other tables meanwhile.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kafka2hive.ledger.early_files import cut, early_files
from kafka2hive.ledger.look import look
from kafka2hive.model.paths.path import join
from kafka2hive.plan.contract import UnitAssignment
from kafka2hive.service.hive.schemas import MapTables
from kafka2hive.task.compaction import UnitWriter
from tests.benchmarks import aims
from tests.benchmarks.aims import Rows, say
from tests.benchmarks.contestants import CORES, environment
from tests.benchmarks.data.content import Content, content
from tests.benchmarks.data.early_partition import PATH, SHAPE, EarlyFiles
from tests.benchmarks.modes.commands import timed
from tests.benchmarks.modes.compaction_beside import add_freshness
from tests.benchmarks.modes.compaction_map import TARGET_MB, compacting_map, staged
from tests.benchmarks.modes.dumps import JMX_KEEPS_SECONDS, namenode_calls
from tests.benchmarks.modes.memory import OF_A_WORKER, clear_peak, status_mb
from tests.benchmarks.process_tree import Cost, measured
from tests.benchmarks.room import Room
from tests.benchmarks.throughput import WrongOutput
from tests.harness.clock import MovedClock
from tests.harness.epochs import wiring_of
from tests.harness.service_map import location
from tests.oracle.tree import HdfsTree
from tests.services.jars import ROOT

FILES = 5_000
_SMALL_PART = 5  # the small partition has a fifth of the files
_KEEP_SECONDS = 2 * 86_400 + 300  # a little more than the default of compact.keep
_WARM_UP = 20  # files
_OURS, _SPARK = "kafka2hive compact", "Spark"


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One partition rewritten by one program; `calls` of the NameNode, and of the clean-up after it."""

    early: EarlyFiles
    cost: Cost
    calls: int
    written: Content


def measure(
    room: Room, files: int = FILES, seconds: float = 60.0, jmx_seconds: float = JMX_KEEPS_SECONDS
) -> dict[str, Any]:
    """`files` in the large partition; records are sent for `seconds` while nothing is compacted, and while units run.

    With `jmx_seconds` below the default the calls of the NameNode are wrong.
    """
    rows = Rows("compaction")
    stand = _Stand(room, files, jmx_seconds)
    memory = stand.memory()
    ours = [stand.compact(early) for early in stand.staged]
    peer = [stand.spark(early) for early in stand.staged]
    deletion = stand.delete()
    speeds = {_OURS: _marginal(ours), _SPARK: _marginal(peer)}
    for name, speed in speeds.items():
        rows.add(f"{name}, marginal", f"{speed:.1f} MB per CPU-s, {1000 / speed:.0f} CPU-s per GB")
    large, theirs = ours[-1], peer[-1]
    what, ratio = f"{files:,} files of {large.early.megabytes:.0f} MB", speeds[_OURS] / speeds[_SPARK]
    rows.add("against Spark's rewrite, marginal", f"{ratio:.2f}", ratio, aims.COMPACTION)
    for name, one in ((_OURS, large), (_SPARK, theirs)):
        rows.add(
            f"{name}, {what}",
            f"{one.cost.cpu:.1f} CPU-s, {one.cost.wall:.1f} s, {one.cost.peak_mb:.0f} MB,"
            f" {one.written.file_bytes / 1e6:.0f} MB in {one.written.files} files, NameNode calls {one.calls:,}",
        )
    beyond = memory["peak_mb"] - memory["before_mb"] - memory["task_memory_mb"]
    text = (
        f"{beyond:.0f} MB (peak {memory['peak_mb']:.0f} MB, {memory['before_mb']:.0f} MB of them before;"
        f" task_memory {memory['task_memory_mb']:.0f} MB)"
    )
    rows.add("growth of a unit's task beyond task_memory", text, beyond, aims.COMPACTION_MEMORY)
    each = (large.calls + deletion) / files
    text = f"{each:.2f}: rewrite {large.calls / files:.2f}, deletion {deletion / files:.2f}"
    rows.add("NameNode calls per small file until it is deleted", text, each, aims.COMPACTION_CALLS)
    fresh = add_freshness(room, rows, files, seconds)
    return {
        "rows": rows.made,
        "mb_per_cpu_second": speeds,
        "memory": memory,
        "deletion_calls": deletion,
        "freshness": fresh,
        "rewrites": {
            name: [
                {
                    "files": one.early.files,
                    "mb": one.early.megabytes,
                    "cpu": one.cost.cpu,
                    "wall": one.cost.wall,
                }
                | {"peak_mb": one.cost.peak_mb, "calls": one.calls, "written": one.written.file_bytes}
                for one in each_one
            ]
            for name, each_one in ((_OURS, ours), (_SPARK, peer))
        },
    }


def _marginal(rewrites: list[Rewrite]) -> float:
    """MB of small files per CPU-second between the small and the large partition."""
    small, large = rewrites
    return (large.early.megabytes - small.early.megabytes) / (large.cost.cpu - small.cost.cpu)


class _Stand:
    """Two tables with an early partition each, known to Hive."""

    def __init__(self, room: Room, files: int, jmx_seconds: float) -> None:
        self._room = room
        self._jmx_seconds = jmx_seconds
        self._folder = room.new_folder()
        self._tree = HdfsTree(room.hdfs().client())
        self._uri = f"{room.hdfs().namenode_url}/{self._folder.name}"
        sizes = {"compaction.small": max(files // _SMALL_PART, 1), "compaction.large": files}
        self._large = "compaction.large"
        topic = self._folder.name
        self.config = compacting_map(room, self._folder, self._uri, list(sizes), topic)
        self.staged = [staged(room, self.config, table, topic, count) for table, count in sizes.items()]
        timed("recover", config=self.config)  # tells Hive of the partitions

    def memory(self) -> dict[str, float]:
        """MB of a process before and while it writes a unit of the large partition."""
        command = [sys.executable, "-m", "tests.benchmarks.modes.compaction", str(self.config), self._large]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **OF_A_WORKER}
        )
        figures: dict[str, float] = json.loads(done.stdout)
        return figures

    def compact(self, early: EarlyFiles) -> Rewrite:
        """By our command. Raises ProgramFailed, WrongOutput."""
        return self._rewrite(
            _OURS, early, _command(self.config, early.table), location(self._uri, early.table)
        )

    def spark(self, early: EarlyFiles) -> Rewrite:
        """By Spark, which reads the files that compaction has left at the early place. Raises as `compact`."""
        output = f"{self._uri}/spark/{early.table}"
        command = [
            *(sys.executable, "-m", "tests.benchmarks.peers.spark_rewrite"),
            *("--input", f"{location(self._uri, early.table)}/_open/{PATH}", "--output", f"{output}/{PATH}"),
            *("--files", str(-(-early.bytes // (TARGET_MB << 20))), "--parallelism", str(CORES)),
            *("--folder", str(self._folder / "spark")),
        ]
        return self._rewrite(_SPARK, early, command, output)

    def delete(self) -> int:
        """Delete the small files of the large partition, two days later; gives the calls of the NameNode."""
        clock = MovedClock(self._folder)
        clock.move(_KEEP_SECONDS)
        path = os.pathsep.join([clock.env["PYTHONPATH"].rstrip(os.pathsep), str(ROOT)])
        before = self._calls()
        measured(
            _command(self.config, self._large),
            self._folder / "deletion.log",
            {**environment, **clock.env, "PYTHONPATH": path},
        )
        calls = (self._calls() - before).total()
        left = [
            p for p in self._tree.files(f"{location(self._uri, self._large)}/_open") if p.endswith(".final")
        ]
        assert not left, f"{len(left)} small files were not deleted"
        return calls

    def _calls(self) -> Counter[str]:
        return namenode_calls(self._room, self._jmx_seconds)

    def _rewrite(self, name: str, early: EarlyFiles, command: list[str], output: str) -> Rewrite:
        before = self._calls()
        cost = measured(command, self._folder / f"{name.split()[0]}-{early.table}.log", environment)
        calls = (self._calls() - before).total()
        written = content(self._tree, output, SHAPE, deep=True)
        if (written.rows, written.checksum) != (early.rows, early.checksum):
            raise WrongOutput(f"{name} wrote {written.rows} rows of {early.rows}, or others")
        say(f"{name}, {early.files:,} files: {cost.cpu:.1f} CPU-s, {cost.wall:.1f} s, {calls:,} calls")
        return Rewrite(early, cost, calls, written)


def _command(config: Path, table: str) -> list[str]:
    return [sys.executable, "-m", "kafka2hive.cli.main", "compact", "--table", table, "-c", str(config)]


def _one_unit(config: Path, table: str) -> dict[str, float]:
    """Run in a process of its own: a few files to load all libraries, then a whole unit. Leaves orphans."""
    wiring = wiring_of(config)
    state, files = look(wiring.ports.files, wiring.paths(table)).state, wiring.ports.files
    settings = MapTables(wiring, None).settings(table)
    (early,) = state.early
    sources = [file.path for file in next(cut(early_files(files, state, early), TARGET_MB << 20))]

    def write(paths: list[str]) -> None:
        assignment = UnitAssignment(
            sources=paths,
            home=replace(early.partition, location=join(state.location, early.partition.path)),
            table_location=state.location,
            ledger_id=state.ledger_id,
            generation=state.generation,
            epoch=state.epoch + 1,
            task=0,
            planned_at_ms=0,
            target_bytes=TARGET_MB << 20,
        )
        UnitWriter(files, settings.tables[table], settings.memory_bytes).write(assignment)

    write(sources[:_WARM_UP])
    before = status_mb("VmRSS")
    clear_peak()
    write(sources)
    return {
        "before_mb": before,
        "peak_mb": status_mb("VmHWM"),
        "task_memory_mb": settings.memory_bytes / 1e6,
        "files": len(sources),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_one_unit(Path(sys.argv[1]), sys.argv[2])))
