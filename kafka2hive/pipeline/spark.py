"""The Spark session: defaults that fit a dump, the map's own settings above them, our package on the workers.

Signals: the JVM ignores SIGINT and is in the driver's process group: SIGTERM must go to the driver alone (systemd:
`KillMode=mixed`, cron: `timeout --foreground`).
"""

import logging
import os
import re
import signal
import sys
import threading
import zipfile
from collections.abc import Iterable
from pathlib import Path

from py4j.java_gateway import JavaGateway  # type: ignore[import-untyped]  # it ships no types
from py4j.protocol import INPUT_CONVERTER, Py4JError  # type: ignore[import-untyped]  # it ships no types
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

import kafka2hive
from kafka2hive.config.values import SparkOptions
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.pipeline.spark_log import SparkOutput
from kafka2hive.pipeline.warm.archive import archive_options

log = logging.getLogger(__name__)

#: What Spark allocates at its start is dead at once: without a small young generation 90 MB of it stay in memory.
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmn24m"
#: Imported by Spark's Python alone: it must not be in memory here.
WORKERS_DAEMON = "kafka2hive.pipeline.warm.daemon"
_LOOPBACK = re.compile(r"local(\[.*\]|-cluster\[.*\])?$|spark://(127\.0\.0\.1|localhost)(:|$)")


def session_conf(options: SparkOptions, service: str, scratch: Path) -> dict[str, str]:
    """Spark's configuration: our defaults, then the map's `spark.conf`, which wins."""
    conf = {
        "spark.app.name": f"kafka2hive {service}",
        "spark.master": options.master,
        # a killed worker or a lost executor must not end the epoch; for local masters the second number of local[N,4]
        "spark.task.maxFailures": "4",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Spark's own Hive client is not used (and does not talk to metastores from 4.0.1 on)
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        # a progress report holds the source's offsets; nobody reads the old ones
        "spark.sql.streaming.numRecentProgressUpdates": "1",
        "spark.sql.streaming.minBatchesToRetain": "2",
        "spark.sql.streaming.metricsEnabled": "false",
        # extensions of Spark's SQL in the class path: it finds MLlib's, which costs a second of its start
        "spark.sql.extensions.test.loadFromCp": "false",
        # Spark would compile the plan of a stream whose rows are never read
        "spark.sql.codegen.wholeStage": "false",
        # a decoder that crashes should leave its Python stack in the error
        "spark.python.worker.faulthandler.enabled": "true",
        "spark.python.worker.reuse": "true",
        # no record passes through the driver's JVM: the second compiler would cost more than it saves
        "spark.driver.extraJavaOptions": QUICK_JVM,
        **archive_options(),
    }
    if is_local(options.master):
        conf["spark.local.dir"] = str(scratch / "local")
        conf["spark.python.daemon.module"] = WORKERS_DAEMON
    if _LOOPBACK.match(options.master):
        conf["spark.driver.host"] = "127.0.0.1"
        conf["spark.driver.bindAddress"] = "127.0.0.1"
    return conf | dict(options.conf)


def is_local(master: str) -> bool:
    """Whether tasks run inside the driver's own JVM's workers, where our package is importable anyway."""
    return re.match(r"local(\[|$)", master) is not None


def start_session(options: SparkOptions, service: str, scratch: Path) -> SparkSession:
    """Start Spark (8-11 s until a first epoch). Raises ServiceUnavailable when there is no Java or no master.

    Workers use this very Python unless PYSPARK_PYTHON says otherwise. Our package is shipped to clusters; its
    dependencies are not (docs/cluster.md).
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # of the JVM that only puts the command line of the driver's JVM together
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", QUICK_JVM)
    conf = SparkConf(loadDefaults=False).setAll(list(session_conf(options, service, scratch).items()))
    try:
        start_context(conf)
        spark = SparkSession.builder.config(conf=conf).getOrCreate()
    except PySparkException as error:
        raise ServiceUnavailable(
            "spark.start",
            f"Spark did not start: {str(error).splitlines()[0]}",
            "Spark needs Java 17 or later (java -version); what it printed is in the log",
        ) from error
    if not is_local(options.master):
        ship_package(spark, scratch)
    return spark


def start_context(conf: SparkConf) -> None:
    """Start the JVM with its output in our log, and leave the caller's SIGINT handler in place: pyspark has its own.

    A process has one JVM: a context that this process has already, or the JVM of one that was stopped, is used again.
    """
    if SparkContext._active_spark_context is not None:
        return
    _without_numpy()
    on_interrupt = signal.getsignal(signal.SIGINT)
    SparkContext(conf=conf, gateway=None if SparkContext._gateway else _launch_jvm(conf))
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, on_interrupt)


def _without_numpy() -> None:
    """Take pyspark's converters of numpy values out of py4j: asked for any argument, they import its tests' tools, and numpy,
    pyarrow and pandas with them (0.4 to 1 CPU-s). None of our values is of numpy.
    """
    INPUT_CONVERTER[:] = [each for each in INPUT_CONVERTER if not type(each).__name__.startswith("Numpy")]


def _launch_jvm(conf: SparkConf) -> JavaGateway:
    output = SparkOutput()
    try:
        return launch_gateway(conf, {"stdout": output.writing, "stderr": output.writing})
    finally:
        output.handed_over()


def warm_workers(spark: SparkSession) -> None:
    """Let the Python workers start and import what a task needs, beside the start of the query (1.5 s of it)."""
    context = spark.sparkContext
    count = int(context.defaultParallelism)

    def warm() -> None:
        try:
            context.parallelize(range(count), count).foreachPartition(_import_task)
        # AttributeError: of pyspark's own last step, where Spark was stopped meanwhile
        except (PySparkException, Py4JError, OSError, AttributeError) as error:
            log.info("the workers were not warmed up: %s", error)  # the first epoch tells why, or Spark stops

    threading.Thread(target=warm, name="warm-workers", daemon=True).start()


def _import_task(_: Iterable[int]) -> None:
    import kafka2hive.pipeline.task.run  # noqa: F401  # for its side effect: it is in memory then


def stop_session(spark: SparkSession) -> None:
    """End Spark. Never fails: a JVM that is gone already must not hide why the run ends."""
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
    process = SparkContext._gateway.proc
    process.stdin.close()
    process.wait(seconds)


def session_slots(spark: SparkSession, tasks_per_core: int) -> int:
    """How many tasks an epoch should have at most, by the cores there are now."""
    return max(1, int(spark.sparkContext.defaultParallelism) * tasks_per_core)
