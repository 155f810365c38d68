"""The functions that Spark's workers run before and after the SELECT and the shuffle; they map batches to batches."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from types import TracebackType

import pyarrow as pa

from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.plan.contract import TableFailure, TableManifest, TaskPlan, TaskSettings
from kafka2hive.task.failures import TableErrors
from kafka2hive.task.fetch.consumer import forget_consumers, process_consumer
from kafka2hive.task.fetch.delivery_count import FetchBug
from kafka2hive.task.part import TaskEnvironment, only_part, task_environment
from kafka2hive.task.run import Task, process_files, rare_garbage_collection, run_in_worker
from kafka2hive.task.sql.placement import SelectedRows
from kafka2hive.task.sql.records import RowsToSelect, with_records_of
from kafka2hive.task.sql.shares import RecordsRead, RowsReceived, RowsWritten
from kafka2hive.task.sql.shuffle import ReceivedRows, SentRows
from kafka2hive.task.watchdog import Watchdog
from kafka2hive.task.write.upload import AMBIGUOUS

WRITTEN = pa.schema([("written", pa.binary())])
"""The result of the job: one pickled RowsWritten per task, or one RowsReceived per part of a shuffle."""


def read_records(
    share: TaskPlan,
    attempt: int,
    settings: TaskSettings,
    tell: Callable[[RecordsRead], None],
    file_plan: TaskPlan | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the only table of `share`, then call `tell` with the report. `file_plan` is as in TablePart.

    An error of the table ends the rows and is in the report. Raises errors that Spark should retry.
    """
    (task,) = share.tables
    reading = partial(Task, share, open_end=RowsToSelect, file_plan=file_plan, retried=AMBIGUOUS)
    for output in run_in_worker(share, with_records_of(task.table, settings), reading):
        if isinstance(output, TableManifest):
            tell(RecordsRead(attempt, output))
        else:
            yield output


def write_rows(
    batches: Iterable[pa.RecordBatch], share: TaskPlan, attempt: int, settings: TaskSettings
) -> RowsWritten:
    """Write the rows of one task after the SELECT. An error of the table is in the report. A crash leaves orphans."""
    with _AfterSelect(batches, settings) as select:
        part = only_part(share, settings)
        with closing(SelectedRows(attempt, part, select.environment)) as rows:
            for batch in select.batches:
                rows.take(batch)
            return rows.finish()
    return RowsWritten(attempt=attempt, task=share.index, failure=select.failure)


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
    """Yield the rows of one task after the SELECT, each with its part, then call `tell` with the report.

    `first` and `parts` are as in SentRows; `whole` has all ranges of the table's epoch. An error of the table ends the rows
    and is in the report.
    """
    with _AfterSelect(batches, settings) as select:
        part = only_part(share, settings, file_plan=whole)
        sending = SentRows(attempt, part, select.environment, first=first, parts=parts)
        with closing(sending) as rows:
            for batch in select.batches:
                sent = rows.send(batch)
                with select.watchdog.idle():
                    yield sent
            tell(rows.finish())
            return
    tell(RowsWritten(attempt=attempt, task=share.index, failure=select.failure))


def receive_rows(
    batches: Iterable[pa.RecordBatch], part: int, whole: TaskPlan, settings: TaskSettings
) -> RowsReceived:
    """Write the rows of one part after the shuffle. An error of the table is in the report. A crash leaves orphans."""
    with (
        _AfterSelect(batches, settings) as select,
        closing(ReceivedRows(part, only_part(whole, settings), select.environment)) as rows,
    ):
        for batch in select.batches:
            rows.take(batch)
        return rows.finish()
    return RowsReceived(part=part, failure=select.failure)


class _AfterSelect:
    """A context for one attempt of a table after its SELECT; it catches an error of the table and keeps it as `failure`.

    After an error it reads the remaining batches, because the part before the SELECT reports only when all its rows are
    taken. After an error of Kafka the next attempt gets a new consumer.
    """

    batches: Iterator[pa.RecordBatch]
    environment: TaskEnvironment
    watchdog: Watchdog

    def __init__(self, batches: Iterable[pa.RecordBatch], settings: TaskSettings) -> None:
        self._source = batches
        self._settings = settings
        self._errors = TableErrors(retried=AMBIGUOUS)
        self._stack = ExitStack()

    @property
    def failure(self) -> TableFailure | None:
        return self._errors.failure

    def __enter__(self) -> "_AfterSelect":
        settings = self._settings
        consumer = partial(process_consumer, settings.kafka)  # called only if records are read again
        with ExitStack() as stack:
            stack.enter_context(rare_garbage_collection())
            self.watchdog = stack.enter_context(Watchdog(settings.stall_seconds))
            self.batches = _idle_between(self._source, self.watchdog)
            files = process_files(settings.storage)
            environment = task_environment(settings, files, consumer, self.watchdog.touch)
            self.environment = stack.enter_context(closing(environment))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        with self._stack:
            if isinstance(error, ServiceUnavailable | FetchBug):
                forget_consumers(self._settings)
            is_of_table = self._errors.__exit__(kind, error, trace)
            if is_of_table:
                for _ in self.batches:
                    pass
        return is_of_table


def _idle_between(batches: Iterable[pa.RecordBatch], watchdog: Watchdog) -> Iterator[pa.RecordBatch]:
    source = iter(batches)
    while True:
        with watchdog.idle():
            batch = next(source, None)
        if batch is None:
            return
        yield batch


def pickle_report(report: RowsWritten | RowsReceived) -> pa.RecordBatch:
    """Return the report as one row of WRITTEN."""
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(report)], pa.binary())], schema=WRITTEN)
