"""A run over a table whose days are compacted; the test does what tasks and Spark would do."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kafka2hive.ledger.inbox import CompactPartitions, Inbox, Instruction, new_order
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.offsets import OffsetAccounting, RangeAccounting
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.model.paths.table_directory import staging_directory
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.plan.contract import (
    PlannedEpoch,
    TableFailure,
    TableManifest,
    TableTask,
    UnitAssignment,
    UnitResult,
    WrittenUnit,
)
from kafka2hive.service.run.completion import ASK_SECONDS
from kafka2hive.service.run.inbox_watch import LOOK_SECONDS, InboxWatch
from kafka2hive.service.tables.report import Reporter
from kafka2hive.service.tables.table_state import Table
from kafka2hive.storage.port import write_file
from tests.harness.cli_ledger import local, wired
from tests.harness.epoch_loop import EARLY, AtOnce, Clock, Kafka, make_loop_and_tables, next_epoch
from tests.harness.task_files import delivered_as
from tests.harness.values import data_file, file_name

NAME, DAYS = "air.early", ("dt=2025-11-18", "dt=2025-11-19")
CONTENT = b"rows"
FLUSH = 60.0
MAP = """\
hive: {url: "hive://127.0.0.1:9"}
limits: {%s}
defaults: {start: earliest, format: raw, completion: {delay: 1s}}
tables:
  - {table: air.early, topics: [early], compact: {%s}}
  - {table: air.late, topics: [late]}
"""


class Runner:
    """Spark's part: it writes units when the test says so."""

    def __init__(self, files: Any, cores: int) -> None:
        self.files, self.present = files, cores
        self.jobs: list[list[UnitAssignment]] = []
        self.end: Sequence[UnitResult] | Exception | None = None

    def cores(self) -> int:
        return self.present

    def begin(self, assignments: Sequence[UnitAssignment]) -> None:
        self.jobs.append(list(assignments))

    def take(self) -> Sequence[UnitResult] | Exception | None:
        end, self.end = self.end, None
        return end

    def write(self) -> None:
        """End the newest job well."""
        self.end = [UnitResult(assignment.task, self._written(assignment)) for assignment in self.jobs[-1]]

    def fail(self, code: str) -> None:
        self.end = [UnitResult(o.task, failure=TableFailure(code, "bad", "look")) for o in self.jobs[-1]]

    def _written(self, assignment: UnitAssignment) -> WrittenUnit:
        name = file_name(
            assignment.ledger_id,
            assignment.generation,
            assignment.epoch,
            task=assignment.task,
            uuid=f"{len(self.jobs):032x}",
        )
        rows = 5 * len(assignment.sources)
        file = data_file(
            kind=FileKind.COMPACTED,
            staged=join(staging_directory(assignment.table_location), name.in_state("pending")),
            final=join(assignment.home.location, name.in_state("final")),
            hive_partition=assignment.home,
            length=len(CONTENT),
            rows=rows,
            checksum="crc32:00000000",
            task=assignment.task,
        )
        write_file(self.files, file.staged, CONTENT)
        return WrittenUnit((file,), len(assignment.sources), rows)


class Days:
    """A run over a table whose epochs write five rows into a file of one day."""

    def __init__(
        self,
        folder: Path,
        compact: str = "",
        limits: str = "",
        slots: int = 4,
        cores: int = 4,
        kafka: Kafka | None = None,
        once: bool = False,
    ) -> None:
        """`kafka` is that of a run before, which this one follows."""
        real = wired(folder, MAP % (limits, compact), service="once")
        self.clock = Clock()
        self.wiring = wiring = replace(real, ports=replace(real.ports, clock=self.clock))
        self.inbox = Inbox(wiring.ports, wiring.map.storage.ledger_root, wiring.map.service)
        self.files, self.kafka = wiring.ports.files, kafka or Kafka()
        self.told: list[tuple[str, bool]] = []
        reporter = Reporter(compactions=[lambda table, moved: self.told.append((table, moved))])
        self.loop, self.tables = make_loop_and_tables(
            wiring,
            self.kafka,
            once=once,
            schemas=AtOnce(),
            reporter=reporter,
            slots=lambda: slots,
            orders=InboxWatch(wiring),
        )
        self.runner = Runner(self.files, cores)
        if not once:
            self.loop.chores.run_jobs_with(self.runner)
        if kafka is None:
            self.kafka.ends = dict.fromkeys(self.kafka.ends, 0)
        self.files_made = 0

    @property
    def table(self) -> Table:
        return self.tables.tables[NAME]

    @property
    def state(self) -> Snapshot:
        return self.table.owned.state

    def dump(self, day: str, count: int = 1) -> None:
        """One epoch with files of the day."""
        self.run(self.plan_more(5 * count), day)

    def plan_more(self, records: int = 5) -> PlannedEpoch:
        self.kafka.ends[EARLY] += records
        self.clock.sleep(FLUSH)
        return next_epoch(self.loop)

    def run(self, epoch: PlannedEpoch, day: str) -> None:
        """The epoch's task writes five rows into each file, the rest into the last one."""
        (plan,) = epoch.tasks
        (task,) = plan.tables
        accounts = tuple(
            RangeAccounting(plan.index, r, OffsetAccounting(read=len(r), written=len(r))) for r in task.ranges
        )
        rows = sum(map(len, task.ranges))
        sizes = [5] * (rows // 5) or [0]
        sizes[-1] += rows - sum(sizes)
        manifest = TableManifest(
            table=task.table,
            task=plan.index,
            generation=task.generation,
            epoch=task.epoch,
            files=tuple(self._file(task, day, size) for size in sizes),
            accounts=accounts,
            delivered=delivered_as(accounts),
        )
        self.loop.on_epoch(epoch.number, [manifest])

    def _file(self, task: TableTask, day: str, rows: int) -> DataFile:
        self.files_made += 1
        location = self.table.location
        home = HivePartition(NAME, day, join(location, day))
        name = file_name(task.ledger_id, task.generation, task.epoch, uuid=f"{self.files_made:032x}")
        file = data_file(
            staged=join(staging_directory(location), name.in_state("pending")),
            final=join(home.location, name.in_state("final")),
            hive_partition=home,
            length=len(CONTENT),
            rows=rows,
            checksum="crc32:00000000",
            ranges=task.ranges,
        )
        self.files.mkdirs(staging_directory(location))
        write_file(self.files, file.staged, CONTENT)
        return file

    def give(self, instruction: Instruction | None = None) -> str:
        """Give the run an order, to compact if it is not another one; return its id."""
        what = instruction or CompactPartitions()
        order = new_order(self.wiring.ports, self.wiring.map.service, NAME, "anna@etl1", what)
        self.inbox.give(order)
        self.clock.sleep(LOOK_SECONDS)
        return order.id

    def recorded(self) -> list[tuple[str, str]]:
        """Id and result of each order that the newest snapshot lists."""
        return [(each.id, each.result) for each in self.state.orders]

    def idle(self, seconds: float = ASK_SECONDS) -> None:
        """Plan twice with nothing to read: what is complete is certified, then units are begun."""
        for _ in range(2):
            self.clock.sleep(seconds)
            assert self.loop.plan() is None

    def sources(self, job: int = -1) -> list[list[str]]:
        return [[base_name(path) for path in order.sources] for order in self.runner.jobs[job]]

    def visible(self, day: str) -> list[str]:
        place = local(join(self.table.location, day))
        return sorted(p.name for p in place.iterdir() if p.name[0] not in "_.")
