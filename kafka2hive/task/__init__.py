"""One Spark task: it reads its planned offset ranges and returns staged files and one manifest per table."""

from collections.abc import Iterator

from kafka2hive.plan.contract import TableManifest, TaskPlan, TaskSettings, UnitAssignment, UnitResult


def run_task(plan: TaskPlan, settings: TaskSettings) -> Iterator[TableManifest]:
    """Run the task (see `run_task` in task/run.py).

    The import is in the function because the driver only sends it to the workers and must not import Arrow.
    """
    from kafka2hive.task import run

    return run.run_task(plan, settings)


def run_unit(assignment: UnitAssignment, settings: TaskSettings) -> Iterator[UnitResult]:
    """Write a unit of compaction (see `run_unit` in task/compaction.py)."""
    from kafka2hive.task import compaction

    yield compaction.run_unit(assignment, settings)
