"""One table's share of an epoch as a job of Spark's own: read, SELECT, write, in one stage, without a shuffle.

Each task's rows stay in its partition from one end to the other, in their order. What was read comes back through an
accumulator, what was written as the job's result; Spark counts neither of an attempt that failed.
"""

import logging
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
from pyspark import TaskContext
from pyspark.accumulators import AccumulatorParam
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from kafka2hive.model.errors import TableError
from kafka2hive.model.offset_accounting import AccountingMismatch
from kafka2hive.pipeline.spark_errors import error_text
from kafka2hive.pipeline.sql.accounts import check_against_spark, manifest_of
from kafka2hive.pipeline.sql.names import add_functions, add_lookups
from kafka2hive.pipeline.sql.statement import one_row_per_task, planned
from kafka2hive.pipeline.values import TableFailure, TableManifest, TableSettings, TaskPlan, TaskSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka2hive.pipeline.task.sql.shares import RecordsRead, RowsWritten

log = logging.getLogger(__name__)

_CONF = {
    # a plan that is changed while it runs could leave records unread
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16000",
    "spark.sql.ansi.enabled": "true",
    # a table that is joined is sent to every task: rows that move lose their order
    "spark.sql.autoBroadcastJoinThreshold": "256m",
}


_INTO, _OUT = "rows into the SELECT", "rows out of the SELECT"


class _Told(AccumulatorParam):  # type: ignore[misc]  # pyspark has no type of it
    """All that attempts which ended well have told."""

    def zero(self, value: tuple["RecordsRead", ...]) -> tuple["RecordsRead", ...]:
        return ()

    def addInPlace(  # noqa: N802  # pyspark's name
        self, one: tuple["RecordsRead", ...], other: tuple["RecordsRead", ...]
    ) -> tuple["RecordsRead", ...]:
        return (*one, *other)


class SqlJobs:
    """The jobs of a run's tables with SQL; a session of its own for each, whose time zone is the table's."""

    def __init__(self, spark: SparkSession, settings: TaskSettings) -> None:
        self._spark = spark
        self._settings = settings
        self._sessions: dict[str, SparkSession] = {}

    def is_for(self, table: str) -> bool:
        return self._settings.tables[table].sql is not None

    def run(
        self, table: str, shares: Sequence[TaskPlan], is_abandoned: Callable[[], bool]
    ) -> list[TableManifest]:
        """One manifest per share, each with nothing but this table. What the table's SELECT or data makes fail is a value.

        Raises Spark's error where the job was `is_abandoned`; OSError and py4j's where Spark is gone.
        """
        try:
            return self._run(table, shares)
        except TableError as error:
            failure = TableFailure(error.code, error.message, error.remedy)
        except AccountingMismatch as error:
            failure = TableFailure("task.account_mismatch", str(error))
        except (PySparkException, Py4JJavaError) as error:
            if is_abandoned():
                raise
            failure = TableFailure(
                "sql.failed",
                f"{table}: its SELECT or its tasks failed: {error_text(error)}",
                "where a function fails on a record, use try_cast, try_divide, .. or leave the record out by WHERE",
            )
        return [
            TableManifest(
                table=table, task=share.index, generation=task.generation, epoch=task.epoch, failure=failure
            )
            for share in shares
            for task in share.tables
        ]

    def _run(self, table: str, shares: Sequence[TaskPlan]) -> list[TableManifest]:
        from kafka2hive.pipeline.task.rows import column_schema, row_schema
        from kafka2hive.pipeline.task.sql.coordinates import TYPE
        from kafka2hive.pipeline.task.sql.workers import records_table

        settings = self._settings.tables[table]
        counted = sf.count(sf.lit(1)).alias("rows")
        told = self._spark.sparkContext.accumulator((), _Told())
        before = records_table(settings)
        record_columns = row_schema(column_schema(before), before.metadata)
        with_coordinates = record_columns.append(_coordinates_field(TYPE))
        columns: StructType = from_arrow_schema(row_schema(column_schema(settings), settings.metadata))
        session = self._session(settings)
        add_lookups(session, settings, self._settings.storage)
        plans = one_row_per_task(session, len(shares))
        records = plans.mapInArrow(
            _reader(shares, self._settings, lambda one: told.add((one,))), from_arrow_schema(with_coordinates)
        )
        rows = planned(table, str(settings.sql), records.observe(_INTO, counted), columns)
        rows = rows.observe(_OUT, counted)
        ends = rows.mapInArrow(_writer(shares, self._settings), "written binary")
        returned = ends.collect()
        spark_counts = ends._jdf.queryExecution().observedMetrics()  # Spark's own listeners may miss an event
        into, out = (int(spark_counts.apply(name).getLong(0)) for name in (_INTO, _OUT))
        written: list[RowsWritten] = [pickle.loads(row.written) for row in returned]
        manifests = [manifest_of(table, share.index, told.value, written) for share in shares]
        check_against_spark(table, told.value, written, into, out)
        return manifests

    def _session(self, settings: TableSettings) -> SparkSession:
        session = self._sessions.get(settings.table)
        if session is None:
            session = self._spark.newSession()
            for name, value in (_CONF | {"spark.sql.session.timeZone": settings.zone}).items():
                session.conf.set(name, value)
            add_functions(session, settings)
            self._sessions[settings.table] = session
        return session


def _coordinates_field(kind: "pa.DataType") -> "pa.Field":
    import pyarrow as pa

    from kafka2hive.config.values.columns import COORDINATES

    return pa.field(COORDINATES, kind)


def _reader(
    shares: Sequence[TaskPlan], settings: TaskSettings, tell: Callable[["RecordsRead"], None]
) -> Callable[[Iterable["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]:
    """Secrets in `settings` travel in this closure, never in the plan."""

    def read_records(plans: Iterable["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        from kafka2hive.pipeline.task.sql import workers

        for batch in plans:
            for number in batch.column(0).to_pylist():
                yield from workers.read_records(shares[number], _attempt(), settings, tell)

    return read_records


def _writer(
    shares: Sequence[TaskPlan], settings: TaskSettings
) -> Callable[[Iterable["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]:
    def write_rows(batches: Iterable["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        from kafka2hive.pipeline.task.sql import workers

        share = shares[_context().partitionId()]
        yield workers.packed(workers.write_rows(batches, share, _attempt(), settings))

    return write_rows


def _attempt() -> int:
    return int(_context().taskAttemptId())


def _context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None, "outside of a task"
    return context
