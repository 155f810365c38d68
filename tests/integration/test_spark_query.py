"""The streaming query on a real local Spark, with a small planner and small tasks instead of Kafka's."""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka2hive.config.keys import SparkOptions
from kafka2hive.model.errors import Fenced, ServiceUnavailable
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, RangeAccounting, TopicPartition
from kafka2hive.plan.contract import (
    PlannedEpoch,
    TableManifest,
    TableTask,
    TaskPlan,
    UnitAssignment,
    UnitResult,
)
from kafka2hive.spark.configuration import WORKERS_DAEMON
from kafka2hive.spark.jobs import UnitJobs, task_function
from kafka2hive.spark.jvm import launched
from kafka2hive.spark.query import DumpQuery, EndReason, QueryEnd
from kafka2hive.spark.session import session_settings, session_slots, start_session

log = logging.getLogger(__name__)

SOURCE = TopicPartition("flights", 0)


@dataclass
class Epochs:
    """Planner and listener in one: gives `epochs` epochs of `tasks` tasks, 10 offsets each; remembers what it is told.

    An epoch that failed is planned again, as the service does.
    """

    epochs: int
    tasks_each: int = 2
    done: list[int] = field(default_factory=list)
    failed: list[tuple[int, str]] = field(default_factory=list)
    manifests: list[TableManifest] = field(default_factory=list)
    ended_at: list[float] = field(default_factory=list)
    plans_asked: int = 0
    give_up_after: int = 99
    plan_error: Exception | None = None
    epoch_error: Exception | None = None
    hold_plan: threading.Event | None = None

    def plan(self) -> PlannedEpoch | None:
        self.plans_asked += 1
        if self.hold_plan is not None:
            self.hold_plan.wait()
        if self.plan_error is not None:
            raise self.plan_error
        if len(self.done) >= self.epochs or len(self.failed) >= self.give_up_after:
            return None
        number = len(self.done) + len(self.failed) + 1
        first = 10 * self.tasks_each * len(self.done)
        tasks = (self._task(i, number, first + 10 * i) for i in range(self.tasks_each))
        return PlannedEpoch(number, tuple(tasks))

    @staticmethod
    def _task(index: int, number: int, first: int) -> TaskPlan:
        table = TableTask(
            table="db.t",
            ledger_id="id",
            generation=1,
            epoch=number,
            planned_at_ms=0,
            ranges=(OffsetRange(SOURCE, first, first + 10),),
        )
        return TaskPlan(index, (table,))

    def on_epoch(self, number: int, manifests: Sequence[TableManifest]) -> None:
        if self.epoch_error is not None:
            raise self.epoch_error
        self.done.append(number)
        self.manifests += manifests
        self.ended_at.append(time.monotonic())

    def on_failed(self, number: int, reason: str) -> None:
        self.failed.append((number, reason))

    def offsets(self) -> list[int]:
        """Every offset that came home, in order."""
        return sorted(
            o for m in self.manifests for a in m.accounts for o in range(a.range.start, a.range.end)
        )


def read(plan: TaskPlan, settings: Path) -> Iterator[TableManifest]:
    """A task that reads nothing and accounts for all of it."""
    for task in plan.tables:
        accounts = tuple(
            RangeAccounting(plan.index, r, OffsetAccounting(read=len(r), written=len(r))) for r in task.ranges
        )
        yield TableManifest(
            table=task.table, task=plan.index, generation=task.generation, epoch=task.epoch, accounts=accounts
        )


def read_or_die_once(plan: TaskPlan, settings: Path) -> Iterator[TableManifest]:
    """The first attempt of task 1 of epoch 1 is killed as the kernel kills: without a word."""
    if plan.index == 1 and plan.tables[0].epoch == 1:
        try:
            (settings / "killed").touch(exist_ok=False)
        except FileExistsError:
            pass  # this is the second attempt
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    yield from read(plan, settings)


def read_unless_poisoned(plan: TaskPlan, settings: Path) -> Iterator[TableManifest]:
    """Epochs 2 and 3 of the query fail, with every attempt."""
    if plan.tables[0].epoch in (2, 3):
        raise ValueError("no decoder for this record")
    yield from read(plan, settings)


def read_slowly(plan: TaskPlan, settings: Path) -> Iterator[TableManifest]:
    """Takes as many seconds as the file `seconds` says."""
    (settings / f"began-{plan.index}").touch()
    time.sleep(float((settings / "seconds").read_text()))
    yield from read(plan, settings)


def read_when_let_go(plan: TaskPlan, settings: Path) -> Iterator[TableManifest]:
    """Takes until somebody makes the file `go`."""
    (settings / f"began-{plan.index}").touch()
    while not (settings / "go").exists():
        time.sleep(0.05)
    yield from read(plan, settings)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    folder = tmp_path_factory.mktemp("spark")
    options = SparkOptions(master="local[2,4]")
    with launched(options, "query-test") as jvm:
        session = start_session(options, "query-test", folder, jvm.connect())
    # a test module may come from a folder that is no package for the workers
    session.sparkContext.addPyFile(__file__)
    yield session
    session.stop()


