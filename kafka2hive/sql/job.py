"""The Spark job for one table with SQL in an epoch: read, SELECT and write in one stage, or two with `shuffle: bucket`.

Each task's rows stay in its Spark partition, in order, until they are written or shuffled. Accumulators return the reports
of what was read and sent; the job's result holds the reports of what was written. Spark drops all reports of failed attempts.
"""

import logging
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
from pyspark.accumulators import AccumulatorParam
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka2hive.plan.contract import TableManifest, TaskPlan, TaskSettings
from kafka2hive.spark.internals import execution_of
from kafka2hive.sql.accounts import check_against_spark, manifest_of
from kafka2hive.sql.selects import INTO, OUT, Selects
from kafka2hive.sql.shuffle import (
    part_writer,
    shuffle_by_bucket,
    shuffled_manifests,
    task_attempt,
    task_context,
    whole_plan,
)
from kafka2hive.sql.statement import failed_select

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka2hive.task.sql.shares import RecordsRead

log = logging.getLogger(__name__)


class _Reports(AccumulatorParam):  # type: ignore[misc]  # pyspark has no type of it
    """An accumulator of the reports of all successful attempts."""

    def zero(self, value: tuple["RecordsRead", ...]) -> tuple["RecordsRead", ...]:
        return ()

    def addInPlace(  # noqa: N802  # pyspark's name
        self, one: tuple["RecordsRead", ...], other: tuple["RecordsRead", ...]
    ) -> tuple["RecordsRead", ...]:
        return (*one, *other)


class SqlJobs:
    """Runs the jobs of a run's tables with SQL."""

    def __init__(self, spark: SparkSession, settings: TaskSettings, selects: Selects) -> None:
        self._spark = spark
        self._settings = settings
        self._selects = selects

    def is_for(self, table: str) -> bool:
        return self._settings.tables[table].sql is not None

    def run(
        self, table: str, shares: Sequence[TaskPlan], is_abandoned: Callable[[], bool]
    ) -> list[TableManifest]:
        """Run the job of one table and return one manifest per share; each share must have only this table.

        An error of the table's SELECT or data is a failure in the manifests. Raises Spark's error if `is_abandoned`,
        and OSError or py4j's errors if Spark is gone.
        """
        from kafka2hive.task.failures import TableErrors
        from kafka2hive.task.part import only_part

        with TableErrors() as errors:
            try:
                return self._run(table, shares)
            except (PySparkException, Py4JJavaError) as error:
                if is_abandoned():
                    raise
                raise failed_select(table, error) from error
        assert errors.failure is not None
        return [only_part(share, self._settings).failure_manifest(errors.failure) for share in shares]

    def _run(self, table: str, shares: Sequence[TaskPlan]) -> list[TableManifest]:
        settings = self._settings.tables[table]
        read, sent = (self._spark.sparkContext.accumulator((), _Reports()) for _ in range(2))
        moves = settings.shuffle == "bucket" and len(shares) > 1
        whole = whole_plan(shares) if moves else None
        reader = _reader(shares, whole, self._settings, lambda one: read.add((one,)))
        rows = self._selects.rows(settings, len(shares), reader)
        if whole is not None:
            rows = shuffle_by_bucket(
                rows=rows,
                shares=shares,
                whole=whole,
                settings=self._settings,
                report=lambda one: sent.add((one,)),
            )
        writer = _writer(shares, self._settings) if whole is None else part_writer(whole, self._settings)
        ends = rows.mapInArrow(writer, "written binary")
        returned = ends.collect()
        spark_counts = execution_of(ends).observedMetrics()  # a listener of Spark may miss events
        into, out = (int(spark_counts.apply(name).getLong(0)) for name in (INTO, OUT))
        written = [pickle.loads(row.written) for row in returned]
        if whole is not None:
            return shuffled_manifests(
                table=table,
                shares=shares,
                read=read.value,
                sent=sent.value,
                received=written,
                into=into,
                out=out,
            )
        manifests = [manifest_of(table, share.index, read.value, written) for share in shares]
        check_against_spark(table=table, read=read.value, written=written, into=into, out=out)
        return manifests


def _reader(
    shares: Sequence[TaskPlan],
    whole: TaskPlan | None,
    settings: TaskSettings,
    report: Callable[["RecordsRead"], None],
) -> Callable[[Iterable["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]:
    """Return the function that reads records; secrets travel in its closure, never in the plan."""

    def read_records(plans: Iterable["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        from kafka2hive.task.sql import workers

        for batch in plans:
            for number in batch.column(0).to_pylist():
                yield from workers.read_records(
                    share=shares[number],
                    attempt=task_attempt(),
                    settings=settings,
                    tell=report,
                    file_plan=whole,
                )

    return read_records


def _writer(
    shares: Sequence[TaskPlan], settings: TaskSettings
) -> Callable[[Iterable["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]:
    def write_rows(batches: Iterable["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        from kafka2hive.task.sql import workers

        share = shares[task_context().partitionId()]
        yield workers.pickle_report(workers.write_rows(batches, share, task_attempt(), settings))

    return write_rows
