"""A real HDFS with two NameNodes: one JournalNode, no ZooKeeper; the test decides who is active."""

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path

from hdfs_native import Client

from tests.services import namenode_state
from tests.services.hadoop_files import (
    CLIENT_PROPERTIES,
    DATANODE,
    DATANODE_REGISTERED,
    NAMENODE,
    hadoop_command,
    write_configuration,
)
from tests.services.service import Service
from tests.services.service_process import READY_SECONDS, ServiceProcess, run_to_end

_JOURNALNODE = "org.apache.hadoop.hdfs.qjournal.server.JournalNode"
_PROXY = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
_NAMESERVICE = "ha1"


class Failover(Enum):
    """How the active NameNode loses its role."""

    GRACEFUL = "asked to hand over"
    KILL9 = "killed"
    STOP = "suspended: it keeps its connections and believes that it is active"


class HdfsHa(Service):
    """Nameservice `ha1`; NameNodes are numbered 1 and 2, 1 begins as active.

    `core` and `own` are added to its site files, `options` to those of its JVMs, `admin_env` to an administrator's environment.
    """

    def __init__(
        self,
        folder: Path,
        core: Mapping[str, str] | None = None,
        own: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
        admin_env: Mapping[str, str] | None = None,
    ) -> None:
        self._core, self._own = dict(core or {}), dict(own or {})
        self._options, self._admin_env = tuple(options), dict(admin_env or {})
        self.journalnode = ServiceProcess("journalnode", [], folder)
        self.datanode = ServiceProcess("datanode", [], folder)
        self.namenodes = {number: ServiceProcess(f"namenode{number}", [], folder) for number in (1, 2)}
        super().__init__(folder, [self.datanode, *self.namenodes.values(), self.journalnode], ports=9)

    @property
    def namenode_url(self) -> str:
        """`hdfs://ha1`."""
        return f"hdfs://{_NAMESERVICE}"

    @property
    def client_properties(self) -> dict[str, str]:
        """What hdfs-native is given beside the URL."""
        return {**self._nameservice_properties(), **CLIENT_PROPERTIES}

    @property
    def site_properties(self) -> dict[str, str]:
        """What a Java client (Hive, Spark) needs in its site files."""
        return {"fs.defaultFS": self.namenode_url, "dfs.replication": "1", **self._nameservice_properties()}

    def client(self) -> Client:
        """A new hdfs-native client."""
        return Client(self.namenode_url, self.client_properties)

    @property
    def active(self) -> int:
        """The number of the active NameNode. Raises `LookupError` when there is none (a busy one may answer late)."""
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            for number, port in self._http_ports().items():
                if self.namenodes[number].is_running and namenode_state.ha_state(port) == "active":
                    return number
            time.sleep(0.05)
        raise LookupError("no NameNode is active")

    def failover(self, how: Failover, meanwhile: Callable[[], None] = lambda: None) -> int:
        """Make the other NameNode active and wait until it is out of safe mode; gives its number.

        `meanwhile` is called while none is active (not if `GRACEFUL`).

        The old one is a standby (`GRACEFUL`), dead (`KILL9`: see `revive`), or suspended (`STOP`: after `resume`
        the JournalNode's epoch fences it and it exits by itself).
        """
        old = self.active
        new = 3 - old
        if how is Failover.GRACEFUL:
            self._haadmin("-failover", f"nn{old}", f"nn{new}")
        else:
            if how is Failover.KILL9:
                self.namenodes[old].kill()
            else:
                self.namenodes[old].suspend()
            meanwhile()
            self._haadmin("-transitionToActive", "--forceactive", f"nn{new}")
        self._wait_for(new, "active")
        return new

    def revive(self, number: int) -> None:
        """Bring a dead or suspended NameNode back as standby, and wait until it could become active."""
        self.namenodes[number].kill()
        self.namenodes[number].start()
        self._wait_for(number, "standby")

    def _configure(self) -> None:
        journal, journal_http, *datanode_ports = self._ports[4:]
        http = {
            f"dfs.namenode.http-address.{_NAMESERVICE}.nn{number}": f"127.0.0.1:{port}"
            for number, port in self._http_ports().items()
        }
        own = {
            **self._nameservice_properties(),
            **http,
            "dfs.namenode.name.dir": f"file://{self.folder}/data/${{nn.id}}",
            "dfs.namenode.shared.edits.dir": f"qjournal://127.0.0.1:{journal}/{_NAMESERVICE}",
            "dfs.journalnode.rpc-address": f"127.0.0.1:{journal}",
            "dfs.journalnode.http-address": f"127.0.0.1:{journal_http}",
            "dfs.journalnode.edits.dir": f"{self.folder}/data/journal",
            "dfs.ha.automatic-failover.enabled": "false",
            "dfs.ha.fencing.methods": "shell(/bin/true)",
            "dfs.ha.tail-edits.period": "1s",
            "dfs.ha.tail-edits.in-progress": "true",
            "dfs.ha.log-roll.period": "10s",
            "dfs.permissions.enabled": "false",
            **self._own,
        }
        core = {"hadoop.http.filter.initializers": "", **self._core}
        write_configuration(self.folder, self.namenode_url, datanode_ports, core, own)
        for number, service in self.namenodes.items():
            service.command = self._namenode(number)
        self.datanode.command = [*self._java(), DATANODE]
        self.journalnode.command = [*self._java(), _JOURNALNODE]

    def _launch(self) -> None:
        self.journalnode.start()
        self.journalnode.wait_until(lambda: namenode_state.answers(self._ports[5]))
        first, second = (self.folder / "data" / f"nn{number}" for number in (1, 2))
        if not second.exists():
            run_to_end("namenode format", self._namenode(1, "-format", "-nonInteractive"), self.folder)
            shutil.copytree(first, second)  # what -bootstrapStandby does, without its JVM
        for service in (*self.namenodes.values(), self.datanode):
            service.start()
        for number in self.namenodes:
            self._wait_for_state(number, "standby")
        self._haadmin("-transitionToActive", "nn1")
        self._wait_for(1, "active")
        self._wait_for(2, "standby")
        self.datanode.wait_until(lambda: self.datanode.said(DATANODE_REGISTERED))

    def _http_ports(self) -> dict[int, int]:
        return dict(zip(self.namenodes, self._ports[2:4], strict=True))

    def _wait_for_state(self, number: int, state: str) -> None:
        port = self._http_ports()[number]
        self.namenodes[number].wait_until(lambda: namenode_state.ha_state(port) == state, state)

    def _wait_for(self, number: int, state: str) -> None:
        """Wait for the state and, because a failover to a NameNode in safe mode is refused, the end of safe mode."""
        self._wait_for_state(number, state)
        port = self._http_ports()[number]
        live = 1 if state == "active" else 0
        self.namenodes[number].wait_until(
            lambda: namenode_state.is_operational(port, live), "out of safe mode"
        )

    def _haadmin(self, *arguments: str) -> None:
        command = [
            *("/usr/bin/env", *(f"{name}={value}" for name, value in self._admin_env.items())),
            *self._java("-Ddfs.ha.namenode.id=nn1"),
            "org.apache.hadoop.hdfs.tools.DFSHAAdmin",
        ]
        run_to_end(
            "haadmin", [*command, *arguments], self.folder, answer="Y\n"
        )  # it asks whether one is sure

    def _namenode(self, number: int, *arguments: str) -> list[str]:
        # Both share host and configuration, so each must be told who it is: nn.id names its directory.
        me = f"nn{number}"
        return [
            *self._java(f"-Dnn.id={me}"),
            NAMENODE,
            f"-Ddfs.ha.namenode.id={me}",
            *arguments,
        ]

    def _java(self, *options: str) -> list[str]:
        return hadoop_command(self.folder, *self._options, *options)

    def _nameservice_properties(self) -> dict[str, str]:
        addresses = {
            f"dfs.namenode.rpc-address.{_NAMESERVICE}.nn{number}": f"127.0.0.1:{port}"
            for number, port in zip(self.namenodes, self._ports, strict=False)
        }
        return {
            "dfs.nameservices": _NAMESERVICE,
            f"dfs.ha.namenodes.{_NAMESERVICE}": "nn1,nn2",
            f"dfs.client.failover.proxy.provider.{_NAMESERVICE}": _PROXY,
            **addresses,
        }
