"""The shuffle of a table's job, in the driver: rows go to the tasks of their buckets, and the reports are combined."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from kafka2hive.config.keys.columns import COORDINATES
from kafka2hive.model.offsets import AccountingMismatch
from kafka2hive.plan.contract import TableManifest, TaskPlan, TaskSettings
from kafka2hive.spark.internals import spark_schema
from kafka2hive.sql.accounts import check_against_spark, failed_manifest, manifest_of
from kafka2hive.task.sql.shares import ArrivalCount, RecordsRead, RowsReceived, RowsWritten

if TYPE_CHECKING:
    import pyarrow as pa

Batches = Callable[[Iterable["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]

MARKS = 1 << 64
"""Marks (hashes of offsets, see marks_of in task/sql/shuffle.py) are added modulo this number."""


def whole_plan(shares: Sequence[TaskPlan]) -> TaskPlan:
    """Return one plan with all ranges of the table's epoch: a file may hold rows of every range, and names them all."""
    (task,) = shares[0].tables
    ranges = tuple(r for share in shares for one in share.tables for r in one.ranges)
    return TaskPlan(shares[0].index, (replace(task, ranges=ranges),))


def first_ranges_of(shares: Sequence[TaskPlan]) -> list[int]:
    """Return the index of each share's first range among those of the whole epoch."""
    counts = [len(one.ranges) for share in shares for one in share.tables]
    return list(accumulate(counts, initial=0))[:-1]


def shuffled_manifests(
    table: str,
    shares: Sequence[TaskPlan],
    read: Sequence[RecordsRead],
    sent: Sequence[RowsWritten],
    received: Sequence[RowsReceived],
    into: int,
    out: int,
) -> list[TableManifest]:
    """Return one manifest per share. The first has the accounts and files of all; each has the observations of its records.

    If a manifest has a failure, nothing may be committed. `into` and `out` are Spark's row counts before and after the SELECT.
    Raises AccountingMismatch, TableError (see manifest_of).
    """
    if sorted(one.part for one in received) != list(range(len(shares))):
        raise AccountingMismatch(f"{table}: {len(shares)} parts, but {len(received)} were received")
    if failure := next((one.failure for one in received if one.failure), None):
        return [failed_manifest(_empty_manifest(share), failure) for share in shares]
    chosen = list(
        _reports_of_arrivals(table, shares, sent, [count for part in received for count in part.arrivals])
    )
    manifests = [manifest_of(table, share.index, read, chosen) for share in shares]
    if any(manifest.failure for manifest in manifests):
        return manifests
    check_against_spark(table=table, read=read, written=chosen, into=into, out=out)
    _check_moved(table, whole_plan(shares), chosen, received)
    first, home = manifests[0], shares[0].index
    ends: list[TableManifest | RowsReceived] = [*manifests, *received]
    whole = replace(
        first,
        files=tuple(f for one in ends for f in one.files),
        accounts=tuple(replace(a, task=home) for one in manifests for a in one.accounts),
        delivered=tuple(d for one in manifests for d in one.delivered),
        leader_epochs=tuple(e for one in manifests for e in one.leader_epochs),
        newest_ms=max((one.newest_ms for one in manifests if one.newest_ms is not None), default=None),
        seconds=tuple(s for one in ends for s in one.seconds),
        refusals=tuple(r for one in manifests for r in one.refusals),
    )
    return [whole, *map(_without_output, shares[1:], manifests[1:])]


def _reports_of_arrivals(
    table: str, shares: Sequence[TaskPlan], sent: Sequence[RowsWritten], arrivals: Sequence[ArrivalCount]
) -> Iterator[RowsWritten]:
    """Yield for each task the report of the attempt whose rows arrived; if no rows arrived, of one that sent none or failed."""
    for share, first in zip(shares, first_ranges_of(shares), strict=True):
        (task,) = share.tables
        attempts = {c.attempt for c in arrivals if first <= c.range < first + len(task.ranges)}
        reports = [report for report in sent if report.task == share.index]
        if len(attempts) > 1:
            raise AccountingMismatch(
                f"{table}: rows of {len(attempts)} attempts of task {share.index} arrived"
            )
        fitting = [
            report
            for report in reports
            if (report.attempt in attempts if attempts else report.failure or not sum(report.rows))
        ]
        if not fitting and attempts:
            raise AccountingMismatch(
                f"{table}: rows arrived from an attempt of task {share.index} that did not end"
            )
        if not fitting:
            raise AccountingMismatch(
                f"{table}: no row of task {share.index} arrived, and no attempt reports that it sent none"
            )
        yield fitting[-1]


