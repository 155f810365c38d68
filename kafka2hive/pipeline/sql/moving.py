"""The shuffle of a table's job: rows behind the SELECT go to the tasks of their buckets."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from kafka2hive.config.values.columns import COORDINATES
from kafka2hive.pipeline.spark_internals import spark_schema
from kafka2hive.pipeline.sql.shuffled import first_ranges_of
from kafka2hive.pipeline.values import TaskPlan, TaskSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka2hive.pipeline.task.sql.shares import RowsWritten

Batches = Callable[[Iterable["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


def moved_by_bucket(
    rows: DataFrame,
    shares: Sequence[TaskPlan],
    whole: TaskPlan,
    settings: TaskSettings,
    tell: Callable[["RowsWritten"], None],
) -> DataFrame:
    """`rows` of the SELECT as they stand in files, each in the partition of its bucket; as many partitions as shares."""
    import pyarrow as pa

    from kafka2hive.pipeline.task.rows import schema_in_files
    from kafka2hive.pipeline.task.sql.shuffle import MOVED

    schema = schema_in_files(settings.tables[whole.tables[0].table]).append(pa.field(COORDINATES, MOVED))
    sent = rows.mapInArrow(_sender(shares, whole, settings, tell), spark_schema(schema))
    return sent.repartitionById(len(shares), sf.col(f"{COORDINATES}.part"))


def _sender(
    shares: Sequence[TaskPlan],
    whole: TaskPlan,
    settings: TaskSettings,
    tell: Callable[["RowsWritten"], None],
) -> Batches:
    """Secrets in `settings` travel in this closure, never in the plan."""
    firsts = first_ranges_of(shares)

    def send_rows(batches: Iterable["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        from kafka2hive.pipeline.task.sql import workers

        number = task_context().partitionId()
        share, first = shares[number], firsts[number]
        return workers.send_rows(batches, share, whole, first, len(shares), task_attempt(), settings, tell)

    return send_rows


def part_writer(whole: TaskPlan, settings: TaskSettings) -> Batches:
    def receive_rows(batches: Iterable["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        from kafka2hive.pipeline.task.sql import workers

        yield workers.packed(workers.receive_rows(batches, task_context().partitionId(), whole, settings))

    return receive_rows


def task_attempt() -> int:
    return int(task_context().taskAttemptId())


def task_context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None, "outside of a task"
    return context
