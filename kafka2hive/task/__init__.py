"""The task: planned offset ranges in, files under their tables' staging directories and manifests out."""

from collections.abc import Iterator

from kafka2hive.plan.contract import TableManifest, TaskPlan, TaskSettings


def run_task(plan: TaskPlan, settings: TaskSettings) -> Iterator[TableManifest]:
    """See `task/run.py`, which is imported where it runs: the driver sends this function alone, and needs no Arrow."""
    from kafka2hive.task import run

    return run.run_task(plan, settings)
