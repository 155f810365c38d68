"""The Spark session, and our package on the workers.

Signals: the JVM ignores SIGINT and is in the driver's process group: SIGTERM must go to the driver alone (systemd:
`KillMode=mixed`, cron: `timeout --foreground`).
"""

import logging
import signal
import threading
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from py4j.java_gateway import JavaGateway  # type: ignore[import-untyped]  # it ships no types
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it ships no types
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

import kafka2hive
from kafka2hive.config.keys import SparkOptions
from kafka2hive.spark.configuration import cores_to_use, is_local, session_conf
from kafka2hive.spark.errors import SPARK_GONE, error_text, spark_gone
from kafka2hive.spark.internals import (
    QUERY_LOGGERS,
    end_accumulators,
    has_context,
    leave_numpy_out,
    process_of_jvm,
    require_parts_of,
    silence_accumulators,
)
from kafka2hive.spark.jvm import not_started

log = logging.getLogger(__name__)


def start_session(options: SparkOptions, service: str, scratch: Path, gateway: JavaGateway) -> SparkSession:
    """Start Spark in the JVM behind `gateway`. Raises ServiceUnavailable when that ended, or there is no master; `spark.version`.

    Our package is shipped to clusters; its dependencies are not (docs/cluster.md).
    """
    conf = SparkConf(loadDefaults=False).setAll(list(session_conf(options, service, scratch).items()))
    try:
        start_context(conf, gateway)
        spark = SparkSession.builder.config(conf=conf).getOrCreate()
        require_parts_of(spark)
    except (PySparkException, *SPARK_GONE) as error:
        raise not_started(error_text(error).partition("\n")[0]) from error
    if not is_local(options.master):
        ship_package(spark, scratch)
    return spark


def start_context(conf: SparkConf, gateway: JavaGateway) -> None:
    """A context that this process has already is used again. Leaves the caller's SIGINT handler: pyspark has its own."""
    if has_context():
        return
    leave_numpy_out()
    for name in QUERY_LOGGERS:
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_not_of_py4j)
    on_interrupt = signal.getsignal(signal.SIGINT)
    silence_accumulators(SparkContext(conf=conf, gateway=gateway))
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, on_interrupt)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    """py4j tells each call that finds the JVM gone, with a stack, and by the root logger: our errors say it, and at the end
    it is none.
    """
    return record.module != "java_gateway"


def warm_workers(spark: SparkSession) -> None:
    """Let the Python workers start and import what a task needs, beside the start of the query (1.5 s of it)."""
    context = spark.sparkContext
    count = int(context.defaultParallelism)

    def warm() -> None:
        try:
            context.parallelize(range(count), count).foreachPartition(_import_task)
        # AttributeError: of pyspark's own last step, where Spark was stopped meanwhile
        except (PySparkException, Py4JError, OSError, AttributeError) as error:
            # the first epoch tells why, or Spark stops
            log.info("the workers were not warmed up: %s", error_text(error).partition("\n")[0])

    threading.Thread(target=warm, name="warm-workers", daemon=True).start()


def _import_task(_: Iterable[int]) -> None:
    import kafka2hive.task.run  # noqa: F401  # for its side effect: it is in memory then


def stop_session(spark: SparkSession) -> None:
    """End Spark. Never fails: a JVM that is gone already must not hide why the run ends."""
    end_accumulators(spark.sparkContext)
    with suppress(Py4JError, OSError):
        # workers that still import what a task needs are cut off: that is no error
        spark.sparkContext.setLogLevel("OFF")
    try:
        spark.stop()
    except (Py4JError, OSError) as error:
        log.warning("Spark did not stop cleanly: %s", error)


def ship_package(spark: SparkSession, scratch: Path) -> Path:
    """Send the modules of this package to the executors, whose Python puts the zip before what is installed there."""
    archive = scratch / "kafka2hive.zip"
    home = Path(kafka2hive.__file__).parent
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for module in sorted(home.rglob("*.py")):
            file.write(module, module.relative_to(home.parent))
    spark.sparkContext.addPyFile(str(archive))
    return archive


def end_jvm(seconds: float) -> None:
    """After `stop_session`: let this process's JVM end by itself, and wait for it. Raises subprocess.TimeoutExpired."""
    process = process_of_jvm()
    assert process.stdin is not None, "launch makes a pipe of it"
    process.stdin.close()
    process.wait(seconds)


def session_settings(spark: SparkSession) -> dict[str, str]:
    """What holds for the session: also settings of `spark-submit` and of spark-defaults.conf."""
    return dict(spark.sparkContext.getConf().getAll())


def session_slots(spark: SparkSession, conf: Mapping[str, str], tasks_per_core: int) -> int:
    """How many tasks an epoch should have at most, by the cores there are now, or may be.

    Asked at each plan: executors register late, come and go. Raises ServiceUnavailable (`spark.gone`).
    """
    try:
        cores = int(spark.sparkContext.defaultParallelism)
    except (*SPARK_GONE, AttributeError) as gone:  # AttributeError: of pyspark's own, once Spark was stopped
        raise spark_gone(repr(gone)) from gone
    return max(1, cores_to_use(cores, conf) * tasks_per_core)