def forked_by(_: Iterable[int]) -> list[tuple[str, int]]:
    """The command line of this worker's parent, and how many threads that has."""
    parent = Path(f"/proc/{os.getppid()}")
    return [((parent / "cmdline").read_text(), len(list((parent / "task").iterdir())))]


def test_workers_are_forked_by_our_daemon_which_has_one_thread(spark: SparkSession) -> None:
    for command, threads in spark.sparkContext.parallelize([1, 2], 2).mapPartitions(forked_by).collect():
        assert WORKERS_DAEMON in command
        assert threads == 1


Task = Callable[[TaskPlan, Path], Iterator[TableManifest]]
Start = Callable[..., DumpQuery]


@pytest.fixture
def start(spark: SparkSession, tmp_path: Path) -> Iterator[Start]:
    """Starts queries; what still runs when the test ends is stopped, so that it cannot disturb the next test."""
    with ExitStack() as running:

        def start(
            epochs: Epochs,
            task: Task = read,
            *,
            once: bool = False,
            stop_seconds: float = 240.0,
            on_stop: Callable[[], None] = lambda: None,
        ) -> DumpQuery:
            query = DumpQuery(
                spark, epochs, epochs, task_function(task, tmp_path), tmp_path,
                trigger_seconds=0.2, once=once, stop_seconds=stop_seconds, on_stop=on_stop,
            )  # fmt: skip
            query.start()
            running.callback(query.stop)
            return query

        yield start


def run(query: DumpQuery, until: Callable[[], bool] = lambda: False, seconds: float = 600.0) -> QueryEnd:
    """Run the query until it ends or `until` holds."""
    stop = threading.Event()
    deadline = time.monotonic() + seconds

    def tick() -> None:
        assert time.monotonic() < deadline, "nothing happened in time"
        if until():
            stop.set()

    return query.run_until(stop, tick)


def test_once_drains_in_bounded_epochs_and_ends(start: Start) -> None:
    epochs = Epochs(epochs=3)
    assert run(start(epochs, once=True)) == QueryEnd(EndReason.DRAINED)
    assert epochs.done == [1, 2, 3]
    assert epochs.offsets() == list(range(60))


def test_once_with_nothing_to_do_ends_without_an_epoch(start: Start) -> None:
    epochs = Epochs(epochs=0)
    assert run(start(epochs, once=True)).reason is EndReason.DRAINED
    assert epochs.done == []


def test_a_service_runs_epochs_then_idles_without_any_and_stops_when_asked(start: Start) -> None:
    epochs = Epochs(epochs=6)
    query = start(epochs)
    asked_when_done = 0

    def idle_for_five_triggers() -> bool:
        nonlocal asked_when_done
        if len(epochs.done) == 6 and not asked_when_done:
            asked_when_done = epochs.plans_asked
        return bool(asked_when_done) and epochs.plans_asked >= asked_when_done + 5

    assert run(query, idle_for_five_triggers) == QueryEnd(EndReason.STOPPED)
    assert epochs.done == [1, 2, 3, 4, 5, 6]
    assert epochs.offsets() == list(range(120))
    gaps = [later - earlier for earlier, later in pairwise(epochs.ended_at)]
    log.info("shortest epoch of two empty tasks: %.2f s", min(gaps))


def test_a_service_that_is_idle_at_first_begins_with_epoch_one(start: Start) -> None:
    epochs = Epochs(epochs=0)

    def work_comes_later() -> bool:
        if epochs.plans_asked >= 3:
            epochs.epochs = 2
        return len(epochs.done) == 2

    assert run(start(epochs), work_comes_later) == QueryEnd(EndReason.STOPPED)
    assert epochs.done == [1, 2]
    assert epochs.offsets() == list(range(40))


def test_a_worker_that_is_killed_is_replaced_and_nothing_counts_twice(start: Start, tmp_path: Path) -> None:
    epochs = Epochs(epochs=2)
    assert run(start(epochs, read_or_die_once, once=True)).reason is EndReason.DRAINED
    assert (tmp_path / "killed").exists()
    assert epochs.failed == []
    assert epochs.offsets() == list(range(40))


def test_a_job_that_fails_is_told_with_its_python_error_and_the_query_goes_on(start: Start) -> None:
    epochs = Epochs(epochs=3, tasks_each=1)
    assert run(start(epochs, read_unless_poisoned, once=True)).reason is EndReason.DRAINED
    assert [number for number, _ in epochs.failed] == [2, 3]
    assert all("ValueError: no decoder for this record" in reason for _, reason in epochs.failed)
    assert epochs.done == [1, 4, 5]
    assert epochs.offsets() == list(range(30))


def test_what_the_listener_raises_ends_the_query_and_comes_back_as_the_same_object(start: Start) -> None:
    epochs = Epochs(epochs=3, epoch_error=Fenced("ledger.fenced", "db.t belongs to another run"))
    ended = run(start(epochs))
    assert ended.reason is EndReason.FAILED
    assert ended.error is epochs.epoch_error


