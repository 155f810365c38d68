"""A task whose rows do not become files: for commands that look at records as a dump would, and write nothing."""

from dataclasses import dataclass, field, replace
from functools import partial

from kafka2hive.model.offsets import OffsetRange
from kafka2hive.plan.contract import ColumnsSeen, TableManifest, TableTask, TaskPlan, TaskSettings
from kafka2hive.storage.port import FileSystem
from kafka2hive.task.fetch.consumer import process_consumer
from kafka2hive.task.part import task_environment
from kafka2hive.task.run import Task, seldom_collected
from kafka2hive.task.sink import OpenSink

STALL_SECONDS = 60.0
"""How long a command waits for Kafka."""


def replay(task: TableTask, settings: TaskSettings, files: FileSystem, open_sink: OpenSink) -> TableManifest:
    """Fetch, decode and bucket the task's ranges. The manifest has accounts, or a failure, and no files.

    Raises ServiceUnavailable when Kafka gives nothing for `settings.stall_seconds`. Nothing is written. There is no
    watchdog: a command must not end its own process.
    """
    consumer = partial(process_consumer, settings.kafka)
    environment = task_environment(settings, files, consumer, other_sink=open_sink)
    with seldom_collected():
        (manifest,) = Task(TaskPlan(0, (task,)), environment).run()
    return manifest


def unowned_task(table: str, ranges: tuple[OffsetRange, ...], planned_at_ms: int) -> TableTask:
    """For a table whose ledger is not looked at."""
    return TableTask(
        table=table, ledger_id="", generation=0, epoch=0, planned_at_ms=planned_at_ms, ranges=ranges
    )


@dataclass(frozen=True, slots=True)
class Looked:
    """How many tombstones were skipped, and which columns all records left empty."""

    tombstones: int
    columns: ColumnsSeen = field(default_factory=ColumnsSeen)


def look(
    table: str,
    ranges: tuple[OffsetRange, ...],
    settings: TaskSettings,
    files: FileSystem,
    open_sink: OpenSink,
    planned_at_ms: int = 0,
) -> Looked:
    """Hand records of a table without a ledger to `open_sink`.

    Raises TableError (the table's task failed), ServiceUnavailable.
    """
    task = unowned_task(table, ranges, planned_at_ms)
    manifest = replay(task, replace(settings, stall_seconds=STALL_SECONDS), files, open_sink)
    if manifest.failure is not None:
        raise manifest.failure.error
    return looked_at(manifest)


def looked_at(manifest: TableManifest) -> Looked:
    return Looked(sum(account.account.tombstones for account in manifest.accounts), manifest.columns)
