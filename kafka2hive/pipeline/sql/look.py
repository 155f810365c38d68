"""Records of a table with SQL as a dump would make its rows, for whoever looks: read and bucketed here, the SELECT by Spark.

Nothing is written. Few records: they are in memory, and go to Spark with the plan.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace

import pyarrow as pa
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
from pyspark.errors import PySparkException

from kafka2hive.config.values import MetadataColumn
from kafka2hive.model.errors import TableError
from kafka2hive.pipeline.spark_errors import SPARK_GONE, spark_gone
from kafka2hive.pipeline.sql.refusals import failed_on_a_record
from kafka2hive.pipeline.sql.selects import Reader, Selects
from kafka2hive.pipeline.task.chunk_decoder import ChunkDecoder
from kafka2hive.pipeline.task.fetch.consumer import process_consumer
from kafka2hive.pipeline.task.refused.failures import TABLE_ERRORS, as_failure
from kafka2hive.pipeline.task.replay import STALL_SECONDS
from kafka2hive.pipeline.task.sink import OpenSink
from kafka2hive.pipeline.task.sql.coordinates import COORDINATES
from kafka2hive.pipeline.task.sql.records import RecordsOfTask
from kafka2hive.pipeline.task.sql.rows import RowsOfTask
from kafka2hive.pipeline.task.sql.workers import records_table
from kafka2hive.pipeline.task.watchdog import Watchdog
from kafka2hive.pipeline.task.writer_schemas import key_writers_of, writers_of
from kafka2hive.pipeline.values import TableSettings, TableTask, TaskSettings
from kafka2hive.storage.port import FileSystem

Places = tuple[tuple[MetadataColumn, str], ...]


class LookThroughSelect:
    """One table's share, from Kafka to where its rows would be written."""

    def __init__(
        self,
        task: TableTask,
        table: TableSettings,
        settings: TaskSettings,
        files: FileSystem,
        open_sink: OpenSink,
    ) -> None:
        self._task = task
        self._table = table
        self._settings = replace(settings, stall_seconds=STALL_SECONDS)
        self._files = files
        self._open_sink = open_sink
        # it is not started: a command is not to end its own process
        self._watchdog = Watchdog(STALL_SECONDS)

    def look(self, selects: Selects, places: Places) -> int:
        """Rows, with topic, partition and offset as the columns `places`, and dead letters into the sinks.

        Gives how many tombstones were skipped. Raises TableError, ServiceUnavailable.
        """
        try:
            records, tombstones = self._records()
            self._write(self._selected(selects, records), places)
        except TABLE_ERRORS as error:
            failure = as_failure(error)
            raise TableError(failure.code, failure.message, failure.remedy) from error
        return tombstones

    def _records(self) -> tuple[list[pa.RecordBatch], int]:
        before = records_table(self._table)
        writers = writers_of(before, self._settings, self._files, keeps=False)
        keys = key_writers_of(before, self._settings, self._files, keeps=False)
        records = RecordsOfTask(
            0,
            self._task,
            before,
            self._settings,
            ChunkDecoder(before, writers, keys),
            self._files,
            process_consumer(self._settings.kafka),
            self._watchdog,
            self._open_sink,
        )
        with closing(records):
            batches = list(records.batches())
            return batches, sum(account.account.tombstones for account in records.manifest().accounts)

    def _selected(self, selects: Selects, records: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        try:
            selected: pa.Table = selects.rows(self._table, 1, _giving(records)).toArrow()
        except (PySparkException, Py4JJavaError) as error:
            raise failed_on_a_record(self._table.table, error) from error
        except SPARK_GONE as gone:
            raise spark_gone(repr(gone)) from gone
        batches: list[pa.RecordBatch] = selected.to_batches()
        return batches

    def _write(self, selected: list[pa.RecordBatch], places: Places) -> None:
        table = replace(self._table, metadata=(*self._table.metadata, *places))
        rows = RowsOfTask(
            0,
            0,
            self._task,
            table,
            self._settings,
            self._files,
            lambda: process_consumer(self._settings.kafka),
            self._watchdog.touch,
            self._open_sink,
        )
        with closing(rows):
            for batch in selected:
                rows.take(self._with_places(batch, places))
            rows.finish()

    def _with_places(self, batch: pa.RecordBatch, places: Places) -> pa.RecordBatch:
        coordinates = batch.column(COORDINATES)
        of_range = coordinates.field("range").to_pylist()
        from_range = [self._task.ranges[number].topic_partition for number in of_range]
        values = {
            MetadataColumn.TOPIC: pa.array([tp.topic for tp in from_range], pa.string()),
            MetadataColumn.PARTITION: pa.array([tp.number for tp in from_range], pa.int32()),
            MetadataColumn.OFFSET: coordinates.field("offset"),
        }
        for kind, name in places:
            batch = batch.append_column(name, values[kind])
        return batch


def _giving(records: list[pa.RecordBatch]) -> Reader:
    def read(tasks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in tasks:
            yield from records

    return read
