"""The streaming query: Spark's triggers call the planner, tasks run, and manifests return to the listener.

The stream is only a clock: a source built into Spark, whose rows are never read. Planning and the tasks' job run in
`foreachBatch`, in the driver, which has the ledgers. A data source in Python would need a second process to plan in, and
plans as its rows would need a second Python worker per task (docs/adr/0003-spark-as-scheduler.md).

This relies on facts that were measured with pyspark 4.3.0:
- `foreachBatch` runs in the driver's own process; an exception that leaves it ends the query and survives only as text;
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
from kafka2hive.spark.errors import SPARK_GONE, FirstError, error_text, spark_gone
from kafka2hive.spark.internals import is_stopped
from kafka2hive.spark.jobs import SqlRunner, TaskFunction, split_by_sql

log = logging.getLogger(__name__)

#: A source of Spark's that always has something new.
CLOCK = "rate-micro-batch"
TICK_SECONDS = 0.2
_LAST_TICK_SECONDS = 0.01  # Spark ends the query right after its last batch
_TICKS_PER_LOOK = 5  # asking Spark whether the query runs costs more than the rest of an idle run


class EndReason(Enum):
    """The reason why a query ended."""

    DRAINED = "drained"  # `--once`: nothing more was due
    STOPPED = "stopped"  # by `stop`
    FAILED = "failed"  # see the error


@dataclass(frozen=True, slots=True)
class QueryEnd:
    """The end of a query.

    With FAILED, `error` is the exception that the planner or the listener raised, or ServiceUnavailable for an error of
    Spark. `abandoned` is the epoch that a stop interrupted; the listener was not called for it.
    """

    reason: EndReason
    error: Exception | None = None
    abandoned: int | None = None


class Planner(Protocol):
    """Plans epochs; called at each trigger, by one thread at a time."""

    def plan(self) -> PlannedEpoch | None:
        """Return the next epoch, or None if no epoch is due. An exception ends the query."""


class PlanGate:
    """A planner that asks another planner until it is closed. An epoch is under way from its planning until `end_epoch`."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._planning = False
        self._under_way: int | None = None

    def close(self) -> None:
        """Plan no further epoch; an epoch under way continues."""
        with self._lock:
            self._closed.set()

    def wait_closed(self, seconds: float) -> bool:
        """Wait until the gate is closed, at most `seconds`, and return whether it is."""
        return self._closed.wait(seconds)

    def end_epoch(self) -> None:
        """Note that the epoch under way has ended, with or without success."""
        with self._lock:
            self._under_way = None

    def under_way(self) -> int | None:
        """Return the number of the epoch under way, None without one."""
        with self._lock:
            return self._under_way

    def is_busy(self) -> bool:
        """Return whether an epoch is being planned or under way."""
        with self._lock:
            return self._planning or self._under_way is not None

    def plan(self) -> PlannedEpoch | None:
        """Plan the next epoch (see Planner); None if the gate is closed, even if it was closed during the planning."""
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


class EpochListener(Protocol):
    """Receives the results in the driver, one epoch at a time and before the next is planned. An exception ends the query."""

    def on_epoch(self, number: int, manifests: Sequence[TableManifest]) -> None:
        """Handle an epoch whose tasks all ended; there is exactly one manifest per table and task."""

    def on_failed(self, number: int, reason: str) -> None:
        """Handle an epoch whose job failed after Spark's own attempts; the query continues."""


class _Abandoned(Exception):
    """A stop came between two jobs of an epoch, where Spark has no job to interrupt."""


