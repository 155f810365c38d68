"""Compaction beside the epochs of a run: what is begun when, what becomes of failures, and when a partition moves."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.model.errors import AmbiguousOutcome
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.offsets import OffsetAccounting, RangeAccounting
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.model.paths.table_directory import staging_directory
from kafka2hive.model.snapshot import Pause, Snapshot
from kafka2hive.plan.contract import (
    PlannedEpoch,
    TableFailure,
    TableManifest,
    TableTask,
    UnitOrder,
    UnitResult,
    WrittenUnit,
)
from kafka2hive.service.run.compaction import FIRST_WAIT
from kafka2hive.service.run.completion import ASK_SECONDS
from kafka2hive.service.run.owned_tables import CLEANUP_EPOCHS
from kafka2hive.service.tables.report import Reporter
from kafka2hive.service.tables.table_state import Table
from kafka2hive.storage.port import write_file
from tests.harness.cli_ledger import invoke, local, wired
from tests.harness.epoch_loop import EARLY, AtOnce, Clock, Kafka, make_loop_and_tables, next_epoch
from tests.harness.task_files import delivered_as
from tests.harness.values import data_file, file_name
from tests.unit.service.owned_table import restate

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
        self.jobs: list[list[UnitOrder]] = []
        self.end: Sequence[UnitResult] | Exception | None = None

    def cores(self) -> int:
        return self.present

    def begin(self, orders: Sequence[UnitOrder]) -> None:
        self.jobs.append(list(orders))

    def take(self) -> Sequence[UnitResult] | Exception | None:
        end, self.end = self.end, None
        return end

    def write(self) -> None:
        """End the newest job well."""
        self.end = [UnitResult(order.task, self._written(order)) for order in self.jobs[-1]]

    def fail(self, code: str) -> None:
        self.end = [UnitResult(o.task, failure=TableFailure(code, "bad", "look")) for o in self.jobs[-1]]

    def _written(self, order: UnitOrder) -> WrittenUnit:
        name = file_name(
            order.ledger_id, order.generation, order.epoch, task=order.task, uuid=f"{len(self.jobs):032x}"
        )
        rows = 5 * len(order.sources)
        file = data_file(
            kind=FileKind.COMPACTED,
            staged=join(staging_directory(order.table_location), name.in_state("pending")),
            final=join(order.home.location, name.in_state("final")),
            hive_partition=order.home,
            length=len(CONTENT),
            rows=rows,
            checksum="crc32:00000000",
            task=order.task,
        )
        write_file(self.files, file.staged, CONTENT)
        return WrittenUnit((file,), len(order.sources), rows)


class Days:
    """A run over a table whose epochs write five rows into a file of one day."""

    def __init__(
        self, folder: Path, compact: str = "", limits: str = "", slots: int = 4, cores: int = 4
    ) -> None:
        real = wired(folder, MAP % (limits, compact), service="once")
        self.clock = Clock()
        wiring = replace(real, ports=replace(real.ports, clock=self.clock))
        self.files, self.kafka = wiring.ports.files, Kafka()
        self.told: list[tuple[str, bool]] = []
        reporter = Reporter(compactions=[lambda table, moved: self.told.append((table, moved))])
        self.loop, self.tables = make_loop_and_tables(
            wiring, self.kafka, once=False, schemas=AtOnce(), reporter=reporter, slots=lambda: slots
        )
        self.runner = Runner(self.files, cores)
        self.loop.compactions.runner = self.runner
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


def test_a_complete_partition_moves_once_its_units_are_written(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0], 3)
    assert days.runner.jobs == [], "it is not certified yet"
    days.idle()
    ((order,),) = days.runner.jobs
    assert len(order.sources) == 3 and order.epoch == days.state.epoch + 1
    days.idle()
    assert len(days.runner.jobs) == 1, "one job at a time"
    days.runner.write()
    days.idle()
    assert not days.state.early and [m.partition.path for m in days.state.moved] == [DAYS[0]]
    assert len(days.visible(DAYS[0])) == 1
    assert days.told == [(NAME, True)] and days.table.units_since is None
    assert days.loop.compactions.taken_slots == 0


def test_cleanup_beside_units_leaves_their_files_and_epochs_go_on(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    days.idle()
    days.runner.write()
    end, days.runner.end = days.runner.end, None  # the job goes on
    name = file_name(days.state.ledger_id, days.table.owned.ledger.generation.number, 1)
    orphan = local(join(staging_directory(days.table.location), name.in_state("pending")))
    orphan.write_bytes(CONTENT)
    for _ in range(CLEANUP_EPOCHS):
        days.dump(DAYS[1])
    assert not orphan.exists() and not days.state.moved
    days.runner.end = end
    days.idle()
    assert [m.partition.path for m in days.state.moved] == [DAYS[0]]
    (moved,) = days.visible(DAYS[0])
    assert f"-e{days.state.moved[0].epoch:06d}-" in moved, "its name is that of the epoch that committed it"


def test_files_that_come_before_the_units_are_written_are_further_units(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    days.idle()
    days.dump(DAYS[0])
    days.runner.write()
    days.clock.sleep(1)
    assert days.loop.plan() is None
    assert not days.state.moved and not days.state.units
    days.idle()
    first, second = days.sources(0), days.sources(1)
    assert len(days.runner.jobs) == 2 and first != second and len(first[0]) == len(second[0]) == 1
    days.runner.write()
    days.idle()
    assert [m.partition.path for m in days.state.moved] == [DAYS[0]]
    assert len(days.visible(DAYS[0])) == 2


def test_units_are_cut_and_at_most_the_share_of_the_cores_is_taken(tmp_path: Path) -> None:
    days = Days(tmp_path, "target: 4B, share: 0.5", "tasks_per_core: 2", slots=8)
    days.dump(DAYS[0], 5)
    days.idle()
    assert [len(sources) for sources in days.sources()] == [1, 1]
    assert days.loop.compactions.taken_slots == 4
    epoch = days.plan_more(1)
    assert days.loop.most_tasks == 8
    days.run(epoch, DAYS[1])
    moved: list[str] = []
    for _ in range(3):
        days.runner.write()
        days.idle()
        moved = [m.partition.path for m in days.state.moved]
    assert DAYS[0] in moved and len(days.visible(DAYS[0])) == 5


def test_a_share_of_all_cores_leaves_one_to_epochs(tmp_path: Path) -> None:
    days = Days(tmp_path, "target: 4B, share: 1", slots=2, cores=2)
    days.dump(DAYS[0], 3)
    days.idle()
    assert len(days.runner.jobs[0]) == days.loop.compactions.taken_slots == 1


def test_cores_that_spark_may_get_later_are_not_shared(tmp_path: Path) -> None:
    days = Days(tmp_path, "target: 4B, share: 0.5", slots=40, cores=2)  # as with dynamic allocation
    days.dump(DAYS[0], 3)
    days.idle()
    assert len(days.runner.jobs[0]) == 1


def test_a_partition_that_is_open_again_does_not_keep_the_others_waiting(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    days.dump(DAYS[1])
    days.idle()
    late = days.plan_more()
    days.runner.write()
    days.run(late, DAYS[0])
    days.clock.sleep(0.1)
    assert days.loop.plan() is None
    assert not days.state.moved and [each.partition.path for each in days.state.open] == [DAYS[0]]
    assert days.runner.jobs[-1][0].home.path == DAYS[1], "it may move"
    assert days.table.units_since == days.state.epoch + 1


def test_units_of_a_ledger_that_was_reset_are_given_up(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    days.idle()
    days.runner.write()
    restate(days.table, ledger_id="f" * 32)  # its first generation may have the number of the former ledger's
    days.idle()
    assert not days.state.moved


def test_nothing_is_begun_while_a_table_lags(tmp_path: Path) -> None:
    lagging = Days(tmp_path, limits="epoch_records: 4")
    lagging.kafka.ends[EARLY] = 4
    lagging.clock.sleep(FLUSH)
    lagging.run(next_epoch(lagging.loop), DAYS[0])
    lagging.kafka.ends[EARLY] += 40
    for _ in range(3):
        lagging.clock.sleep(FLUSH)
        lagging.run(next_epoch(lagging.loop), DAYS[1])
    assert lagging.state.certificates or lagging.state.early[0].certified
    assert lagging.runner.jobs == []


def test_a_paused_table_is_not_compacted(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    restate(days.table, paused=Pause(since="now", by="me", order="0" * 32, epoch=2))
    days.idle()
    assert days.runner.jobs == []
    restate(days.table, paused=None)
    days.idle()
    assert len(days.runner.jobs) == 1


def test_a_run_on_one_core_says_that_it_does_not_compact(tmp_path: Path) -> None:
    days = Days(tmp_path, slots=1, cores=1)
    days.dump(DAYS[0])
    days.idle()
    assert days.runner.jobs == []
    (warning,) = days.table.warnings["compaction slots"]
    assert "single core" in warning


@pytest.mark.parametrize(("at", "begun"), [("07:00-09:00", 1), ("22:00-08:30", 1), ("09:00-07:00", 0)])
def test_units_are_begun_within_the_window(tmp_path: Path, at: str, begun: int) -> None:
    days = Days(tmp_path, f'at: "{at}"')  # the clock begins at 08:00
    days.dump(DAYS[0])
    days.idle()
    assert len(days.runner.jobs) == begun


def test_a_share_of_nothing_leaves_compaction_to_the_command(tmp_path: Path) -> None:
    days = Days(tmp_path, "share: 0")
    days.dump(DAYS[0])
    days.idle()
    assert days.runner.jobs == []


def test_a_unit_that_fails_delays_its_partition_and_nothing_else(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    days.dump(DAYS[1])
    days.idle()
    assert days.runner.jobs[-1][0].home.path == DAYS[0]
    days.runner.fail("compact.rows")
    days.idle(1)
    assert days.table.aside is None and not days.state.moved
    assert days.told == [(NAME, False)]
    (warning,) = days.table.warnings["compaction"]
    assert "compact.rows" in warning and DAYS[0] in warning
    assert days.runner.jobs[-1][0].home.path == DAYS[1], "the other one has its turn"
    days.runner.write()
    days.idle(1)
    assert [m.partition.path for m in days.state.moved] == [DAYS[1]]
    assert len(days.runner.jobs) == 2, "it waits"
    days.clock.sleep(FIRST_WAIT)
    days.idle(1)
    days.runner.write()
    days.idle(1)
    assert {m.partition.path for m in days.state.moved} == set(DAYS)
    assert days.table.warnings["compaction"] == ()


def test_an_early_place_that_was_changed_by_hand_is_a_warning(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    (early,) = days.state.early
    local(join(early.partition.location, "added")).write_bytes(b"")
    days.idle()
    assert days.runner.jobs == [] and days.table.aside is None
    (warning,) = days.table.warnings["compaction"]
    assert "compact.sources" in warning


def test_a_job_that_fails_as_a_whole_is_a_warning(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    days.idle()
    days.runner.end = RuntimeError("all attempts failed")
    days.idle(1)
    (warning,) = days.table.warnings["compaction"]
    assert "compact.job" in warning and "all attempts failed" in warning
    assert days.loop.compactions.taken_slots == 0 and days.table.units_since is None


def test_units_are_given_up_if_the_table_is_taken_over_again(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    days.idle()
    days.runner.write()
    days.tables.forget(days.table)
    days.idle()
    assert not days.state.moved and len(days.runner.jobs) == 2
    assert days.runner.jobs[1][0].generation == days.table.owned.ledger.generation.number
    days.runner.write()
    days.idle()
    assert [m.partition.path for m in days.state.moved] == [DAYS[0]]


def test_a_job_may_fail_while_its_table_is_not_owned(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    days.idle()
    days.tables.forget(days.table)
    days.tables.set_aside(days.table, AmbiguousOutcome("ledger.no_answer", "no answer"))
    days.runner.fail("storage.unavailable")
    assert days.loop.plan() is None
    assert days.table.last_state is not None and days.told == [(NAME, False)]
    (warning,) = days.table.warnings["compaction"]
    assert "compact.storage" in warning


def test_status_says_what_is_not_compacted_yet(tmp_path: Path) -> None:
    days = Days(tmp_path)
    arguments = ("status", "-c", str(tmp_path / "map.yaml"), "--table", NAME, "--kafka-timeout", "1")
    assert "not compacted" not in invoke(*arguments).stdout
    days.dump(DAYS[0], 3)
    assert "not compacted yet: 1 partition with 3 files, of which 0 complete" in invoke(*arguments).stdout
    days.idle()
    assert "not compacted yet: 1 partition with 3 files, of which 1 complete" in invoke(*arguments).stdout
    days.runner.write()
    days.idle()
    assert "not compacted" not in invoke(*arguments).stdout
