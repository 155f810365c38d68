"""The streaming query: Spark's triggers drive the planner, tasks run, manifests return.

The stream is a clock: one of Spark's own sources whose rows nobody reads. Planning and the tasks' job happen in
`foreachBatch`, in the driver, which has ledgers and plans. A source of ours in Python would be a second process to plan
through, and plans as its rows a second Python worker per task (docs/adr/0003-spark-as-scheduler.md).

Facts it is built on (measured, pyspark 4.3.0):
- `foreachBatch` runs in the driver's own process; an exception that leaves it ends the query and survives as text only;
- `rate-micro-batch` has a new offset at every trigger, and exactly one with `availableNow`; unread, it runs no job;
- `stop` interrupts a Spark job, but waits for Python code inside `foreachBatch`: no zombie commits after it;
- `awaitTermination` without a time limit swallows SIGTERM; SIGTERM must reach the driver alone, not its JVM.
"""

import itertools
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.plan.contract import PlannedEpoch, TableManifest, TaskPlan, planned_manifests
from kafka2hive.spark.errors import SPARK_GONE, KeptError, error_text, spark_gone
from kafka2hive.spark.internals import is_stopped
from kafka2hive.spark.jobs import SqlRunner, TaskFunction, apart_with_sql


class EndReason(Enum):
    """Why a query ended."""

    DRAINED = "drained"  # `--once`: nothing more was due
    STOPPED = "stopped"  # asked to
    FAILED = "failed"  # see the error


@dataclass(frozen=True, slots=True)
class Ended:
    """`error` with FAILED: the very object that the planner or the listener raised, or ServiceUnavailable for Spark's
    own trouble. `abandoned`: the epoch that a stop interrupted; nothing of it was told to the listener.
    """

    reason: EndReason
    error: Exception | None = None
    abandoned: int | None = None


class Planner(Protocol):
    """Asked at each trigger, by one thread at a time."""

    def plan(self) -> PlannedEpoch | None:
        """The next epoch; None when nothing is due. What it raises ends the query."""