class DumpQuery:
    """One query, from `start` to the `QueryEnd` that `run_until` returns. It cannot be started again.

    `scratch` is this process's temporary directory, which holds the checkpoint. With `once`, one trigger (`availableNow`)
    runs epochs until the planner has no more, and the query ends. Otherwise each trigger runs one epoch, every
    `trigger_seconds`, or at once if the previous epoch took longer. While nothing is due, the planner is called at the
    same interval, and once more right after the epoch that ended such a wait.
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
        on_stop: Callable[[], None] = lambda: None,
    ) -> None:
        """`function` comes from `task_function`; `stop_seconds` is the time that `stop` gives an epoch to end.

        `sql` is None if no table has SQL. `stop` first calls `on_stop`.
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
        self._on_stop = on_stop
        self._gate = PlanGate(planner)
        self._first_error = FirstError()
        self._drained = threading.Event()
        self._abandoning = False
        self._abandoned: int | None = None
        self._query: Any = None

    def start(self) -> None:
        """Start the query with a new checkpoint. Raises ServiceUnavailable (`spark.start`) if Spark cannot start it."""
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

    def run_until(self, stop: threading.Event, on_tick: Callable[[], None]) -> QueryEnd:
        """Wait for the end and call `on_tick` a few times a second; setting `stop` ends the query (see `DumpQuery.stop`).

        `stop` is only polled, never waited for, so that a signal handler may set it at any moment.
        """
        for tick in itertools.count():
            if stop.is_set() or self._first_error.error is not None:
                break
            if self._drained.is_set():
                time.sleep(_LAST_TICK_SECONDS)
            else:
                self._drained.wait(TICK_SECONDS)
            on_tick()
            if (self._drained.is_set() or tick % _TICKS_PER_LOOK == 0) and not self._is_active():
                self._gate.close()  # the JVM may be gone while the thread of `_on_batch` still waits
                return self._end_of_query()
        return self.stop()

    def stop(self) -> QueryEnd:
        """Plan no further epoch, give the epoch under way `stop_seconds`, then abandon it. Returns within twice this time.

        An abandoned epoch leaves only orphans. Only the listener commits; if it is running because the tasks have ended,
        this method waits for it and does not interrupt it.
        """
        self._gate.close()
        self._on_stop()
        if self._gate.is_busy():
            log.info("shutting down: the epoch under way gets %g s to finish", self._stop_seconds)
        deadline = time.monotonic() + self._stop_seconds
        while self._gate.is_busy() and time.monotonic() < deadline and self._is_active():
            time.sleep(TICK_SECONDS / 4)
        self._abandoning = True
        try:
            self._query.stop()
        except (PySparkException, *SPARK_GONE):
            pass  # the query ended with an error, or stopTimeout passed: the process ends next
        abandoned = self._abandoned or self._gate.under_way()
        error = self._first_error.error
        return QueryEnd(EndReason.FAILED if error else EndReason.STOPPED, error, abandoned)

    def _on_batch(self, batch: DataFrame, batch_number: int) -> None:
        """Run epochs at Spark's trigger; the batch's rows and number are ignored.

        While nothing is due, this method waits and plans again, because an idle batch a second would take 6 % of a core.
        An error is kept and not raised, and `run_until` ends the query: Spark would only print it twice, as text.
        """
        with self._first_error:
            while True:
                epoch = self._gate.plan()
                if epoch is not None:
                    try:
                        self._run_epoch(epoch)
                    finally:
                        self._gate.end_epoch()
                    if not self._once:
                        return
                elif self._once:
                    self._drained.set()
                    return
                elif self._gate.wait_closed(self._trigger_seconds):
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
        """Run the job of the tables without SQL, then one job for each table with SQL."""
        if self._sql is None:
            return self._run_plain(tasks)
        plain, by_table = split_by_sql(tasks, self._sql.is_for)
        manifests = self._run_plain(plain) if plain else []
        for table, shares in by_table.items():
            if self._abandoning:
                raise _Abandoned
            manifests += self._sql.run(table, shares, lambda: self._abandoning)
        return planned_manifests(tasks, manifests)

    def _run_plain(self, tasks: Sequence[TaskPlan]) -> list[TableManifest]:
        """Run the tables without SQL: one Spark task per plan, in a job of this batch, so that `stop` interrupts it."""
        job = self._spark.sparkContext.parallelize(tasks, len(tasks)).mapPartitions(self._function)
        returned = job.collect()
        # pyspark mistakes a broken connection for the end of the results
        if len(returned) < sum(len(task.tables) for task in tasks) and not self._is_active():
            raise spark_gone("not all manifests returned")
        return planned_manifests(tasks, returned)

    def _is_active(self) -> bool:
        """Return whether the query runs and the context is not stopped.

        If YARN kills the application, the context is stopped, but neither the query nor the running job notices.
        """
        try:
            return bool(self._query.isActive) and not is_stopped(self._spark.sparkContext)
        except SPARK_GONE:
            return False

    def _end_of_query(self) -> QueryEnd:
        error = self._first_error.error
        if error is not None:
            return QueryEnd(EndReason.FAILED, error)
        try:
            failure = self._query.exception()
        except SPARK_GONE as gone:
            return QueryEnd(EndReason.FAILED, spark_gone(repr(gone)))
        if failure is not None:
            return QueryEnd(EndReason.FAILED, ServiceUnavailable("spark.query", error_text(failure)))
        if self._drained.is_set():
            return QueryEnd(EndReason.DRAINED)
        return QueryEnd(EndReason.FAILED, _ended_outside())


def _ended_outside() -> ServiceUnavailable:
    """Return the error for an application that the cluster manager has ended."""
    return ServiceUnavailable(
        "spark.ended",
        "Spark's application was ended from outside, as by `yarn application -kill`",
        "start the run again: it resumes after the last committed epoch; the cluster manager's log says who ended it, and why",
    )
