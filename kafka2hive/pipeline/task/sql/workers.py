"""What Spark's workers run on both sides of the SELECT, in processes of their own: batches in, batches out."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import Protocol

import pyarrow as pa

from kafka2hive.config.values import WriterOptions
from kafka2hive.model.errors import AccessRefused, ConfigError, ServiceUnavailable
from kafka2hive.pipeline.task.chunk_decoder import ChunkDecoder
from kafka2hive.pipeline.task.fetch.consumer import forget_consumer, process_consumer
from kafka2hive.pipeline.task.fetch.counted import FetchBug
from kafka2hive.pipeline.task.refused.failures import TABLE_ERRORS, as_failure, on_this_host
from kafka2hive.pipeline.task.rows import column_schema, row_schema
from kafka2hive.pipeline.task.run import process_files, seldom_collected
from kafka2hive.pipeline.task.sql.coordinates import COORDINATES, TYPE
from kafka2hive.pipeline.task.sql.records import RecordsOfTask
from kafka2hive.pipeline.task.sql.rows import RowsOfTask
from kafka2hive.pipeline.task.sql.shares import RecordsRead, RowsReceived, RowsWritten
from kafka2hive.pipeline.task.table import failed_manifest
from kafka2hive.pipeline.task.watchdog import Watchdog
from kafka2hive.pipeline.task.write.upload import AMBIGUOUS
from kafka2hive.pipeline.task.writer_schemas import key_writers_of, writers_of
from kafka2hive.pipeline.values import TableSettings, TaskPlan, TaskSettings

WRITTEN = pa.schema([("written", pa.binary())])
"""What comes out in the end: one pickled RowsWritten per task, or RowsReceived per part of a shuffle."""


def records_table(table: TableSettings) -> TableSettings:
    """The table as the records are decoded: with their columns, and without the SELECT.

    What the files can hold is asked of the rows that come out of it.
    """
    return replace(
        table,
        columns=table.records or table.columns,
        records=(),
        sql=None,
        schema_evolution="ignore",
        writer=WriterOptions(),
    )


def records_schema(table: TableSettings) -> pa.Schema:
    """Of the batches that `read_records` gives."""
    before = records_table(table)
    return row_schema(column_schema(before), before.metadata).append(pa.field(COORDINATES, TYPE))


def read_records(
    share: TaskPlan,
    attempt: int,
    settings: TaskSettings,
    tell: Callable[[RecordsRead], None],
    whole: TaskPlan | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows of the only table of `share`; at the end `tell` what was read. `whole`: see RecordsOfTask.

    An error of the table is told, too, and ends the rows. Raises what Spark is to try again.
    """
    (task,) = share.tables
    with seldom_collected(), Watchdog(settings.stall_seconds) as watchdog:
        table = records_table(settings.tables[task.table])
        files = process_files(settings.storage)
        try:
            consumer = process_consumer(settings.kafka)
            writers = writers_of(table, settings, files, keeps=True)
            decoder = ChunkDecoder(table, writers, key_writers_of(table, settings, files, keeps=True))
            records = RecordsOfTask(
                share.index, task, table, settings, decoder, files, consumer, watchdog, whole=whole
            )
        except (AccessRefused, ConfigError) as error:
            tell(RecordsRead(attempt, failed_manifest(share.index, task, on_this_host(error))))
            return
        except TABLE_ERRORS as error:
            tell(RecordsRead(attempt, failed_manifest(share.index, task, as_failure(error))))
            return
        try:
            with one_attempt(records, settings):
                for batch in records.batches():
                    with watchdog.idle():
                        yield batch
                tell(RecordsRead(attempt, records.manifest()))
        except AMBIGUOUS:
            raise  # another attempt may be answered
        except AccessRefused as error:
            tell(RecordsRead(attempt, failed_manifest(share.index, task, on_this_host(error))))
        except TABLE_ERRORS as error:
            tell(RecordsRead(attempt, failed_manifest(share.index, task, as_failure(error))))


def write_rows(
    batches: Iterable[pa.RecordBatch], share: TaskPlan, attempt: int, settings: TaskSettings
) -> RowsWritten:
    """The rows that the SELECT gave of one task, in files. An error of the table is a value; the rest is read all the same."""
    (task,) = share.tables
    with seldom_collected(), Watchdog(settings.stall_seconds) as watchdog:
        arriving = idle_between(batches, watchdog)
        table, files = settings.tables[task.table], process_files(settings.storage)
        consumer = partial(process_consumer, settings.kafka)
        try:
            rows = RowsOfTask(attempt, share.index, task, table, settings, files, consumer, watchdog.touch)
            with one_attempt(rows, settings):
                for batch in arriving:
                    rows.take(batch)
                return rows.finish()
        except AMBIGUOUS:
            raise  # another attempt may be answered
        except TABLE_ERRORS as error:
            drain(arriving)
            return RowsWritten(attempt=attempt, task=share.index, failure=as_failure(error))


class _Share(Protocol):
    def abandon(self) -> None: ...

    def close(self) -> None: ...


@contextmanager
def one_attempt(share: _Share, settings: TaskSettings) -> Iterator[None]:
    """In the end `share` is given up, as far as it is not told, and closed. After an error of Kafka the next attempt gets a
    fresh consumer.
    """
    with closing(share):
        try:
            yield
        except (ServiceUnavailable, FetchBug):
            forget_consumer(settings.kafka)
            raise
        finally:
            share.abandon()


def drain(rest: Iterator[pa.RecordBatch]) -> None:
    """The other side goes on sending, and tells what it has read at its end."""
    for _ in rest:
        pass


def idle_between(batches: Iterable[pa.RecordBatch], watchdog: Watchdog) -> Iterator[pa.RecordBatch]:
    source = iter(batches)
    while True:
        with watchdog.idle():
            batch = next(source, None)
        if batch is None:
            return
        yield batch


def packed(written: RowsWritten | RowsReceived) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(written)], pa.binary())], schema=WRITTEN)
