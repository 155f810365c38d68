"""A real Spark standalone cluster from the pyspark wheel: one Master, two Workers."""

import json
import os
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyspark

from kafka2hive.spark.class_archive import installed_archive, use_option
from tests.services.jvm import OPTIONS
from tests.services.service import Service
from tests.services.service_process import ServiceProcess

SPARK_HOME = Path(pyspark.__file__).parent


class SparkStandalone(Service):
    """Master and Workers on 127.0.0.1, `cores` cores and `memory_mb` of executors for each Worker.

    `hosts` are the names of this machine that Workers go by, in turn: Spark runs a task's second attempt beside the first
    (speculation) only on another host. `env` is added to the environment of the Workers, thus of executors and their
    Python processes.
    """

    def __init__(
        self,
        folder: Path,
        workers: int = 2,
        cores: int = 1,
        memory_mb: int = 1024,
        env: Mapping[str, str] | None = None,
        hosts: Sequence[str] = ("127.0.0.1",),
    ):
        self._hosts = tuple(hosts)
        self._cores = cores
        self._memory_mb = memory_mb
        environment = {
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "JDK_JAVA_OPTIONS": java_options(),  # of daemons and executors alike
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            **(env or {}),
        }
        self.master = ServiceProcess("spark-master", [], folder, environment)
        self.workers = [
            ServiceProcess(f"spark-worker{number}", [], folder, environment)
            for number in range(1, workers + 1)
        ]
        super().__init__(folder, [*self.workers, self.master], ports=2 + 2 * workers)

    @property
    def url(self) -> str:
        """`spark://127.0.0.1:port`."""
        return f"spark://127.0.0.1:{self._ports[0]}"

    def stop(self) -> None:
        """End Workers (and their executors), then the Master; they keep nothing."""
        self.kill()

    def alive_workers(self) -> int:
        """How many Workers the Master counts as alive; 0 while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._ports[1]}/json/", timeout=30) as answer:
                return int(json.load(answer)["aliveworkers"])
        except (OSError, ValueError, KeyError):
            return 0

    def _configure(self) -> None:
        launch = [str(SPARK_HOME / "bin" / "spark-class")]
        port, web_port, *worker_ports = self._ports
        address = _address("127.0.0.1", port, web_port)
        self.master.command = [*launch, "org.apache.spark.deploy.master.Master", *address]
        for number, worker in enumerate(self.workers):
            host = self._hosts[number % len(self._hosts)]
            address = _address(host, worker_ports.pop(), worker_ports.pop())
            worker.command = [*launch, "org.apache.spark.deploy.worker.Worker", *self._worker(address)]

    def _launch(self) -> None:
        self.master.start()
        self.master.wait_until(lambda: self.master.said("New state: ALIVE"))
        for worker in self.workers:
            worker.start()
        for worker in self.workers:
            worker.wait_until(lambda: self.alive_workers() == len(self.workers))

    def _worker(self, address: list[str]) -> list[str]:
        size = ["--cores", str(self._cores), "--memory", f"{self._memory_mb}m"]
        return [*size, *address, "--work-dir", str(self.folder / "work"), self.url]


def _address(host: str, port: int, web_port: int) -> list[str]:
    return ["--host", host, "--port", str(port), "--webui-port", str(web_port)]


def java_options() -> str:
    """Few threads, and the classes of the driver's archive (`kafka2hive warm`), where there is one."""
    shared = installed_archive(os.environ)
    return " ".join((*OPTIONS, *([use_option(shared)] if shared is not None else [])))
