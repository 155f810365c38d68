"""Spark's configuration: defaults that fit a dump, the map's own settings above them. Spark itself is not imported here."""

import os
import pwd
import re
from collections.abc import Mapping
from pathlib import Path

from kafka2hive.config.keys import SparkOptions
from kafka2hive.spark.class_archive import archive_options

#: What Spark allocates at its start is dead at once: without a small young generation 90 MB of it stay in memory.
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmn24m"
#: Imported by Spark's Python alone: it must not be in memory here.
WORKERS_DAEMON = "kafka2hive.spark.worker_daemon"
_LOOPBACK = re.compile(r"local(\[.*\]|-cluster\[.*\])?$|spark://(127\.0\.0\.1|localhost)(:|$)")


def session_conf(options: SparkOptions, service: str, scratch: Path) -> dict[str, str]:
    """What a session is told: what its JVM was launched with, and where this process may write."""
    places = {"spark.sql.warehouse.dir": (scratch / "warehouse").as_uri()}
    if is_local(options.master):
        places["spark.local.dir"] = str(scratch / "local")
    return launch_conf(options, service) | places | dict(options.conf)


def launch_conf(options: SparkOptions, service: str) -> dict[str, str]:
    """What the driver's JVM is launched with: our defaults, then the map's `spark.conf`, which wins."""
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
        conf["spark.python.daemon.module"] = WORKERS_DAEMON
    elif (user := hdfs_user()) is not None:
        conf["spark.executorEnv.HADOOP_USER_NAME"] = user
    if _LOOPBACK.match(options.master):
        conf["spark.driver.host"] = "127.0.0.1"
        conf["spark.driver.bindAddress"] = "127.0.0.1"
    return conf | dict(options.conf)


def cores_to_use(cores: int, conf: Mapping[str, str]) -> int:
    """What an epoch is planned for, by Spark's `cores` now and its settings.

    With dynamic allocation Spark asks for executors only while tasks wait for them: with one task for each core that
    is there, an idle cluster would never grow. So it is what `maxExecutors` have, without a limit twice what is there.
    """
    dynamic = conf.get("spark.dynamicAllocation.enabled", "false").strip().lower() == "true"
    if not dynamic or "spark.default.parallelism" in conf:
        return cores
    most = conf.get("spark.dynamicAllocation.maxExecutors", "").strip()
    if not most.isdecimal():
        return 2 * cores
    each = conf.get("spark.executor.cores", "1").strip()
    return max(cores, int(most) * (int(each) if each.isdecimal() else 1))


def hdfs_user() -> str | None:
    """As whom this process, and so each task, uses an HDFS without Kerberos: executors may run as another user.

    None: the system has no name for this user.
    """
    if named := os.environ.get("HADOOP_USER_NAME"):
        return named
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return None


def is_local(master: str) -> bool:
    """Whether tasks run inside the driver's own JVM's workers, where our package is importable anyway."""
    return re.match(r"local(\[|$)", master) is not None
