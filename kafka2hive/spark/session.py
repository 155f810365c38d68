"""Start and stop the Spark session, ship this package to the executors, and make the session's temporary directory.

The JVM ignores SIGINT and is in the driver's process group, so SIGTERM must be sent to the driver alone (systemd:
`KillMode=mixed`, cron: `timeout --foreground`).
"""

import errno
import logging
import os
import shutil
import signal
import threading
import uuid
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import psutil
from py4j.java_gateway import JavaGateway  # type: ignore[import-untyped]  # it ships no types
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it ships no types
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

import kafka2hive
from kafka2hive.config.keys import SparkOptions
from kafka2hive.model.errors import ConfigError, Kafka2HiveError, ServiceUnavailable
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

_PREFIX = "driver-"
log = logging.getLogger(__name__)


class Scratch:
    """The temporary directory of one driver process, for Spark's checkpoint and shuffle files. No state is kept in it.

    It is `<run directory>/driver-<pid>-<start time>-<8 hex>/` with mode 0700, and is removed at exit.
    The next driver removes the directory of a killed one: the name has the pid and the start time of its process, so
    that a reused pid does not protect it.
    """

    def __init__(self, run_directory: Path) -> None:
        self._run_directory = run_directory
        started = int(psutil.Process().create_time())
        self.path = (run_directory / f"{_PREFIX}{os.getpid()}-{started}-{uuid.uuid4().hex[:8]}").absolute()

    def __enter__(self) -> Path:
        """Make the directory. Raises ConfigError, ServiceUnavailable (`spark.run_directory`)."""
        try:
            self._run_directory.mkdir(parents=True, exist_ok=True)
            for directory in self._run_directory.glob(f"{_PREFIX}*-*-*"):
                if not _is_alive(directory.name):
                    shutil.rmtree(directory, ignore_errors=True)
            self.path.mkdir(mode=0o700)
        except OSError as error:
            raise unusable(self._run_directory, error) from error
        return self.path

    def __exit__(self, *_: object) -> None:
        # the JVM may still write while it ends; the next start removes what is left
        shutil.rmtree(self.path, ignore_errors=True)


def unusable(directory: Path, error: OSError) -> Kafka2HiveError:
    """Return the error of a run directory in which nothing can be made; a full disk may get free by itself."""
    kind = ServiceUnavailable if error.errno in (errno.ENOSPC, errno.EDQUOT) else ConfigError
    return kind(
        "spark.run_directory",
        f"no temporary directory can be made in {directory}: {error.strerror or error}; nothing was changed",
        "delete it if another user has left it, or name another one: run_directory in the map",
    )


def _is_alive(name: str) -> bool:
    """Return whether the process that made the directory still runs; True for names of another form, which are kept."""
    pid, started, _ = name.removeprefix(_PREFIX).split("-", 2)
    if not (pid.isdecimal() and started.isdecimal()):
        return True
    try:
        return bool(abs(psutil.Process(int(pid)).create_time() - int(started)) < 2)
    except psutil.NoSuchProcess:
        return False


def start_session(options: SparkOptions, service: str, scratch: Path, gateway: JavaGateway) -> SparkSession:
    """Start Spark in the JVM behind `gateway`.

    This package is shipped to clusters; its dependencies are not (docs/cluster.md).
    Raises ServiceUnavailable: `spark.start` if the JVM has ended or there is no master, `spark.version`.
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
    """Start a context unless this process has one. Restores the caller's SIGINT handler, which pyspark replaces."""
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
    """Return False for py4j's log records.

    py4j logs each call that finds the JVM gone, with a stack, to the root logger. Our errors report this, except at the
    end of a run, when it is no error.
    """
    return record.module != "java_gateway"


def warm_workers(spark: SparkSession) -> None:
    """Make the Python workers start and import a task's modules, in parallel with the query's start (1.5 s)."""
    context = spark.sparkContext
    count = int(context.defaultParallelism)

    def warm() -> None:
        try:
            context.parallelize(range(count), count).foreachPartition(_import_task)
        # pyspark's last step raises AttributeError if Spark was stopped meanwhile
        except (PySparkException, Py4JError, OSError, AttributeError) as error:
            # the first epoch will fail with the reason, or Spark is stopping
            log.info("the workers were not warmed up: %s", error_text(error).partition("\n")[0])

    threading.Thread(target=warm, name="warm-workers", daemon=True).start()


def _import_task(_: Iterable[int]) -> None:
    import kafka2hive.task.run  # noqa: F401  # for its side effect: it is in memory then


def stop_session(spark: SparkSession) -> None:
    """Stop Spark. Never fails, because the error of a JVM that is gone must not hide why the run ends."""
    end_accumulators(spark.sparkContext)
    with suppress(Py4JError, OSError):
        # it is not an error if a worker is cut off while it imports a task's modules
        spark.sparkContext.setLogLevel("OFF")
    try:
        spark.stop()
    except (Py4JError, OSError) as error:
        log.warning("Spark did not stop cleanly: %s", error)


def ship_package(spark: SparkSession, scratch: Path) -> Path:
    """Send this package's modules to the executors, whose Python prefers the zip to an installed package."""
    archive = scratch / "kafka2hive.zip"
    home = Path(kafka2hive.__file__).parent
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for module in sorted(home.rglob("*.py")):
            file.write(module, module.relative_to(home.parent))
    spark.sparkContext.addPyFile(str(archive))
    return archive


def end_jvm(seconds: float) -> None:
    """Let this process's JVM end after `stop_session`, and wait for it. Raises subprocess.TimeoutExpired."""
    process = process_of_jvm()
    assert process.stdin is not None, "launch makes a pipe of it"
    process.stdin.close()
    process.wait(seconds)


def session_settings(spark: SparkSession) -> dict[str, str]:
    """Return the session's settings, including those of `spark-submit` and spark-defaults.conf."""
    return dict(spark.sparkContext.getConf().getAll())


def session_slots(spark: SparkSession, conf: Mapping[str, str], tasks_per_core: int) -> int:
    """Return the maximum number of tasks of an epoch, from the cores that Spark has now or may get.

    It must be called for each plan, because executors come and go. Raises ServiceUnavailable (`spark.gone`).
    """
    try:
        cores = int(spark.sparkContext.defaultParallelism)
    except (*SPARK_GONE, AttributeError) as gone:  # pyspark raises AttributeError once Spark was stopped
        raise spark_gone(repr(gone)) from gone
    return max(1, cores_to_use(cores, conf) * tasks_per_core)