class PlanGate:
    """A planner around another; an epoch is under way from its planning until `finished`."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._planning = False
        self._under_way: int | None = None

    def close(self) -> None:
        """From now on nothing is due; an epoch under way goes on."""
        with self._lock:
            self._closed.set()

    def closes_within(self, seconds: float) -> bool:
        """Wait so long, or until it is closed."""
        return self._closed.wait(seconds)

    def finished(self) -> None:
        """The epoch under way has ended, well or not."""
        with self._lock:
            self._under_way = None

    def under_way(self) -> int | None:
        """The number of the epoch between planning and landing."""
        with self._lock:
            return self._under_way

    def busy(self) -> bool:
        with self._lock:
            return self._planning or self._under_way is not None

    def plan(self) -> PlannedEpoch | None:
        """See Planner; None once closed, also for what was planned while it closed."""
        with self._lock:
            if self._closed.is_set():
                return None
            self._planning = True
        planned: PlannedEpoch | None = None
        try:
            planned = self._planner.plan()
        finally:
            planned = self._let_pass(planned)
        return planned

    def _let_pass(self, planned: PlannedEpoch | None) -> PlannedEpoch | None:
        with self._lock:
            self._planning = False
            if self._closed.is_set() or planned is None:
                return None
            self._under_way = planned.number
            return planned


log = logging.getLogger(__name__)

#: A source of Spark's that always has something new.
CLOCK = "rate-micro-batch"
TICK_SECONDS = 0.2
_LAST_TICK_SECONDS = 0.01  # Spark ends the query right after its last batch
_TICKS_PER_LOOK = 5  # asking Spark whether the query runs costs more than all the rest of an idle run


class EpochListener(Protocol):
    """Told in the driver, one epoch at a time, before the next one is planned. What it raises ends the query."""

    def on_epoch(self, number: int, manifests: Sequence[TableManifest]) -> None:
        """All tasks of the epoch ended; exactly one manifest per table and task."""

    def on_failed(self, number: int, reason: str) -> None:
        """The epoch's job failed after Spark's own attempts; the query goes on."""


class _Abandoned(Exception):
    """A stop came between two jobs of an epoch: Spark interrupts the one under way only."""


class DumpQuery:
    """One query, from `start` to the `Ended` that `run_until` returns. Not to be used again.

    `scratch` is this process's throw-away directory: the checkpoint lives there. With `once` one trigger (`availableNow`)
    runs epochs until the planner has nothing more, and the query ends; else a trigger runs one, each `trigger_seconds` or
    at once when the epoch before took longer. While nothing is due the planner is asked as often, and once more
    right after the epoch that ended such a wait.
    """

    def __init__(  # noqa: PLR0913  what a run is made of, by keyword
        self,
        spark: SparkSession,
        planner: Planner,
        listener: EpochListener,
        function: TaskFunction,
        scratch: Path,
        *,
        trigger_seconds: float,
        once: bool = False,
        stop_seconds: float = 60.0,
        sql: SqlRunner | None = None,
    ) -> None:
        """`function` comes from `task_function`; `stop_seconds` is the time an epoch gets to end on `stop`.

        `sql` None: no table has SQL.
        """
        self._spark = spark
        self._listener = listener
        self._function = function
        self._scratch = scratch
        self._trigger_seconds = trigger_seconds
        self._trigger: dict[str, Any] = (
            {"availableNow": True}
            if once
            else {"processingTime": f"{round(trigger_seconds * 1000)} milliseconds"}
        )
        self._once = once
        self._stop_seconds = stop_seconds
        self._sql = sql
        self._gate = PlanGate(planner)
        self._kept = KeptError()
        self._drained = threading.Event()
        self._abandoning = False
        self._abandoned: int | None = None
        self._query: Any = None

    def start(self) -> None:
        """Start the query with a fresh checkpoint. Raises ServiceUnavailable when Spark refuses."""
        try:
            self._spark.conf.set("spark.sql.streaming.stopTimeout", f"{round(self._stop_seconds * 1000)}ms")
            self._query = (
                self._spark.readStream.format(CLOCK)
                .option("rowsPerBatch", 1)
                .load()
                .writeStream.foreachBatch(self._on_batch)
                .option("checkpointLocation", (self._scratch / "checkpoint").as_uri())
                .trigger(**self._trigger)
                .queryName("kafka2hive")
                .start()
            )
        except (PySparkException, *SPARK_GONE) as error:
            raise ServiceUnavailable(
                "spark.start", f"the query did not start: {error_text(error)}"
            ) from error

    def run_until(self, stop: threading.Event, on_tick: Callable[[], None]) -> Ended:
        """Wait for the end, calling `on_tick` some times a second; a set `stop` ends the query (see `stop`).

        `stop` is only looked at, never waited for, so that a signal handler may set it at any moment.
        """
        for tick in itertools.count():
            if stop.is_set() or self._kept.error is not None:
                break
            if self._drained.is_set():
                time.sleep(_LAST_TICK_SECONDS)
            else:
                self._drained.wait(TICK_SECONDS)
            on_tick()
            if (self._drained.is_set() or tick % _TICKS_PER_LOOK == 0) and not self._is_active():
                self._gate.close()  # the JVM may be gone while our thread still sits in the batch
                return self._how_it_ended()
        return self.stop()

    def stop(self) -> Ended:
        """Plan nothing more, give the epoch under way `stop_seconds`, then abandon it. Returns within twice that.

        An abandoned epoch leaves orphans in staging and nothing else: only the listener commits, and if it is at
        work (the tasks are done) it is waited for, not interrupted.
        """
        self._gate.close()
        if self._gate.busy():
            log.info("shutting down: the epoch under way gets %g s to finish", self._stop_seconds)
        deadline = time.monotonic() + self._stop_seconds
        while self._gate.busy() and time.monotonic() < deadline and self._is_active():
            time.sleep(TICK_SECONDS / 4)
        self._abandoning = True
        try:
            self._query.stop()
        except (PySparkException, *SPARK_GONE):
            pass  # it ended with an error of its own, or its stopTimeout passed: the process ends next
        abandoned = self._abandoned or self._gate.under_way()
        error = self._kept.error
        return Ended(EndReason.FAILED if error else EndReason.STOPPED, error, abandoned)

    def _on_batch(self, batch: DataFrame, batch_number: int) -> None:
        """Spark's call at each trigger: it is time. Neither its rows nor its number count.

        While nothing is due it stays here and asks again: an idle batch a second would cost 6 % of a core. An error is
        not raised but kept, and `run_until` ends the query: Spark would only print it, twice, as text.
        """
        with self._kept:
            while True:
                epoch = self._gate.plan()
                if epoch is not None:
                    try:
                        self._run_epoch(epoch)
                    finally:
                        self._gate.finished()
                    if not self._once:
                        return
                elif self._once:
                    self._drained.set()
                    return
                elif self._gate.closes_within(self._trigger_seconds):
                    return
        self._gate.close()

    def _run_epoch(self, epoch: PlannedEpoch) -> None:
        try:
            manifests = self._run_tasks(epoch.tasks)
        except _Abandoned:
            self._abandoned = epoch.number
            return
        except (PySparkException, Py4JJavaError) as error:
            if self._abandoning:
                self._abandoned = epoch.number
            elif not self._is_active():
                raise _ended_outside() from error
            else:
                self._listener.on_failed(epoch.number, error_text(error))
            return
        except SPARK_GONE as gone:
            if self._is_active():
                raise ServiceUnavailable("spark.query", f"the epoch's job did not run: {gone!r}") from gone
            raise spark_gone(repr(gone)) from gone
        self._listener.on_epoch(epoch.number, manifests)

    def _run_tasks(self, tasks: Sequence[TaskPlan]) -> list[TableManifest]:
        """The job of the tables without SQL, then one for each with SQL."""
        if self._sql is None:
            return self._run_fused(tasks)
        fused, by_table = apart_with_sql(tasks, self._sql.is_for)
        manifests = self._run_fused(fused) if fused else []
        for table, shares in by_table.items():
            if self._abandoning:
                raise _Abandoned
            manifests += self._sql.run(table, shares, lambda: self._abandoning)
        return planned_manifests(tasks, manifests)

    def _run_fused(self, tasks: Sequence[TaskPlan]) -> list[TableManifest]:
        """One Spark task per plan, each in one Python worker; a job of this batch, so that `stop` interrupts it."""
        job = self._spark.sparkContext.parallelize(tasks, len(tasks)).mapPartitions(self._function)
        returned = job.collect()
        # pyspark takes the end of a broken connection for the end of the results
        if len(returned) < sum(len(task.tables) for task in tasks) and not self._is_active():
            raise spark_gone("not all manifests returned")
        return planned_manifests(tasks, returned)

    def _is_active(self) -> bool:
        """Asks the context, too: where YARN has killed the application it is stopped, and neither the query nor the job under
        way notices.
        """
        try:
            return bool(self._query.isActive) and not is_stopped(self._spark.sparkContext)
        except SPARK_GONE:
            return False

    def _how_it_ended(self) -> Ended:
        error = self._kept.error
        if error is not None:
            return Ended(EndReason.FAILED, error)
        try:
            failure = self._query.exception()
        except SPARK_GONE as gone:
            return Ended(EndReason.FAILED, spark_gone(repr(gone)))
        if failure is not None:
            return Ended(EndReason.FAILED, ServiceUnavailable("spark.query", error_text(failure)))
        if self._drained.is_set():
            return Ended(EndReason.DRAINED)
        return Ended(EndReason.FAILED, _ended_outside())


def _ended_outside() -> ServiceUnavailable:
    return ServiceUnavailable(
        "spark.ended",
        "Spark's application was ended from outside, as by `yarn application -kill`",
        "start the run again: it resumes right after what is committed; the cluster's manager tells who ended it, and why",
    )
