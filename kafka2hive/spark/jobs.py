"""The division of an epoch into Spark jobs: one for all tables without SQL, and one for each table with SQL."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from kafka2hive.plan.contract import TableManifest, TaskPlan

Settings = TypeVar("Settings")
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
    run_task: Callable[[TaskPlan, Settings], Iterator[TableManifest]], settings: Settings
) -> TaskFunction:
    """Return the function that a Spark task runs: it takes plans and yields manifests, which Spark pickles.

    Secrets in `settings` travel in its closure, never in plans or manifests.
    """

    def run(plans: Iterable[TaskPlan]) -> Iterator[TableManifest]:
        for plan in plans:
            yield from run_task(plan, settings)

    return run
