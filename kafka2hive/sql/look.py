"""Preview the rows of a table with SQL: this process reads and buckets the records, and a local Spark runs the SELECT.

Nothing is written. The records must be few, because they are held in memory and sent to Spark with the plan.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial

import pyarrow as pa
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
from pyspark.errors import PySparkException

from kafka2hive.config.keys import MetadataColumn, TableSettings
from kafka2hive.plan.contract import TableManifest, TableTask, TaskPlan, TaskSettings
from kafka2hive.spark.errors import SPARK_GONE, spark_gone
from kafka2hive.sql.selects import Reader, Selects
from kafka2hive.sql.statement import failed_select
from kafka2hive.storage.port import FileSystem
from kafka2hive.task.failures import TableErrors
from kafka2hive.task.fetch.consumer import process_consumer
from kafka2hive.task.part import TaskEnvironment, only_part, task_environment
from kafka2hive.task.run import COMMAND_STALL_SECONDS, DryRun, Task
from kafka2hive.task.sql.coordinates import COORDINATES
from kafka2hive.task.sql.placement import SelectedRows
from kafka2hive.task.sql.records import RowsToSelect, with_records_of
from kafka2hive.task.write.destination import OpenSink

Places = tuple[tuple[MetadataColumn, str], ...]


class LookThroughSelect:
    """Processes one table's records up to the point where its rows would be written.

    There is no watchdog, because a command must not kill its own process.
    """

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
        self._settings = replace(settings, stall_seconds=COMMAND_STALL_SECONDS)
        self._files = files
        self._open_sink = open_sink

    def look(self, selects: Selects, places: Places) -> DryRun:
        """Pass the rows and the dead letters to the sinks; rows have topic, partition and offset in the columns `places`.

        Raises TableError, ServiceUnavailable.
        """
        with TableErrors() as errors:
            records, manifest = self._records()
            self._write(self._select(selects, records), places)
            return DryRun.of(manifest)
        assert errors.failure is not None
        raise errors.failure.error

    def _records(self) -> tuple[list[pa.RecordBatch], TableManifest]:
        environment = self._environment(with_records_of(self._task.table, self._settings))
        outputs = list(Task(TaskPlan(0, (self._task,)), environment, open_end=RowsToSelect).outputs())
        (manifest,) = (output for output in outputs if isinstance(output, TableManifest))
        if manifest.failure is not None:
            raise manifest.failure.error
        return [output for output in outputs if isinstance(output, pa.RecordBatch)], manifest

    def _environment(self, settings: TaskSettings) -> TaskEnvironment:
        consumer = partial(process_consumer, settings.kafka)
        return task_environment(settings, self._files, consumer, other_sink=self._open_sink)

    def _select(self, selects: Selects, records: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        try:
            selected: pa.Table = selects.rows(self._table, 1, _reader_of(records)).toArrow()
        except (PySparkException, Py4JJavaError) as error:
            raise failed_select(self._table.table, error) from error
        except SPARK_GONE as gone:
            raise spark_gone(repr(gone)) from gone
        batches: list[pa.RecordBatch] = selected.to_batches()
        return batches

    def _write(self, selected: list[pa.RecordBatch], places: Places) -> None:
        table = replace(self._table, metadata=(*self._table.metadata, *places))
        settings = replace(self._settings, tables={table.table: table})
        part = only_part(TaskPlan(0, (self._task,)), settings)
        with (
            closing(self._environment(settings)) as environment,
            closing(SelectedRows(0, part, environment)) as rows,
        ):
            for batch in selected:
                rows.take(self._with_places(batch, places))
            rows.finish()

    def _with_places(self, batch: pa.RecordBatch, places: Places) -> pa.RecordBatch:
        coordinates = batch.column(COORDINATES)
        of_range = coordinates.field("range").to_pylist()
        from_range = [self._task.ranges[number].topic_partition for number in of_range]
        values = {
            MetadataColumn.TOPIC: pa.array([tp.key[0] for tp in from_range], pa.string()),
            MetadataColumn.PARTITION: pa.array([tp.number for tp in from_range], pa.int32()),
            MetadataColumn.OFFSET: coordinates.field("offset"),
        }
        for kind, name in places:
            batch = batch.append_column(name, values[kind])
        return batch


def _reader_of(records: list[pa.RecordBatch]) -> Reader:
    def read(tasks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in tasks:
            yield from records

    return read
