"""A task whose rows go elsewhere than into files: for whoever looks at records as a dump would, and writes nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from kafka2hive.model.errors import TableError
from kafka2hive.model.files import DataFile
from kafka2hive.model.offset_accounting import OffsetAccounting
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.pipeline.task.bucket.bucketer import BucketIds
from kafka2hive.pipeline.task.fetch.consumer import process_consumer
from kafka2hive.pipeline.task.run import Task, seldom_collected
from kafka2hive.pipeline.task.sink import OpenSink
from kafka2hive.pipeline.task.watchdog import Watchdog
from kafka2hive.pipeline.task.write.row_sources import SourceIds
from kafka2hive.pipeline.values import ColumnsSeen, TableManifest, TableTask, TaskPlan, TaskSettings
from kafka2hive.storage.port import FileSystem

STALL_SECONDS = 60.0
"""How long a command waits for Kafka."""


class PassingSink:
    """See RowSink: hands rows on and keeps none."""

    def __init__(self, take: Callable[[pa.RecordBatch, BucketIds, Sequence[str]], None]) -> None:
        self._take = take
        self.rows = 0

    def add(self, rows: pa.RecordBatch, ids: BucketIds, paths: Sequence[str], sources: SourceIds) -> None:
        if len(rows):
            self._take(rows, ids, paths)
            self.rows += len(rows)

    def finish(self, accounts: tuple[OffsetAccounting, ...] | None = None) -> None:
        """Nothing waits."""

    def results(self) -> list[DataFile]:
        return []

    def abandon(self) -> None:
        """Nothing is held."""


def replay(task: TableTask, settings: TaskSettings, files: FileSystem, open_sink: OpenSink) -> TableManifest:
    """Fetch, decode and bucket the task's ranges. The manifest has accounts, or a failure, and no files.

    Raises ServiceUnavailable when Kafka gives nothing for `settings.stall_seconds`. Nothing is written.
    """
    # the watchdog is not started: a command is not to end its own process
    watchdog = Watchdog(settings.stall_seconds)
    consumer = process_consumer(settings.kafka)
    with seldom_collected():
        (manifest,) = Task(TaskPlan(0, (task,)), settings, files, consumer, watchdog, open_sink).run()
    return manifest


def unowned_task(table: str, ranges: tuple[OffsetRange, ...], planned_at_ms: int) -> TableTask:
    """Of a table whose ledger is not looked at."""
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
    """Records of a table without a ledger, to `open_sink`.

    Raises TableError (the table's task failed), ServiceUnavailable.
    """
    task = unowned_task(table, ranges, planned_at_ms)
    manifest = replay(task, replace(settings, stall_seconds=STALL_SECONDS), files, open_sink)
    if (failure := manifest.failure) is not None:
        raise TableError(failure.code, failure.message, failure.remedy)
    return Looked(sum(account.account.tombstones for account in manifest.accounts), manifest.columns)
