"""What Spark's workers run on both sides of the shuffle, in processes of their own: batches in, batches out."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import pyarrow as pa

from kafka2hive.pipeline.task.fetch.consumer import process_consumer
from kafka2hive.pipeline.task.refused.failures import TABLE_ERRORS, as_failure
from kafka2hive.pipeline.task.run import process_files, seldom_collected
from kafka2hive.pipeline.task.sql.shares import RowsReceived, RowsWritten
from kafka2hive.pipeline.task.sql.shuffle.receiving import RowsOfPart
from kafka2hive.pipeline.task.sql.shuffle.sending import RowsSentOfTask
from kafka2hive.pipeline.task.sql.workers import drain, idle_between, one_attempt
from kafka2hive.pipeline.task.watchdog import Watchdog
from kafka2hive.pipeline.task.write.upload import AMBIGUOUS
from kafka2hive.pipeline.values import TaskPlan, TaskSettings


def send_rows(
    batches: Iterable[pa.RecordBatch],
    share: TaskPlan,
    whole: TaskPlan,
    first: int,
    parts: int,
    attempt: int,
    settings: TaskSettings,
    tell: Callable[[RowsWritten], None],
) -> Iterator[pa.RecordBatch]:
    """The rows that the SELECT gave of one task, each with the part it goes to; at the end `tell` what was sent.

    An error of the table is told, too, and ends the rows; the rest is read all the same.
    """
    (task,) = share.tables
    with seldom_collected(), Watchdog(settings.stall_seconds) as watchdog:
        arriving = idle_between(batches, watchdog)
        table, files = settings.tables[task.table], process_files(settings.storage)
        consumer = partial(process_consumer, settings.kafka)  # asked for where records are read again
        try:
            rows = RowsSentOfTask(
                attempt, share, whole, first, parts, table, settings, files, consumer, watchdog.touch
            )
            with one_attempt(rows, settings):
                for batch in arriving:
                    sent = rows.send(batch)
                    with watchdog.idle():
                        yield sent
                tell(rows.finish())
        except AMBIGUOUS:
            raise  # another attempt may be answered
        except TABLE_ERRORS as error:
            drain(arriving)
            tell(RowsWritten(attempt=attempt, task=share.index, failure=as_failure(error)))


def receive_rows(
    batches: Iterable[pa.RecordBatch], part: int, whole: TaskPlan, settings: TaskSettings
) -> RowsReceived:
    """The rows of one part, in files. An error of the table is a value; the rest is read all the same."""
    (task,) = whole.tables
    with seldom_collected(), Watchdog(settings.stall_seconds) as watchdog:
        arriving = idle_between(batches, watchdog)
        table, files = settings.tables[task.table], process_files(settings.storage)
        try:
            rows = RowsOfPart(part, whole, table, settings, files, watchdog.touch)
            with one_attempt(rows, settings):
                for batch in arriving:
                    rows.take(batch)
                return rows.finish()
        except AMBIGUOUS:
            raise
        except TABLE_ERRORS as error:
            drain(arriving)
            return RowsReceived(part=part, failure=as_failure(error))
