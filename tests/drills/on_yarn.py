"""What the drills on YARN share: Spark's settings, who submits, and where the driver of an application is."""

import sys
from urllib.parse import urlsplit

import psutil
from hdfs_native import Client

from tests.drills.executor_kills import Target
from tests.drills.spark_workers import command_holds
from tests.harness.program import Running
from tests.harness.scenario import Scenario
from tests.harness.sessions import is_java
from tests.oracle.exact import ends_of
from tests.services.flights import flights
from tests.services.produce import Place, produce
from tests.services.secure.kdc import Kdc
from tests.services.spark_standalone import SPARK_HOME
from tests.services.yarn import Yarn

USER = "analyst"
EXECUTORS = {
    "spark.executor.instances": "2",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.executor.memoryOverhead": "768m",
    "spark.executor.maxNumFailures": "1000",  # a drill kills more in an hour than any cluster
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
_MASTER_OF_CLIENT = "org.apache.spark.deploy.yarn.ExecutorLauncher"
_EXECUTOR = "org.apache.spark.executor.YarnCoarseGrainedExecutorBackend"


def submitter(yarn: Yarn) -> dict[str, str]:
    """The environment of a user of this cluster, whom no account of this machine is."""
    return {
        "HADOOP_CONF_DIR": str(yarn.conf),
        "HADOOP_USER_NAME": USER,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def secure_submitter(yarn: Yarn, kdc: Kdc) -> dict[str, str]:
    """The environment of who submits to a cluster in the realm; there is no ticket."""
    return {
        "HADOOP_CONF_DIR": str(yarn.conf),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JDK_JAVA_OPTIONS": kdc.java_option,  # as /etc/krb5.conf
    }


class SubmittedService:
    """One table of a submitted service. It is sent `records` flights at a time; `stored` has those of all times."""

    def __init__(self, scenario: Scenario, bootstrap: str, topic: str, records: int) -> None:
        self.scenario, self.stored = scenario, dict[Place, bytes | None]()
        [self.ledger] = scenario.ledgers_of()
        self._bootstrap, self._topic, self._records = bootstrap, topic, records

    def send(self) -> None:
        """As many records again."""
        sent = len(self.stored)
        new = flights()[sent : sent + self._records]
        self.stored |= produce(self._bootstrap, self._topic, new, 2)

    def wait_until_read(self, run: Running) -> None:
        """Until all is committed."""
        self.scenario.wait_until_at(run, ends_of(self.stored), seconds=ATTEMPT_SECONDS)

    def send_and_wait(self, run: Running) -> None:
        """Until as many records again are committed."""
        self.send()
        self.wait_until_read(run)

    def wait_for_generation(self, run: Running, generation: int) -> None:
        """Until an attempt has taken the table over, and has read all."""
        run.wait_until(
            lambda: bool(self.ledger.ends()) and self.ledger.generation() == generation,
            f"generation {generation}",
            ATTEMPT_SECONDS,
        )
        self.wait_until_read(run)


def end(run: Running, yarn: Yarn) -> None:
    """SIGTERM to the driver of the last attempt."""
    [driver] = drivers(yarn)
    driver.terminate()
    assert run.wait(ATTEMPT_SECONDS) == 143, run.tail() + yarn.logs()[-3_000:]


def owners(files: Client, target: Target) -> set[str]:
    """Whose the tables' files and directories are."""
    places = (urlsplit(target.scenario.location(table)).path for table in target.scenario.tables)
    return {str(found.owner) for place in places for found in files.list_status(place, True)}


def application_masters(yarn: Yarn) -> list[psutil.Process]:
    """JVMs with the driver in cluster mode."""
    return [found for found in yarn.containers() if is_java(found) and command_holds(found, _MASTER)]


def client_masters(yarn: Yarn) -> list[psutil.Process]:
    """JVMs of application masters in client mode, where the driver is elsewhere."""
    return [
        found for found in yarn.containers() if is_java(found) and command_holds(found, _MASTER_OF_CLIENT)
    ]


def drivers(yarn: Yarn) -> list[psutil.Process]:
    """Python drivers in cluster mode; Hadoop also starts other programs, for a moment (`id`, `getconf`)."""
    children = [child for master in application_masters(yarn) for child in master.children()]
    return [child for child in children if not is_java(child) and command_holds(child, "main.py")]


def executors(yarn: Yarn) -> list[psutil.Process]:
    """JVMs of executors."""
    return [found for found in yarn.containers() if is_java(found) and command_holds(found, _EXECUTOR)]
