"""A real YARN: one ResourceManager and its NodeManagers."""

import json
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil

from tests.services.hadoop_files import LOGGING, write_site
from tests.services.jars import java
from tests.services.jvm import java_command
from tests.services.service import Service
from tests.services.service_process import ServiceProcess

_SERVER = "org.apache.hadoop.yarn.server"
_OPENED = ("lang", "util", "io", "net", "nio", "util.concurrent", "lang.reflect")
_QUEUE = "yarn.scheduler.capacity"


class Yarn(Service):
    """ResourceManager and `nodes` NodeManagers of `memory_mb` over an HDFS, given by its `site_properties`.

    Node 2 is `127.0.0.2`, and so on: for Spark they are several hosts. Containers run as the user of the tests, and are
    killed when they use more memory than they asked for. `java_options` are those of every JVM in a container,
    `server_options` those of the servers; `own`: more properties of its site file; `queues`: each one's share in percent,
    which it may exceed while others need nothing.
    """

    def __init__(
        self,
        folder: Path,
        site_properties: Mapping[str, str],
        nodes: int = 1,
        memory_mb: int = 4096,
        java_options: Sequence[str] = (),
        server_options: Sequence[str] = (),
        own: Mapping[str, str] | None = None,
        queues: Mapping[str, int] = MappingProxyType({"default": 100}),
    ) -> None:
        self._queues = dict(queues)
        self._site_properties = dict(site_properties)
        self._server_options = tuple(server_options)
        self._own = dict(own or {})
        self._memory_mb = memory_mb
        self._java_options = " ".join(java_options)
        self.resourcemanager = ServiceProcess("resourcemanager", [], folder)
        self.nodemanagers = [
            ServiceProcess(f"nodemanager{number}", [], folder / f"node{number}")
            for number in range(1, nodes + 1)
        ]
        super().__init__(folder, [*self.nodemanagers, self.resourcemanager], ports=5 + 4 * nodes)

    @property
    def conf(self) -> Path:
        """What `HADOOP_CONF_DIR` of its clients names."""
        return self.folder / "conf"

    def kill_applications(self, user: str) -> None:
        """What `yarn application -kill` asks for, for each that is running."""
        running: dict[str, Any] = {}

        def is_answered() -> bool:
            running.update(self.get("apps?states=RUNNING"))
            return bool(running)

        self.resourcemanager.wait_until(is_answered, "answering")  # a busy one answers late
        for application in running["apps"]["app"]:
            path = f"apps/{application['id']}/state?user.name={user}"
            order = urllib.request.Request(
                self._url(path),
                data=b'{"state": "KILLED"}',
                method="PUT",
                headers={"Content-Type": "application/json"},
            )
            with urllib.request.urlopen(order, timeout=60):
                pass

    def containers(self) -> list[psutil.Process]:
        """The processes of all containers: application masters, executors, and what they have started."""
        found: list[psutil.Process] = []
        for node in self.nodemanagers:
            with suppress(psutil.NoSuchProcess):  # a NodeManager may end at any moment
                found += psutil.Process(node.pid).children(recursive=True) if node.is_running else []
        return found

    def logs(self) -> str:
        """What Python has printed in all containers: in cluster mode the log of the program."""
        files = sorted(self.folder.glob("node*/log/*/*/stdout"))
        return "".join(file.read_text(errors="replace") for file in files)

    def attempts(self, application: str) -> set[int]:
        """The numbers of the attempts that have had a container."""
        logs = self.folder.glob(f"node*/log/{application}/container_*")
        return {int(folder.name.split("_")[-2]) for folder in logs}

    def stop(self) -> None:
        """As `kill`: nothing is kept."""
        self.kill()

    def kill(self) -> None:
        """End it and its containers, each of which leads a session of its own, with SIGKILL."""
        self._kill_containers()
        super().kill()

    def _kill_containers(self) -> None:
        for process in self.containers():
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def get(self, path: str) -> dict[str, Any]:
        """What the ResourceManager's web service says; empty while it does not answer."""
        try:
            with urllib.request.urlopen(self._url(path), timeout=30) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except (OSError, ValueError):
            return {}

    def _url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._ports[4]}/ws/v1/cluster/{path}"

    def active_nodes(self) -> int:
        """How many NodeManagers the ResourceManager counts; 0 while it does not answer."""
        return int(self.get("metrics").get("clusterMetrics", {}).get("activeNodes", 0))

    def _configure(self) -> None:
        scheduler, tracker, rpc, admin, web, *ports = self._ports
        cluster = {
            "yarn.resourcemanager.hostname": "127.0.0.1",
            "yarn.resourcemanager.bind-host": "127.0.0.1",
            "yarn.resourcemanager.scheduler.address": f"127.0.0.1:{scheduler}",
            "yarn.resourcemanager.resource-tracker.address": f"127.0.0.1:{tracker}",
            "yarn.resourcemanager.address": f"127.0.0.1:{rpc}",
            "yarn.resourcemanager.admin.address": f"127.0.0.1:{admin}",
            "yarn.resourcemanager.webapp.address": f"127.0.0.1:{web}",
            "yarn.resourcemanager.scheduler.class": f"{_SERVER}.resourcemanager.scheduler.capacity.CapacityScheduler",
            "yarn.resourcemanager.am.max-attempts": "100",  # the most that an application may ask for
            # an application master whose cluster is gone must not outlive the tests by a quarter of an hour
            "yarn.resourcemanager.connect.max-wait.ms": "30000",
            "yarn.resourcemanager.connect.retry-interval.ms": "1000",
            "yarn.scheduler.minimum-allocation-mb": "64",
            "yarn.scheduler.maximum-allocation-mb": str(self._memory_mb),
            "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "200",  # containers start sooner
            "yarn.nm.liveness-monitor.expiry-interval-ms": "120000",  # a busy machine is no lost node
            **self._own,
        }
        self._write(self.folder, cluster)
        self.resourcemanager.command = self._java(self.folder, 384, "resourcemanager.ResourceManager")
        for number, node in enumerate(self.nodemanagers, 1):
            folder = node.output.parent
            own = self._node(folder, f"127.0.0.{number}", [ports.pop() for _ in range(4)])
            self._write(folder, cluster | own)
            node.env["JAVA_HOME"] = str(Path(java()).resolve().parent.parent)  # of the containers
            if self._java_options:
                node.env["JDK_JAVA_OPTIONS"] = self._java_options
            node.command = self._java(folder, 256, "nodemanager.NodeManager")

    def _node(self, folder: Path, host: str, ports: list[int]) -> dict[str, str]:
        rpc, localizer, web, collector = ports
        return {
            "yarn.nodemanager.hostname": host,
            "yarn.nodemanager.bind-host": host,
            "yarn.nodemanager.address": f"{host}:{rpc}",
            "yarn.nodemanager.localizer.address": f"{host}:{localizer}",
            "yarn.nodemanager.webapp.address": f"{host}:{web}",
            "yarn.nodemanager.collector-service.address": f"{host}:{collector}",
            "yarn.nodemanager.local-dirs": f"{folder}/local",
            "yarn.nodemanager.log-dirs": f"{folder}/log",
            "yarn.nodemanager.resource.memory-mb": str(self._memory_mb),
            "yarn.nodemanager.resource.cpu-vcores": "8",
            "yarn.nodemanager.vmem-check-enabled": "false",
            "yarn.nodemanager.pmem-check-enabled": "true",
            "yarn.nodemanager.env-whitelist": "JAVA_HOME,HADOOP_CONF_DIR,LANG,JDK_JAVA_OPTIONS,KRB5_CONFIG",
            "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.5",
            "yarn.nodemanager.delete.debug-delay-sec": "600",  # what containers have logged
        }

    def _write(self, folder: Path, yarn: Mapping[str, str]) -> None:
        conf = folder / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        write_site(conf / "core-site.xml", {**self._site_properties, "hadoop.tmp.dir": f"{folder}/tmp"})
        write_site(conf / "hdfs-site.xml", self._site_properties)
        write_site(conf / "yarn-site.xml", yarn)
        write_site(conf / "capacity-scheduler.xml", _capacities(self._queues))
        (conf / "log4j.properties").write_text(LOGGING)

    def _java(self, folder: Path, heap_mb: int, main: str) -> list[str]:
        opened = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in _OPENED]
        # without Hadoop's native library, each file of a pack costs a process (chmod)
        quick = "-Djdk.lang.Process.launchMechanism=VFORK"
        options = (*opened, quick, f"-Dhadoop.home.dir={folder}", *self._server_options)
        return [*java_command("yarn", heap_mb, *options), f"{_SERVER}.{main}"]

    def _launch(self) -> None:
        for process in (self.resourcemanager, *self.nodemanagers):
            if not process.is_running:
                process.start()
        for node in self.nodemanagers:
            node.wait_until(self._all_are_there)

    def _all_are_there(self) -> bool:
        if not self.resourcemanager.is_running:
            self.resourcemanager.wait_until(lambda: False)  # raises with its output
        return self.active_nodes() == len(self.nodemanagers)


def _capacities(queues: Mapping[str, int]) -> dict[str, str]:
    """Of the capacity scheduler: one user may have the whole of a queue, and a queue the whole cluster."""
    return {
        f"{_QUEUE}.maximum-am-resource-percent": "0.8",
        f"{_QUEUE}.root.queues": ",".join(queues),
        **{f"{_QUEUE}.root.{name}.capacity": str(share) for name, share in queues.items()},
        **{f"{_QUEUE}.root.{name}.user-limit-factor": "100" for name in queues},
    }
