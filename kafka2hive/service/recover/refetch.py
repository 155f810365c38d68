"""Dumping one lost file's records again, in this process: `recover --refetch PATH`. No Spark, the task's own code."""

from collections.abc import Callable

from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.paths.addresses import same_location
from kafka2hive.model.paths.path import join
from kafka2hive.model.quantities import counted
from kafka2hive.pipeline.values import TableTask, TaskPlan, TaskSettings


def refetch_file(
    owned: OwnedLedger, lost: DataFile, settings: Callable[[str], TaskSettings], now_ms: int
) -> tuple[DataFile, ...]:
    """Staged files with exactly the lost file's records, to be committed by the caller.

    `settings` gives the task's settings for a table's name. Files of other buckets that the task had to write are
    orphans, deleted at the next start. Raises ManualActionRequired when Kafka has not all of the records any more, or the
    table has another location now: a Hive partition has one location, and readers would not see the new file.
    """
    from kafka2hive.pipeline.task import run_task
    from kafka2hive.pipeline.task.fetch.consumer import forget_consumer

    table = owned.paths.table
    bucket = lost.hive_partition.path if lost.kind is FileKind.DATA else None
    task = TableTask(
        table=table,
        ledger_id=owned.state.ledger_id,
        generation=owned.generation.number,
        epoch=owned.next_epoch,
        planned_at_ms=now_ms,
        ranges=lost.ranges,
        only_bucket=bucket,
    )
    told = settings(table)
    location = told.tables[table].location
    there = join(location, bucket) if bucket else location
    if bucket is not None and not same_location(lost.hive_partition.location, there):
        raise ManualActionRequired(
            "refetch.location",
            f"{lost.final} is not in {location}, where the map has {table} now and the records would be dumped again",
            f"{_REMEDY}; or, while the new location is not accepted yet, set the old one in the map, fetch again,"
            " then change it",
        )
    try:
        (manifest,) = run_task(TaskPlan(0, (task,)), told)
    finally:
        forget_consumer(told.kafka)  # a worker would keep it for its next task
    if manifest.failure is not None:
        raise ManualActionRequired(
            manifest.failure.code, f"{lost.final}: {manifest.failure.message}", _REMEDY
        )
    files = tuple(
        f
        for f in manifest.files
        if f.kind is lost.kind and (f.kind is FileKind.DEAD_LETTER or f.hive_partition.path == bucket)
    )
    rows = sum(f.rows for f in files)
    if rows != lost.rows:
        raise ManualActionRequired(
            "refetch.rows",
            f"{lost.final} held {counted(lost.rows, 'row')} of {', '.join(map(str, lost.ranges))}, Kafka now gives {rows}",
            _REMEDY,
        )
    return files


_REMEDY = "restore the file from a backup, or go on without it: `kafka2hive recover --accept-loss PATH`"
