"""What a SELECT may name beside `records`: tables of lookups, and functions of the user's own module."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka2hive.config.values import StorageOptions, TableSettings
from kafka2hive.model.errors import TableError
from kafka2hive.pipeline.kept_error import KeptError
from kafka2hive.pipeline.spark_errors import error_text
from kafka2hive.pipeline.spark_internals import pickle_by_value


def add_lookups(session: SparkSession, table: TableSettings, storage: StorageOptions) -> None:
    """The files as they are now, as views of the session. Raises TableError (`sql.lookup`)."""
    for name, path in table.lookups:
        try:
            session.read.options(**dict(storage.properties)).parquet(path).createOrReplaceTempView(name)
        except (PySparkException, Py4JJavaError) as error:
            raise TableError(
                "sql.lookup",
                f"{table.table}: lookup {name} at {path} cannot be read: {error_text(error)}",
                "correct the map's lookups; it is a directory of Parquet files that the driver and the executors can read",
            ) from error


def add_functions(session: SparkSession, table: TableSettings) -> None:
    """Register every function of the module that pyspark's `udf` or `pandas_udf` has made. Raises TableError (`sql.udfs`).

    The module goes to the executors by value: it need not be there.
    """
    if table.udfs is None:
        return
    kept = KeptError()
    with kept:
        module = _loaded(table.udfs)
        pickle_by_value(module)
        found = {name: value for name, value in vars(module).items() if hasattr(value, "asNondeterministic")}
        for name, function in found.items():
            session.udf.register(name, function)
    if kept.error is not None:
        raise TableError(
            "sql.udfs",
            f"{table.table}: {table.udfs} cannot be used: {type(kept.error).__name__}: {kept.error}",
            "correct the module; it must be importable where the service runs",
        ) from kept.error
    if not found:
        raise TableError(
            "sql.udfs",
            f"{table.table}: {table.udfs} has no function that is made by pyspark's udf or pandas_udf",
            "decorate its functions: @udf('int')",
        )


def _loaded(name: str) -> ModuleType:
    """A module by its dotted name, or a file."""
    if not name.endswith(".py"):
        return importlib.import_module(name)
    stem = f"kafka2hive_udfs_{Path(name).stem}"
    spec = importlib.util.spec_from_file_location(stem, name)
    if spec is None or spec.loader is None:
        raise ImportError(f"no module at {name}")
    module = sys.modules[stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
