"""What was read before a SELECT and what was written behind it, put together: one manifest per task, or why there is none. Pure.

Both ends count by themselves. Of each range the rows that went into the SELECT and did not come out of it were filtered;
more cannot come out. Both counts are of one attempt of one task: of a topic that is compacted meanwhile, another attempt
may read less.
"""

from collections.abc import Sequence
from dataclasses import replace

from kafka2hive.model.offset_accounting import AccountingMismatch, RangeAccounting
from kafka2hive.pipeline.task.sql.shares import RecordsRead, RowsWritten
from kafka2hive.pipeline.values import ColumnsSeen, TableFailure, TableManifest


def manifest_of(
    table: str, task: int, read: Sequence[RecordsRead], written: Sequence[RowsWritten]
) -> TableManifest:
    """Of one task; `read` and `written` may hold those of others, too.

    With a failure nothing of it may be committed. Raises AccountingMismatch where the two ends do not fit.
    """
    mine = [one for one in written if one.task == task]
    if len(mine) != 1:
        raise AccountingMismatch(f"{table}: task {task} wrote {len(mine)} times")
    (rows,) = mine
    found = [one.manifest for one in read if one.manifest.task == task and one.attempt == rows.attempt]
    if not found:
        raise AccountingMismatch(
            f"{table}: Spark wrote the rows of task {task} without reading its records to the end"
        )
    manifest = found[0]
    if manifest.failure is not None:
        return manifest
    if rows.failure is not None:
        return failed(manifest, rows.failure)
    if sum(rows.refused):
        return failed(manifest, _without_bucket(table, rows))
    accounts = tuple(
        _whole(account, count) for account, count in zip(manifest.accounts, rows.rows, strict=True)
    )
    return replace(
        manifest,
        files=(*manifest.files, *rows.files),
        accounts=accounts,
        seconds=(*manifest.seconds, *rows.seconds),
        columns=ColumnsSeen(),
    )


def check_against_spark(table: str, manifests: Sequence[TableManifest], into: int, out: int) -> None:
    """Spark's own counts of the rows on both sides of the SELECT are those of all tasks together.

    Raises AccountingMismatch. Of tasks with a failure, which commit nothing, nothing is known.
    """
    if any(manifest.failure for manifest in manifests):
        return
    accounts = [a.account for manifest in manifests for a in manifest.accounts]
    ours = sum(a.written + a.filtered for a in accounts), sum(a.written for a in accounts)
    if ours != (into, out):
        raise AccountingMismatch(
            f"{table}: Spark took {into} rows into the SELECT and {out} out of it, the tasks count {ours[0]} and {ours[1]}"
        )


def failed(manifest: TableManifest, failure: TableFailure) -> TableManifest:
    return TableManifest(
        table=manifest.table,
        task=manifest.task,
        generation=manifest.generation,
        epoch=manifest.epoch,
        failure=failure,
    )


def _whole(read: RangeAccounting, rows: int) -> RangeAccounting:
    filtered = read.account.written - rows
    if filtered < 0:
        raise AccountingMismatch(
            f"{read.range}: {read.account.written} rows went into the SELECT, {rows} came out"
        )
    account = replace(read.account, written=rows, filtered=read.account.filtered + filtered)
    return replace(read, account=account)


def _without_bucket(table: str, rows: RowsWritten) -> TableFailure:
    where = ""
    if rows.first_refused is not None:
        topic_partition, offset, reason = rows.first_refused
        where = f", the first at {topic_partition}@{offset}: {reason}"
    return TableFailure(
        "sql.no_bucket",
        f"{table}: {sum(rows.refused)} rows of the SELECT cannot be written{where}",
        "let the SELECT mend such rows (coalesce), or leave them out (WHERE .. IS NOT NULL)",
    )
