"""Spark's jobs: an epoch has one for all tables without SQL, and one for each with SQL; units of compaction have others."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from kafka2hive.plan.contract import TableManifest, TaskPlan, UnitAssignment, UnitResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Settings = TypeVar("Settings")
Plan = TypeVar("Plan")
Result = TypeVar("Result")
TaskFunction = Callable[[Iterable[TaskPlan]], Iterator[TableManifest]]


class SqlRunner(Protocol):
    """The runner of the tables with SQL (sql/job.py)."""

    def is_for(self, table: str) -> bool:
        """Return whether the table has SQL."""

    def run(
        self, table: str, shares: Sequence[TaskPlan], is_abandoned: Callable[[], bool]
    ) -> list[TableManifest]:
        """Return one manifest per share; each share must have only this table."""


def split_by_sql(
    tasks: Sequence[TaskPlan], has_sql: Callable[[str], bool]
) -> tuple[list[TaskPlan], dict[str, list[TaskPlan]]]:
    """Return the plans of the tables without SQL; and for each table with SQL its shares, with the indexes of their plans."""
    plain: list[TaskPlan] = []
    by_table: dict[str, list[TaskPlan]] = {}
    for plan in tasks:
        for task in plan.tables:
            if has_sql(task.table):
                by_table.setdefault(task.table, []).append(TaskPlan(plan.index, (task,)))
        if without_sql := tuple(task for task in plan.tables if not has_sql(task.table)):
            plain.append(TaskPlan(plan.index, without_sql))
    return plain, by_table


def task_function(
    run_task: Callable[[Plan, Settings], Iterator[Result]], settings: Settings
) -> Callable[[Iterable[Plan]], Iterator[Result]]:
    """Return the function that a Spark task runs: it takes plans and yields manifests, which Spark pickles.

    Secrets in `settings` travel in its closure, never in plans or manifests.
    """

    def run(plans: Iterable[Plan]) -> Iterator[Result]:
        for plan in plans:
            yield from run_task(plan, settings)

    return run


UNITS = "kafka2hive units"
"""The name of the job group of units, by which they are cancelled."""


class UnitJobs:
    """Runs units of compaction as Spark jobs while epochs run, one job at a time, in a separate thread.

    Each unit is a task. Spark starts the tasks of the older job first, so an epoch must be planned for fewer slots while units
    run.
    """

    def __init__(
        self, spark: "SparkSession", function: Callable[[Iterable[UnitAssignment]], Iterator[UnitResult]]
    ) -> None:
        """`function` comes from `task_function`."""
        self._spark = spark
        self._context = spark.sparkContext
        self._function = function
        self._changed = threading.Condition()
        self._assignments: list[UnitAssignment] = []
        self._end: Sequence[UnitResult] | Exception | None = None
        self._dropped = False
        self._thread: threading.Thread | None = None

    def cores(self) -> int:
        """Return how many cores Spark has now. Raises ServiceUnavailable (`spark.gone`)."""
        from kafka2hive.spark.session import session_slots  # workers import this module, and no session

        return session_slots(self._spark, {}, tasks_per_core=1)

    def begin(self, assignments: Sequence[UnitAssignment]) -> None:
        """Begin a job, if `drop` was not called. `take` must have returned the end of the previous job."""
        with self._changed:
            self._assignments = list(assignments)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="compaction", daemon=True)
                self._thread.start()
            self._changed.notify()

    def take(self) -> Sequence[UnitResult] | Exception | None:
        """Return the results of the job that has ended, or the error with which it failed as a whole; otherwise None."""
        with self._changed:
            end, self._end = self._end, None
            return end

    def drop(self) -> None:
        """Cancel the job under way, whose files become orphans, and begin no further job. Does not wait for its end."""
        with self._changed:
            self._dropped = True
            self._changed.notify()
            is_idle = self._thread is None
        if is_idle:
            return
        try:
            self._context.cancelJobGroup(UNITS)
        except Exception:  # noqa: BLE001  Spark is gone, and its tasks with it
            return

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._assignments or self._dropped)
                if self._dropped:
                    return
                assignments, self._assignments = self._assignments, []
            end: Sequence[UnitResult] | Exception
            try:
                self._context.setJobGroup(UNITS, "compaction", interruptOnCancel=False)
                job = self._context.parallelize(assignments, len(assignments)).mapPartitions(self._function)
                returned: list[UnitResult] = job.collect()
                # pyspark mistakes a broken connection for the end of the results
                is_whole = len(returned) == len(assignments)
                end = (
                    returned
                    if is_whole
                    else ConnectionError(f"{len(returned)} of {len(assignments)} units returned")
                )
            except Exception as error:  # noqa: BLE001  the epochs go on, and tell if Spark is gone
                end = error
            with self._changed:
                self._end = end
