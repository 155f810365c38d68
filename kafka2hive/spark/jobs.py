"""What Spark's jobs of one epoch run: the tasks of all tables, and apart from them the tables with SQL."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from kafka2hive.plan.contract import TableManifest, TaskPlan

Settings = TypeVar("Settings")
TaskFunction = Callable[[Iterable[TaskPlan]], Iterator[TableManifest]]


class SqlRunner(Protocol):
    """Runs the tables with SQL (sql/job.py)."""

    def is_for(self, table: str) -> bool:
        """Whether the table has SQL."""

    def run(
        self, table: str, shares: Sequence[TaskPlan], is_abandoned: Callable[[], bool]
    ) -> list[TableManifest]:
        """One manifest per share; each share has nothing but this table."""


def apart_with_sql(
    tasks: Sequence[TaskPlan], has_sql: Callable[[str], bool]
) -> tuple[list[TaskPlan], dict[str, list[TaskPlan]]]:
    """The plans without the tables that have SQL, and those tables' shares, each with the index of its plan."""
    fused: list[TaskPlan] = []
    by_table: dict[str, list[TaskPlan]] = {}
    for plan in tasks:
        for task in plan.tables:
            if has_sql(task.table):
                by_table.setdefault(task.table, []).append(TaskPlan(plan.index, (task,)))
        if rest := tuple(task for task in plan.tables if not has_sql(task.table)):
            fused.append(TaskPlan(plan.index, rest))
    return fused, by_table


def task_function(
    run_task: Callable[[TaskPlan, Settings], Iterator[TableManifest]], settings: Settings
) -> TaskFunction:
    """What a Spark task runs: plans in, manifests out, pickled by Spark.

    Secrets in `settings` travel in this closure, never in plans or manifests.
    """

    def run(plans: Iterable[TaskPlan]) -> Iterator[TableManifest]:
        for plan in plans:
            yield from run_task(plan, settings)

    return run
