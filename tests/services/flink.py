"""A real Flink: one JobManager and one TaskManager of a session cluster, and its command line."""

import json
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks.peers.flink.__main__ import compiled
from tests.services.jars import jars, java
from tests.services.jvm import OPTIONS
from tests.services.service import Service
from tests.services.service_process import ServiceProcess, run_to_end

_OPENED = tuple(
    f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("lang", "util", "net", "nio", "time")
)
_JOBMANAGER = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
_TASKMANAGER = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"
_COMMAND = "org.apache.flink.client.cli.CliFrontend"
"""What Flink's script `flink` runs."""
_MEMORY = {
    "jobmanager.memory.heap.size": "256m",
    "taskmanager.cpu.cores": "2",
    "taskmanager.memory.task.heap.size": "384m",
    "taskmanager.memory.task.off-heap.size": "0",
    "taskmanager.memory.framework.heap.size": "128m",
    "taskmanager.memory.framework.off-heap.size": "64m",
    "taskmanager.memory.managed.size": "32m",
    "taskmanager.memory.network.min": "32m",
    "taskmanager.memory.network.max": "32m",
    "taskmanager.memory.jvm-metaspace.size": "192m",
    "taskmanager.memory.jvm-overhead.min": "64m",
    "taskmanager.memory.jvm-overhead.max": "64m",
}
"""Flink's start scripts compute these."""


class Flink(Service):
    """A session cluster with `slots` slots for tasks; all its processes have the same class path."""

    def __init__(self, folder: Path, slots: int = 4) -> None:
        self._slots = slots
        self.jobmanager = ServiceProcess("jobmanager", [], folder)
        self.taskmanager = ServiceProcess("taskmanager", [], folder)
        super().__init__(folder, [self.taskmanager, self.jobmanager], ports=4)

    @property
    def settings(self) -> dict[str, str]:
        """What a client needs to submit a job."""
        return {
            "execution.target": "remote",
            "rest.address": "127.0.0.1",
            "rest.port": str(self._ports[1]),
        }

    def get(self, path: str) -> dict[str, Any]:
        """What the REST service answers; empty while there is no answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._ports[1]}/{path}", timeout=60) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except (OSError, ValueError):
            return {}

    def command(self, *arguments: str) -> str:
        """`flink ARGUMENTS` to its end; gives what it prints. Raises `ServiceFailed`."""
        conf = f"FLINK_CONF_DIR={self.folder / 'conf'}"
        return run_to_end("flink", ["env", conf, *self.java(128, _COMMAND), *arguments], self.folder)

    def java(self, heap_mb: int, main: str) -> list[str]:
        """A command for `main` with Flink, its connectors, a client of Hadoop, and the program that submits SQL (`Peer`)."""
        quick = (*OPTIONS, "-Djava.net.preferIPv4Stack=true", f"-Djava.io.tmpdir={self.folder / 'tmp'}")
        return [java(), f"-Xmx{heap_mb}m", *quick, *_OPENED, "-cp", f"{compiled()}:{jars('flink')}", main]

    def stop(self) -> None:
        """As `kill`: nothing is kept."""
        self.kill()

    def _configure(self) -> None:
        rpc, rest, data, task_rpc = self._ports
        self._write(
            {
                **_MEMORY,
                "jobmanager.rpc.address": "127.0.0.1",
                "jobmanager.rpc.port": str(rpc),
                "jobmanager.bind-host": "127.0.0.1",
                "rest.address": "127.0.0.1",
                "rest.bind-address": "127.0.0.1",
                "rest.port": str(rest),
                "blob.server.port": "0",
                "taskmanager.host": "127.0.0.1",
                "taskmanager.bind-host": "127.0.0.1",
                "taskmanager.rpc.port": str(task_rpc),
                "taskmanager.data.port": str(data),
                "taskmanager.numberOfTaskSlots": str(self._slots),
                "io.tmp.dirs": str(self.folder / "tmp"),
                "web.upload.dir": str(self.folder / "tmp"),
                "flink.hadoop.dfs.replication": "1",  # of the tests' HDFS; appending would look for more DataNodes
            }
        )
        (self.folder / "tmp").mkdir(exist_ok=True)
        conf = ["--configDir", str(self.folder / "conf")]
        self.jobmanager.command = [*self.java(320, _JOBMANAGER), *conf]
        self.taskmanager.command = [*self.java(512, _TASKMANAGER), *conf]

    def _write(self, configuration: Mapping[str, str]) -> None:
        conf = self.folder / "conf"
        conf.mkdir(exist_ok=True)
        (conf / "config.yaml").write_text(
            "".join(f"{key}: {value}\n" for key, value in configuration.items())
        )

    def _launch(self) -> None:
        for process in (self.jobmanager, self.taskmanager):
            if not process.is_running:
                process.start()
        self.taskmanager.wait_until(lambda: self.get("overview").get("taskmanagers") == 1)
