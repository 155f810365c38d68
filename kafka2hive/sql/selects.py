"""Plan the SELECTs of tables in Spark, with their lookups and functions, for the jobs of a run and for commands."""

import importlib
import importlib.util
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from kafka2hive.config.keys import ServiceMap, SparkOptions, StorageOptions, TableSettings
from kafka2hive.model.errors import TableError
from kafka2hive.spark.errors import SPARK_GONE, FirstError, error_text, spark_gone
from kafka2hive.spark.internals import pickle_by_value, spark_schema
from kafka2hive.spark.jvm import launched
from kafka2hive.spark.session import start_session, stop_session
from kafka2hive.sql.statement import one_row_per_task, parse_select, plan_select

if TYPE_CHECKING:
    import pyarrow as pa


INTO, OUT = "rows into the SELECT", "rows out of the SELECT"
"""The names of Spark's observed row counts."""
Reader = Callable[[Iterable["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]
"""Runs in Spark's workers: (batches with a task's number) -> batches of the task's records with their coordinates."""
_CONF = {
    # an adaptive plan could change while it runs and leave records unread
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16000",
    "spark.sql.ansi.enabled": "true",
    # a joined table must be broadcast: rows that move between tasks lose their order
    "spark.sql.autoBroadcastJoinThreshold": "256m",
}
_OF_SELECTS = ("spark.sql.", "spark.hadoop.")
"""Prefixes of the properties that affect a SELECT or the reading of a lookup; the others concern the cluster."""


class Selects:
    """Plans the SELECTs, with one Spark session per table, which has the table's time zone."""

    def __init__(self, spark: SparkSession, storage: StorageOptions) -> None:
        self._spark = spark
        self._storage = storage
        self._sessions: dict[str, tuple[object, SparkSession]] = {}
        """By table; each with what it was made from, because a reload of the map may change that."""
        self._checking = threading.Lock()

    def rows(self, table: TableSettings, tasks: int, read: Reader) -> DataFrame:
        """Return the planned rows, not run yet: the table's columns and the coordinates, with the lookups' current files.

        Raises TableError (`sql.lookup`, `sql.udfs`, and those of `plan_select`).
        """
        from kafka2hive.task.rows import column_schema, row_schema
        from kafka2hive.task.sql.records import records_schema

        session = self._session(table)
        add_lookups(session, table, self._storage)
        counted = sf.count(sf.lit(1)).alias("rows")
        schema = spark_schema(records_schema(table))
        records = one_row_per_task(session, tasks).mapInArrow(read, schema).observe(INTO, counted)
        columns = spark_schema(row_schema(column_schema(table), table.metadata))
        return plan_select(table.table, str(table.sql), records, columns).observe(OUT, counted)

    def check(self, table: TableSettings) -> None:
        """Plan the table's SELECT as a run would, without reading records. A table without SQL passes.

        Raises the TableErrors of `rows`, and ServiceUnavailable if Spark is gone. Threads are served one at a time.
        """
        if table.sql is not None:
            self._check(table.table, lambda: self.rows(table, 1, _no_records))

    def check_text(self, table: TableSettings) -> None:
        """Check what needs neither lookups nor columns: the SELECT's grammar, the nodes of its plan, and the functions.

        Raises the errors of `check`.
        """
        self._check(table.table, lambda: parse_select(self._session(table), table.table, str(table.sql)))

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
        origin = (table.zone, table.lookups, table.udfs)
        made_from, session = self._sessions.get(table.table, (None, None))
        if session is None or made_from != origin:
            session = self._spark.newSession()
            for name, value in (_CONF | {"spark.sql.session.timeZone": table.zone}).items():
                session.conf.set(name, value)
            add_functions(session, table)
            self._sessions[table.table] = origin, session
        return session


def _no_records(tasks: Iterable["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
    """Yield no records; for a plan that is not run."""
    yield from ()


@contextmanager
def local_selects(service_map: ServiceMap) -> Iterator[Selects]:
    """Start a local Spark with one core, and yield Selects that use it. Its files are deleted at the end.

    Raises ServiceUnavailable (`spark.start`) if Spark does not start.
    """
    conf = tuple((key, value) for key, value in service_map.spark.conf if key.startswith(_OF_SELECTS))
    options = SparkOptions(master="local[1]", conf=conf)
    with (
        tempfile.TemporaryDirectory(prefix="kafka2hive-", ignore_cleanup_errors=True) as scratch,
        launched(options, service_map.service) as jvm,
    ):
        spark = start_session(options, service_map.service, Path(scratch), jvm.connect())
        try:
            yield Selects(spark, service_map.storage)
        finally:
            stop_session(spark)


def add_lookups(session: SparkSession, table: TableSettings, storage: StorageOptions) -> None:
    """Register the lookups' current files as views of the session. Raises TableError (`sql.lookup`)."""
    for name, path in table.lookups:
        try:
            session.read.options(**dict(storage.properties)).parquet(path).createOrReplaceTempView(name)
        except (PySparkException, Py4JJavaError) as error:
            raise TableError(
                "sql.lookup",
                f"{table.table}: lookup {name} at {path} cannot be read: {error_text(error)}",
                "correct the map's lookups: each is a directory of Parquet files that the driver and the executors can read",
            ) from error


def add_functions(session: SparkSession, table: TableSettings) -> None:
    """Register every function of the module that pyspark's `udf` or `pandas_udf` made. Raises TableError (`sql.udfs`).

    The module is pickled by value, so executors need not have it installed.
    """
    if table.udfs is None:
        return
    failure = FirstError()
    with failure:
        module = _load(table.udfs)
        pickle_by_value(module)
        functions = {
            name: value for name, value in vars(module).items() if hasattr(value, "asNondeterministic")
        }
        for name, function in functions.items():
            session.udf.register(name, function)
    if failure.error is not None:
        raise TableError(
            "sql.udfs",
            f"{table.table}: {table.udfs} cannot be used: {type(failure.error).__name__}: {failure.error}",
            "correct the module; it must be importable where the service runs",
        ) from failure.error
    if not functions:
        raise TableError(
            "sql.udfs",
            f"{table.table}: {table.udfs} has no function made by pyspark's udf or pandas_udf",
            "decorate its functions: @udf('int')",
        )


def _load(name: str) -> ModuleType:
    """Import a module by its dotted name, or from a file."""
    if not name.endswith(".py"):
        return importlib.import_module(name)
    stem = f"kafka2hive_udfs_{Path(name).stem}"
    spec = importlib.util.spec_from_file_location(stem, name)
    if spec is None or spec.loader is None:
        raise ImportError(f"no module at {name}")
    module = sys.modules[stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
