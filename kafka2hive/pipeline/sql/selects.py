"""The SELECT of a table as Spark plans it: for a run's jobs, and to be checked before any."""

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from kafka2hive.config.values import StorageOptions, TableSettings
from kafka2hive.model.errors import TableError
from kafka2hive.pipeline.spark_errors import SPARK_GONE, error_text, spark_gone
from kafka2hive.pipeline.spark_internals import spark_schema
from kafka2hive.pipeline.sql.names import add_functions, add_lookups
from kafka2hive.pipeline.sql.statement import one_row_per_task, parsed, planned

if TYPE_CHECKING:
    import pyarrow as pa

Reader = Callable[[Iterable["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]
"""Of one row with a task's number it makes the task's records with their coordinates; in a worker of Spark's."""

INTO, OUT = "rows into the SELECT", "rows out of the SELECT"
"""What Spark counts under these names."""
_CONF = {
    # a plan that is changed while it runs could leave records unread
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16000",
    "spark.sql.ansi.enabled": "true",
    # a table that is joined is sent to every task: rows that move lose their order
    "spark.sql.autoBroadcastJoinThreshold": "256m",
}


class Selects:
    """A session of its own for each table, whose time zone is the table's."""

    def __init__(self, spark: SparkSession, storage: StorageOptions) -> None:
        self._spark = spark
        self._storage = storage
        self._sessions: dict[str, SparkSession] = {}
        self._checking = threading.Lock()

    def rows(self, table: TableSettings, tasks: int, read: Reader) -> DataFrame:
        """The table's columns and the coordinates, planned and not run yet; lookups as they are now.

        Raises TableError: `sql.lookup`, `sql.udfs`, and as `planned`.
        """
        from kafka2hive.pipeline.task.rows import column_schema, row_schema
        from kafka2hive.pipeline.task.sql.records import records_schema

        session = self._session(table)
        add_lookups(session, table, self._storage)
        counted = sf.count(sf.lit(1)).alias("rows")
        schema = spark_schema(records_schema(table))
        records = one_row_per_task(session, tasks).mapInArrow(read, schema).observe(INTO, counted)
        columns = spark_schema(row_schema(column_schema(table), table.metadata))
        return planned(table.table, str(table.sql), records, columns).observe(OUT, counted)

    def check(self, table: TableSettings) -> None:
        """Plan it as a dump would; no record is read. A table without SQL is as it should be.

        Raises TableError as `rows`, ServiceUnavailable (Spark is gone). From several threads one after the other.
        """
        if table.sql is not None:
            self._check(table.table, lambda: self.rows(table, 1, _no_records))

    def check_text(self, table: TableSettings) -> None:
        """As far as it goes without the lookups and the columns: the SELECT's own grammar and nodes, and the functions.

        Raises as `check`.
        """
        self._check(table.table, lambda: parsed(self._session(table), table.table, str(table.sql)))

    def _check(self, table: str, plan: Callable[[], object]) -> None:
        try:
            with self._checking:
                plan()
        except Py4JJavaError as error:
            raise TableError(
                "sql.syntax", f"{table}: {error_text(error)}", "correct the table's sql"
            ) from error
        except SPARK_GONE as gone:
            raise spark_gone(repr(gone)) from gone

    def _session(self, table: TableSettings) -> SparkSession:
        session = self._sessions.get(table.table)
        if session is None:
            session = self._spark.newSession()
            for name, value in (_CONF | {"spark.sql.session.timeZone": table.zone}).items():
                session.conf.set(name, value)
            add_functions(session, table)
            self._sessions[table.table] = session
        return session


def _no_records(tasks: Iterable["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
    """Of a plan that is not run."""
    yield from ()
