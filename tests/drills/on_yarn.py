"""What the drills on YARN share: Spark's settings, and where the driver of an application is."""

import psutil

from tests.drills.spark_workers import command_holds
from tests.harness.sessions import is_java
from tests.services.spark_standalone import SPARK_HOME
from tests.services.yarn import Yarn

EXECUTORS = {
    "spark.executor.instances": "2",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.executor.memoryOverhead": "768m",
    "spark.scheduler.minRegisteredResourcesRatio": "0",  # begin with the first executor
}
ONE_EXECUTOR = {"spark.executor.instances": "1"}
LOOPBACK = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executorEnv.SPARK_LOCAL_IP": "127.0.0.1",
    "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": "127.0.0.1",
}
# the jars are on every node already: this one
JARS = {"spark.yarn.jars": f"local:{SPARK_HOME}/jars/*"}
# an application master that fails before there is a Spark was seen to hang for minutes
ATTEMPT_SECONDS = 900.0
_MASTER = "org.apache.spark.deploy.yarn.ApplicationMaster"
_EXECUTOR = "org.apache.spark.executor.YarnCoarseGrainedExecutorBackend"


def application_masters(yarn: Yarn) -> list[psutil.Process]:
    """JVMs with the driver in cluster mode."""
    return [found for found in yarn.containers() if is_java(found) and command_holds(found, _MASTER)]


def drivers(yarn: Yarn) -> list[psutil.Process]:
    """Python drivers in cluster mode; Hadoop also starts other programs, for a moment (`id`, `getconf`)."""
    children = [child for master in application_masters(yarn) for child in master.children()]
    return [child for child in children if not is_java(child) and command_holds(child, "main.py")]


def executors(yarn: Yarn) -> list[psutil.Process]:
    """JVMs of executors."""
    return [found for found in yarn.containers() if is_java(found) and command_holds(found, _EXECUTOR)]