def _check_moved(
    table: str, whole: TaskPlan, chosen: Sequence[RowsWritten], received: Sequence[RowsReceived]
) -> None:
    """Raise AccountingMismatch unless the rows of each range that were sent and received have the same count and offsets."""
    expected = [pair for report in chosen for pair in zip(report.rows, report.marks, strict=True)]
    (task,) = whole.tables
    actual: dict[int, tuple[int, int]] = {}
    for count in (count for part in received for count in part.arrivals):
        rows, mark = actual.get(count.range, (0, 0))
        actual[count.range] = rows + count.rows, (mark + count.mark) % MARKS
    for number, (source, pair) in enumerate(zip(task.ranges, expected, strict=True)):
        if actual.pop(number, (0, 0)) != pair:
            raise AccountingMismatch(
                f"{table}: the rows of {source} did not come out of the shuffle as they were sent"
            )
    if actual:
        raise AccountingMismatch(f"{table}: rows of ranges that were not planned came out of the shuffle")


def _without_output(share: TaskPlan, read: TableManifest) -> TableManifest:
    """Return a manifest without accounts and files, which the first task's manifest has."""
    return replace(
        _empty_manifest(share),
        columns=read.columns,
        unmapped=read.unmapped,
        changed=read.changed,
        broken=read.broken,
        is_compiled=read.is_compiled,
    )


def _empty_manifest(share: TaskPlan) -> TableManifest:
    (task,) = share.tables
    return TableManifest(table=task.table, task=share.index, generation=task.generation, epoch=task.epoch)


def shuffle_by_bucket(
    rows: DataFrame,
    shares: Sequence[TaskPlan],
    whole: TaskPlan,
    settings: TaskSettings,
    report: Callable[[RowsWritten], None],
) -> DataFrame:
    """Return the rows as files hold them, each in the Spark partition to which its bucket belongs; there is one per share."""
    import pyarrow as pa

    from kafka2hive.task.rows import schema_in_files
    from kafka2hive.task.sql.shuffle import MOVED

    schema = schema_in_files(settings.tables[whole.tables[0].table]).append(pa.field(COORDINATES, MOVED))
    sent = rows.mapInArrow(_sender(shares, whole, settings, report), spark_schema(schema))
    return sent.repartitionById(len(shares), sf.col(f"{COORDINATES}.part"))


def _sender(
    shares: Sequence[TaskPlan],
    whole: TaskPlan,
    settings: TaskSettings,
    report: Callable[[RowsWritten], None],
) -> Batches:
    """Return the function that sends rows; secrets travel in its closure, never in the plan."""
    firsts = first_ranges_of(shares)

    def send_rows(batches: Iterable["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        from kafka2hive.task.sql import workers

        number = task_context().partitionId()
        share, first = shares[number], firsts[number]
        return workers.send_rows(
            batches=batches,
            share=share,
            whole=whole,
            first=first,
            parts=len(shares),
            attempt=task_attempt(),
            settings=settings,
            tell=report,
        )

    return send_rows


def part_writer(whole: TaskPlan, settings: TaskSettings) -> Batches:
    """Return the function that receives and writes the rows of a part."""

    def receive_rows(batches: Iterable["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        from kafka2hive.task.sql import workers

        yield workers.pickle_report(
            workers.receive_rows(batches, task_context().partitionId(), whole, settings)
        )

    return receive_rows


def task_attempt() -> int:
    return int(task_context().taskAttemptId())


def task_context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None, "outside of a task"
    return context
