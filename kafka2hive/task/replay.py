"""Run a task outside a run: without files, to show records as `run` would treat them, or on the letters of a dead-letter file."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kafka2hive.model.offsets import OffsetRange
from kafka2hive.model.snapshot import EventBounds
from kafka2hive.plan.contract import (
    NEVER,
    ClientCounts,
    ColumnsSeen,
    TableManifest,
    TableTask,
    TaskPlan,
    TaskSettings,
)
from kafka2hive.storage.port import FileSystem
from kafka2hive.task.dead_letters import StoredLetters, letter_chunks
from kafka2hive.task.failures import TableErrors, needs_spark
from kafka2hive.task.fetch.consumer import process_consumer
from kafka2hive.task.fetch.fetch import CHUNK_BYTES
from kafka2hive.task.part import TablePart, task_environment
from kafka2hive.task.run import Task, seldom_collected
from kafka2hive.task.sink import OpenSink
from kafka2hive.task.table import TableRun

_BATCH_ROWS = 10_000
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


Chosen = Callable[[pa.Table], pa.Array]
"""Returns a mask of the letters that are decoded again; the others stay letters, with their reasons."""


def replay_letters(
    part: TablePart,
    letters: Iterable[pa.Table],
    chosen: Chosen,
    files: FileSystem,
    open_sink: OpenSink | None = None,
) -> TableManifest:
    """Decode the letters of a dead-letter file, which come in batches, as a task of its ranges that reads nothing else.

    The accounts of the manifest count an offset without a letter as absent. Files are staged unless `open_sink` takes the
    rows. A crash leaves orphans. Raises TableError if the table's task failed; its staged files are then orphans, too.
    """
    if part.table.sql is not None:
        raise needs_spark(part.task.table)
    no_kafka = partial(process_consumer, part.settings.kafka)
    environment = task_environment(part.settings, files, no_kafka, other_sink=open_sink)
    counts = dict.fromkeys(part.ranges, 0)
    with seldom_collected(), TableErrors() as errors:
        run = TableRun(part, environment)
        try:
            for rows in letters:
                mask = chosen(rows)
                for chunk in letter_chunks(part.task.table, rows.filter(mask), part.ranges, CHUNK_BYTES):
                    counts[chunk.segments[0].range] += len(chunk)
                    for _ in run.take(chunk):
                        pass  # rows go to the sink
                rest = rows.filter(pa.array(~np.asarray(mask)))
                for chunk in letter_chunks(part.task.table, rest, part.ranges, CHUNK_BYTES):
                    counts[chunk.segments[0].range] += len(chunk)
                    assert isinstance(chunk.records, StoredLetters)
                    run.keep(chunk, chunk.records.reasons())
            run.complete([_as_delivered(source, count) for source, count in counts.items()])
            manifest = run.manifest()
        except BaseException:
            run.abandon()
            raise
        finally:
            environment.close()
    if errors.failure is not None:
        raise errors.failure.error
    return manifest


def stored_letters(file: pq.ParquetFile) -> Iterator[pa.Table]:
    """Yield the letters of a dead-letter file in batches of about CHUNK_BYTES, by the average sizes in its row groups."""
    for number in range(file.num_row_groups):
        group = file.metadata.row_group(number)
        rows = max(1, group.num_rows * CHUNK_BYTES // max(group.total_byte_size, 1))
        for batch in file.iter_batches(min(rows, _BATCH_ROWS), row_groups=[number]):
            yield pa.Table.from_batches([batch])


def _as_delivered(source: OffsetRange, letters: int) -> ClientCounts:
    """Return the counts of a client that finds only the letters."""
    return ClientCounts(
        range=source,
        begun=source.start,
        records=letters,
        absent=len(source) - letters,
        position=source.end,
        log_end=NEVER,
    )


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
