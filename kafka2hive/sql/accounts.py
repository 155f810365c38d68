"""Combine the reports from before and after a SELECT into one manifest per task. Pure.

Each side counts independently. The rows of a range that went into the SELECT and did not come out were filtered; no more rows
can come out than went in. Both counts must be from the same attempt of a task, because another attempt may read fewer records
if the topic is compacted in between.
"""

from collections.abc import Sequence
from dataclasses import replace

from kafka2hive.model.errors import TableError
from kafka2hive.model.offsets import AccountingMismatch, RangeAccounting
from kafka2hive.plan.contract import TableFailure, TableManifest
from kafka2hive.task.sql.shares import RecordsRead, RowsWritten


def manifest_of(
    table: str, task: int, read: Sequence[RecordsRead], written: Sequence[RowsWritten]
) -> TableManifest:
    """Return the manifest of one task; `read` and `written` may also hold reports of other tasks.

    If the manifest has a failure, no part of it may be committed. Raises AccountingMismatch if the two sides contradict each
    other, TableError (`sql.unread`) if the report from before the SELECT is missing.
    """
    reports = [report for report in written if report.task == task]
    if len(reports) != 1:
        raise AccountingMismatch(f"{table}: task {task} wrote {len(reports)} times")
    (rows,) = reports
    manifests = [r.manifest for r in read if r.manifest.task == task and r.attempt == rows.attempt]
    if not manifests:
        raise TableError(
            "sql.unread",
            f"{table}: Spark wrote the rows of task {task} without reading its records to the end; nothing was committed",
            "if a lookup of an inner join is empty, fill it; otherwise report a bug",
        )
    manifest = manifests[0]
    if manifest.failure is not None:
        return manifest
    if rows.failure is not None:
        return failed_manifest(manifest, rows.failure)
    accounts = tuple(_combine(account, rows, number) for number, account in enumerate(manifest.accounts))
    return replace(
        manifest,
        files=(*manifest.files, *rows.files),
        accounts=accounts,
        seconds=(*manifest.seconds, *rows.seconds),
        refusals=(*manifest.refusals, *rows.refusals),
    )


def check_against_spark(
    table: str, read: Sequence[RecordsRead], written: Sequence[RowsWritten], into: int, out: int
) -> None:
    """Raise AccountingMismatch unless Spark's counts before and after the SELECT equal the sums over all tasks.

    If a task has failed, the comparison is skipped, because nothing is committed.
    """
    of_attempt = {(one.manifest.task, one.attempt): one.manifest for one in read}
    manifests = [of_attempt[one.task, one.attempt] for one in written]
    if any(one.failure for one in manifests) or any(one.failure for one in written):
        return
    rows_in = sum(a.account.written for manifest in manifests for a in manifest.accounts)
    rows_out = sum(sum(one.rows) + sum(one.refused) for one in written)
    if (rows_in, rows_out) != (into, out):
        raise AccountingMismatch(
            f"{table}: Spark counts {into} rows into the SELECT and {out} out of it, the tasks count {rows_in} and {rows_out}"
        )


def failed_manifest(manifest: TableManifest, failure: TableFailure) -> TableManifest:
    """Return a manifest of the same task that has only the failure."""
    return TableManifest(
        table=manifest.table,
        task=manifest.task,
        generation=manifest.generation,
        epoch=manifest.epoch,
        failure=failure,
    )


def _combine(read: RangeAccounting, written: RowsWritten, number: int) -> RangeAccounting:
    """Return the account of a range, with the counts of its rows after the SELECT; `number` is its index in the reports."""
    rows, refused = written.rows[number], written.refused[number]
    filtered = read.account.written - rows - refused
    if filtered < 0:
        raise AccountingMismatch(
            f"{read.range}: {read.account.written} rows went into the SELECT, {rows + refused} came out"
        )
    account = replace(
        read.account,
        written=rows,
        filtered=read.account.filtered + filtered,
        dead_lettered=read.account.dead_lettered + refused,
        out_of_range=written.out_of_range[number],
        late=written.late[number],
    )
    return replace(read, account=account)
