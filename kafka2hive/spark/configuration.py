"""Spark's configuration: this project's defaults, overridden by the map's settings. This module does not import Spark."""

import os
import pwd
import re
from collections.abc import Mapping
from pathlib import Path

from kafka2hive.config.keys import SparkOptions
from kafka2hive.config.yaml.document import SUBMITTED
from kafka2hive.spark.class_archive import archive_options

#: Most of what Spark allocates at its start is garbage: without a small young generation, 90 MB of it stay in memory.
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmn24m"
#: Only Spark's Python workers import this module; the driver must not.
WORKERS_DAEMON = "kafka2hive.spark.worker_daemon"
#: Spark's login with a keytab, under its present and its earlier names.
LOGIN_KEYS = frozenset(
    {"spark.kerberos.principal", "spark.kerberos.keytab", "spark.yarn.principal", "spark.yarn.keytab"}
)
#: Without it, Spark ends an application that has lost 2 executors for each that it asked for, over months.
EXECUTOR_FAILURES = {"spark.executor.failuresValidityInterval": "1h"}
_LOOPBACK = re.compile(r"local(\[.*\]|-cluster\[.*\])?$|spark://(127\.0\.0\.1|localhost)(:|$)")


def session_conf(options: SparkOptions, service: str, scratch: Path) -> dict[str, str]:
    """Return the configuration of a session: the JVM's, and the directories in which this process may write.

    In an application that `submit` started, Spark itself says where its copy of the keytab is.
    """
    places = {"spark.sql.warehouse.dir": (scratch / "warehouse").as_uri()}
    if is_local(options.master):
        places["spark.local.dir"] = str(scratch / "local")
    conf = launch_conf(options, service) | places | dict(options.conf)
    sent = LOGIN_KEYS if SUBMITTED in os.environ else frozenset()
    return {key: value for key, value in conf.items() if key not in sent}


def launch_conf(options: SparkOptions, service: str) -> dict[str, str]:
    """Return the configuration for the driver's JVM: the defaults, overridden by the map's `spark.conf`."""
    conf = {
        "spark.app.name": f"kafka2hive {service}",
        "spark.master": options.master,
        # a killed worker or a lost executor must not end the epoch; for local masters the second number of local[N,4]
        "spark.task.maxFailures": "4",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Spark's Hive client is not used, and does not work with metastores from 4.0.1 on
        "spark.sql.catalogImplementation": "in-memory",
        # progress reports hold the source's offsets, and only the latest is of use
        "spark.sql.streaming.numRecentProgressUpdates": "1",
        "spark.sql.streaming.minBatchesToRetain": "2",
        "spark.sql.streaming.metricsEnabled": "false",
        # a search for SQL extensions finds MLlib's, which adds a second to the start
        "spark.sql.extensions.test.loadFromCp": "false",
        # otherwise Spark compiles the plan of a stream whose rows are never read
        "spark.sql.codegen.wholeStage": "false",
        # a decoder that crashes should leave its Python stack in the error
        "spark.python.worker.faulthandler.enabled": "true",
        "spark.python.worker.reuse": "true",
        # no record passes through the driver's JVM, so the C2 compiler costs more than it saves
        "spark.driver.extraJavaOptions": QUICK_JVM,
        **archive_options(),
    }
    if is_local(options.master):
        conf["spark.python.daemon.module"] = WORKERS_DAEMON
    else:
        conf |= EXECUTOR_FAILURES
        if (user := hdfs_user()) is not None:
            conf["spark.executorEnv.HADOOP_USER_NAME"] = user
    if _LOOPBACK.match(options.master):
        conf["spark.driver.host"] = "127.0.0.1"
        conf["spark.driver.bindAddress"] = "127.0.0.1"
    return conf | dict(options.conf)


def cores_to_use(cores: int, conf: Mapping[str, str]) -> int:
    """Return the number of cores that an epoch is planned for, from Spark's current `cores` and its settings.

    With dynamic allocation, Spark requests executors only while tasks wait for them, so one task per present core would
    never make the cluster grow. The result is then the cores of `maxExecutors`, or twice the present cores without a limit.
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
    """Return the user as whom this process uses HDFS without Kerberos, None if the system has no name for the user.

    Tasks must use the same user, although executors may run as another user.
    """
    if named := os.environ.get("HADOOP_USER_NAME"):
        return named
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return None


def is_local(master: str) -> bool:
    """Return whether tasks run on this host in workers of the driver's JVM, which can import this package."""
    return re.match(r"local(\[|$)", master) is not None