def test_what_the_planner_raises_ends_the_query_and_comes_back_as_the_same_object(start: Start) -> None:
    epochs = Epochs(epochs=3, plan_error=Fenced("ledger.fenced", "db.t belongs to another run"))
    ended = run(start(epochs))
    assert ended.reason is EndReason.FAILED
    assert ended.error is epochs.plan_error


def test_stop_lets_the_epoch_under_way_finish(start: Start, tmp_path: Path) -> None:
    epochs = Epochs(epochs=99)

    def begun() -> bool:
        """The epoch goes on for two seconds after it was asked to stop, however busy the machine is."""
        if (tmp_path / "began-0").exists():
            threading.Timer(2.0, (tmp_path / "go").touch).start()
            return True
        return False

    ended = run(start(epochs, read_when_let_go), begun)
    assert ended == QueryEnd(EndReason.STOPPED)
    assert epochs.done == [1]


def test_stop_abandons_an_epoch_that_takes_too_long(start: Start, tmp_path: Path) -> None:
    (tmp_path / "seconds").write_text("100")
    epochs = Epochs(epochs=99)
    query = start(epochs, read_slowly, stop_seconds=1.0)
    began = 0.0

    def started() -> bool:
        nonlocal began
        began = time.monotonic()
        return (tmp_path / "began-0").exists()

    ended = run(query, started)
    assert ended == QueryEnd(EndReason.STOPPED, None, abandoned=1)
    assert time.monotonic() - began < 60
    assert epochs.done == []
    assert epochs.failed == []


def test_stop_does_not_wait_for_a_planner_that_hangs(start: Start) -> None:
    epochs = Epochs(epochs=1, hold_plan=threading.Event())
    query = start(epochs, stop_seconds=1.0)
    began = 0.0

    def asked() -> bool:
        nonlocal began
        began = time.monotonic()
        return epochs.plans_asked > 0

    assert run(query, asked).reason is EndReason.STOPPED
    assert time.monotonic() - began < 60
    assert epochs.hold_plan is not None
    epochs.hold_plan.set()


def test_a_query_that_spark_cannot_start_is_unavailable_not_a_bug(
    spark: SparkSession, tmp_path: Path
) -> None:
    epochs = Epochs(epochs=1)
    (tmp_path / "checkpoint").write_text("a file where a directory must be")
    query = DumpQuery(spark, epochs, epochs, task_function(read, tmp_path), tmp_path, trigger_seconds=1.0)
    with pytest.raises(ServiceUnavailable, match=r"spark\.start"):
        query.start()


def test_the_slots_follow_the_cores(spark: SparkSession) -> None:
    assert session_slots(spark, session_settings(spark), 2) == 4


def write_when_let_go(assignment: UnitAssignment, settings: Path) -> Iterator[UnitResult]:
    """A unit of compaction that takes until somebody makes the file `go`."""
    (settings / f"unit-{assignment.task}").touch()
    while not (settings / "go").exists():
        time.sleep(0.05)
    yield UnitResult(assignment.task)


def unit(task: int) -> UnitAssignment:
    home = HivePartition("db.t", "dt=1", "file:///t/dt=1")
    return UnitAssignment(
        sources=(), home=home, table_location="file:///t", ledger_id="id", generation=1, epoch=1, task=task,
        planned_at_ms=0, target_bytes=1,
    )  # fmt: skip


def end_of_job(units: UnitJobs) -> object:
    """What the job under way returns, or the error with which it ended."""
    deadline = time.monotonic() + 300
    while (end := units.take()) is None:
        assert time.monotonic() < deadline, "the job did not end"
        time.sleep(0.05)
    return end


def test_epochs_go_on_while_a_unit_is_written_and_a_stop_cancels_it(
    spark: SparkSession, start: Start, tmp_path: Path
) -> None:
    units = UnitJobs(spark, task_function(write_when_let_go, tmp_path))
    epochs = Epochs(epochs=4, tasks_each=1)
    query = start(epochs, on_stop=units.drop)
    units.begin([unit(0)])
    ended = run(query, lambda: (tmp_path / "unit-0").exists() and len(epochs.done) == 4)
    assert (ended.reason, ended.abandoned, epochs.done) == (EndReason.STOPPED, None, [1, 2, 3, 4])
    end = end_of_job(units)
    assert isinstance(end, Exception) and "cancelled" in str(end)
    units.begin([unit(1)])
    time.sleep(0.5)
    assert not (tmp_path / "unit-1").exists(), "nothing begins after a stop"


def test_units_return_their_results_one_job_after_the_other(spark: SparkSession, tmp_path: Path) -> None:
    units = UnitJobs(spark, task_function(write_when_let_go, tmp_path))
    assert units.cores() == spark.sparkContext.defaultParallelism
    (tmp_path / "go").touch()
    for job in ([unit(0), unit(1)], [unit(2)]):
        units.begin(job)
        assert end_of_job(units) == [UnitResult(assignment.task) for assignment in job]
    units.drop()
