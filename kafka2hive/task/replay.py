"""Run a task outside a run and without files, to show records as `run` would treat them."""

from dataclasses import dataclass, field, replace
from functools import partial

from kafka2hive.model.offsets import OffsetRange
from kafka2hive.model.snapshot import EventBounds
from kafka2hive.plan.contract import (
    ColumnsSeen,
    TableManifest,
    TableTask,
    TaskPlan,
    TaskSettings,
)
from kafka2hive.storage.port import FileSystem
from kafka2hive.task.fetch.consumer import process_consumer
from kafka2hive.task.part import task_environment
from kafka2hive.task.run import Task, seldom_collected
from kafka2hive.task.sink import OpenSink

STALL_SECONDS = 60.0
"""How long a command waits for Kafka before it gives up."""


def replay(task: TableTask, settings: TaskSettings, files: FileSystem, open_sink: OpenSink) -> TableManifest:
    """Fetch, decode and bucket the task's ranges; the manifest has accounts or a failure, and no files.

    Nothing is written. There is no watchdog, because a command must not kill its own process.
    Raises ServiceUnavailable if Kafka delivers nothing for `settings.stall_seconds`.
    """
    consumer = partial(process_consumer, settings.kafka)
    environment = task_environment(settings, files, consumer, other_sink=open_sink)
    with seldom_collected():
        (manifest,) = Task(TaskPlan(0, (task,)), environment).run()
    return manifest


def unowned_task(table: str, ranges: tuple[OffsetRange, ...], planned_at_ms: int) -> TableTask:
    """Return a task for a table whose ledger is not read."""
    return TableTask(
        table=table, ledger_id="", generation=0, epoch=0, planned_at_ms=planned_at_ms, ranges=ranges
    )


@dataclass(frozen=True, slots=True)
class LookResult:
    """The number of skipped tombstones, and the columns that no record filled."""

    tombstones: int
    columns: ColumnsSeen = field(default_factory=ColumnsSeen)


def look(
    table: str,
    ranges: tuple[OffsetRange, ...],
    settings: TaskSettings,
    files: FileSystem,
    open_sink: OpenSink,
    planned_at_ms: int = 0,
    bounds: EventBounds | None = None,
) -> LookResult:
    """Replay ranges of a table whose ledger is not read, with `open_sink` as the destination of the rows.

    Raises TableError if the table's task failed, ServiceUnavailable as `replay`.
    """
    task = replace(unowned_task(table, ranges, planned_at_ms), bounds=bounds)
    manifest = replay(task, replace(settings, stall_seconds=STALL_SECONDS), files, open_sink)
    if manifest.failure is not None:
        raise manifest.failure.error
    return look_result(manifest)


def look_result(manifest: TableManifest) -> LookResult:
    return LookResult(sum(account.account.tombstones for account in manifest.accounts), manifest.columns)
