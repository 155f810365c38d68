"""A real HDFS: one NameNode and one DataNode."""

from collections.abc import Mapping
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
from tests.services.service import Service, formatted
from tests.services.service_process import ServiceProcess, run_to_end


class Hdfs(Service):
    """HDFS: its processes are `namenode` and `datanode`, to be killed, suspended and so on.

    After `kill` or `terminate` of one, `start_namenode`/`start_datanode` brings it back. `permissions=True` enforces
    owners and modes (the user who runs the tests is the superuser; others act through `HADOOP_USER_NAME`). `properties`
    are added to hdfs-site.xml. With `full` the DataNode has no room for a single block.
    """

    def __init__(
        self,
        folder: Path,
        permissions: bool = False,
        properties: Mapping[str, str] | None = None,
        full: bool = False,
    ) -> None:
        self._full = full
        reserved = {"dfs.datanode.du.reserved": str(1 << 60)} if full else {}
        enabled = {"dfs.permissions.enabled": str(permissions).lower()}
        self._properties = enabled | dict(properties or {}) | reserved
        self.namenode = ServiceProcess("namenode", [], folder)
        self.datanode = ServiceProcess("datanode", [], folder)
        super().__init__(folder, [self.datanode, self.namenode], ports=5)

    @property
    def namenode_url(self) -> str:
        """`hdfs://127.0.0.1:port`, no slash at the end."""
        return f"hdfs://127.0.0.1:{self._ports[0]}"

    @property
    def client_properties(self) -> dict[str, str]:
        """What hdfs-native is given beside the URL."""
        return dict(CLIENT_PROPERTIES)

    @property
    def site_properties(self) -> dict[str, str]:
        """What a Java client (Hive, Spark) needs in its site files."""
        return {"fs.defaultFS": self.namenode_url, "dfs.replication": "1"}

    def client(self) -> Client:
        """A new hdfs-native client."""
        return Client(self.namenode_url, self.client_properties)

    def start_namenode(self, wait: bool = True) -> None:
        """Start the NameNode; with `wait`, until it is out of safe mode (it needs its DataNode for that)."""
        self.namenode.start()
        if wait:
            self.namenode.wait_until(lambda: namenode_state.is_operational(self._ports[1], 1))

    def start_datanode(self) -> None:
        """Start the DataNode and wait until it has registered with a NameNode that is out of safe mode."""
        self.datanode.start()
        self.datanode.wait_until(self._is_ready)

    def rpc_counts(self) -> dict[str, int]:
        """How often the NameNode has served each call since its start, by its name in JMX (`Create`, `Rename2`)."""
        bean = namenode_state.bean(self._ports[1], f"RpcDetailedActivityForPort{self._ports[0]}")
        end = "NumOps"
        return {k.removesuffix(end): v for k, v in bean.items() if k.endswith(end) and isinstance(v, int)}

    def set_quota(self, path: str, names: int | None = None, space_bytes: int | None = None) -> None:
        """Limit a directory: count of names below it (and itself), and bytes of its files times replication."""
        if names is not None:
            self.dfsadmin("-setQuota", str(names), path)
        if space_bytes is not None:
            self.dfsadmin("-setSpaceQuota", str(space_bytes), path)

    def clear_quota(self, path: str) -> None:
        """Take the limit of names of a directory away."""
        self.dfsadmin("-clrQuota", path)

    def dfsadmin(self, *arguments: str) -> str:
        """Run `hdfs dfsadmin` (one JVM, about a second) and give what it prints."""
        command = [*hadoop_command(self.folder), "org.apache.hadoop.hdfs.tools.DFSAdmin", *arguments]
        return run_to_end("dfsadmin", command, self.folder)

    def erasure_code(self, path: str, policy: str = "RS-3-2-1024k") -> None:
        """Have a directory's new files erasure-coded; `policy` "replicate" ends that."""
        if policy == "replicate":
            self._ec("-setPolicy", "-replicate", "-path", path)
            return
        self._ec("-enablePolicy", "-policy", policy)
        self._ec("-setPolicy", "-policy", policy, "-path", path)

    def _ec(self, *arguments: str) -> str:
        command = [*hadoop_command(self.folder), "org.apache.hadoop.hdfs.tools.ECAdmin", *arguments]
        return run_to_end("ec", command, self.folder)

    def _configure(self) -> None:
        _, http, *datanode_ports = self._ports
        storage = self.folder / "data" / "nn"
        own = {
            "dfs.namenode.name.dir": storage.as_uri(),
            "dfs.namenode.http-address": f"127.0.0.1:{http}",
        }
        core = {"ipc.client.connect.max.retries": "5"}
        write_configuration(self.folder, self.namenode_url, datanode_ports, core, own | self._properties)
        run = hadoop_command(self.folder)
        self.namenode.command = [*run, NAMENODE]
        self.datanode.command = [*run, DATANODE]
        formatting = [*run, NAMENODE, "-format", "-nonInteractive"]
        formatted("namenode", storage, lambda: run_to_end("namenode format", formatting, self.folder))

    def _launch(self) -> None:
        self.start_namenode(wait=False)
        self.start_datanode()

    def _is_ready(self) -> bool:
        if not self.namenode.is_running:
            self.namenode.wait_until(lambda: False)  # raises with its output
        # in this order: room counted before it registered may have been its predecessor's
        return self.datanode.said(DATANODE_REGISTERED) and namenode_state.is_operational(
            self._ports[1], 1, with_room=not self._full
        )
