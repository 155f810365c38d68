"""A real HDFS: one NameNode and one DataNode."""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from hdfs_native import Client

from tests.services import namenode_state
from tests.services.hadoop_files import (
    CLIENT_PROPERTIES,
    DAEMON_PROPERTIES,
    DATANODE_REGISTERED,
    write_daemon_files,
    write_site,
)
from tests.services.java_service import JavaService, run_to_end, start_on_free_ports
from tests.services.jvm import java_command
from tests.services.ports import free_ports

_NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
_DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"


class Hdfs:
    """HDFS on 127.0.0.1 with its data in `folder`.

    `permissions=True` enforces owners and modes (the user who runs the tests is the superuser; others act through
    `HADOOP_USER_NAME`). `properties` are added to hdfs-site.xml. `namenode` and `datanode` are the processes, to
    be killed, suspended and so on; after `kill` or `terminate` of one, `start_namenode`/`start_datanode` brings it
    back with its data at the same port. With `full` the DataNode has no room for a single block.
    """

    def __init__(
        self,
        folder: Path,
        permissions: bool = False,
        properties: Mapping[str, str] | None = None,
        full: bool = False,
    ):
        self.folder = folder
        self._full = full
        self._permissions = permissions
        self._properties = dict(properties or {}) | (
            {"dfs.datanode.du.reserved": str(1 << 60)} if full else {}
        )
        self.namenode = JavaService("namenode", [], folder)
        self.datanode = JavaService("datanode", [], folder)
        self._rpc_port = self._http_port = 0

    @property
    def namenode_url(self) -> str:
        """`hdfs://127.0.0.1:port`, no slash at the end."""
        return f"hdfs://127.0.0.1:{self._rpc_port}"

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

    def start(self) -> None:
        """Start both and wait until blocks can be written; formats the NameNode the first time."""
        if self._rpc_port:
            self.start_namenode(wait=False)
            self.start_datanode()
        else:
            start_on_free_ports(self._start_somewhere)

    def stop(self) -> None:
        """End both cleanly; the data stays."""
        self.datanode.terminate()
        self.namenode.terminate()

    def start_namenode(self, wait: bool = True) -> None:
        """Start the NameNode; with `wait`, until it is out of safe mode (it needs its DataNode for that)."""
        self.namenode.start()
        if wait:
            self.namenode.wait_until(lambda: namenode_state.is_operational(self._http_port, 1))

    def start_datanode(self) -> None:
        """Start the DataNode and wait until it has registered with a NameNode that is out of safe mode."""
        self.datanode.start()
        self.datanode.wait_until(self._is_ready)

    def rpc_counts(self) -> dict[str, int]:
        """How often the NameNode has served each call since its start, by its name in JMX (`Create`, `Rename2`)."""
        bean = namenode_state.bean(self._http_port, f"RpcDetailedActivityForPort{self._rpc_port}")
        end = "NumOps"
        return {k.removesuffix(end): v for k, v in bean.items() if k.endswith(end) and isinstance(v, int)}

    def set_quota(self, path: str, names: int | None = None, space_bytes: int | None = None) -> None:
        """Limit a directory: count of names below it (and itself), and bytes of its files times replication."""
        if names is not None:
            self.dfsadmin("-setQuota", str(names), path)
        if space_bytes is not None:
            self.dfsadmin("-setSpaceQuota", str(space_bytes), path)

    def clear_quota(self, path: str) -> None:
        """Take a directory's limit of names away."""
        self.dfsadmin("-clrQuota", path)

    def dfsadmin(self, *arguments: str) -> str:
        """Run `hdfs dfsadmin` (one JVM, about a second) and give what it prints."""
        command = [*self._java(), "org.apache.hadoop.hdfs.tools.DFSAdmin", *arguments]
        return run_to_end("dfsadmin", command, self.folder)

    def __enter__(self) -> "Hdfs":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _java(self) -> list[str]:
        return java_command("hdfs", 256, f"-Dhadoop.home.dir={self.folder}")

    def _start_somewhere(self) -> None:
        self._write_configuration()
        self.namenode.command = [*self._java(), _NAMENODE]
        self.datanode.command = [*self._java(), _DATANODE]
        if not (self.folder / "data" / "nn" / "current").exists():
            run_to_end(
                "namenode format", [*self._java(), _NAMENODE, "-format", "-nonInteractive"], self.folder
            )
        try:
            self.start_namenode(wait=False)
            self.start_datanode()
        except Exception:
            self.namenode.kill()
            self.datanode.kill()
            self._rpc_port = 0
            raise

    def _is_ready(self) -> bool:
        if not self.namenode.is_running:
            self.namenode.wait_until(lambda: False)  # raises with its output
        # in this order: room counted before it registered may have been its predecessor's
        return self.datanode.said(DATANODE_REGISTERED) and namenode_state.is_operational(
            self._http_port, 1, with_room=not self._full
        )

    def _write_configuration(self) -> None:
        self._rpc_port, self._http_port, data, ipc, http = free_ports(5)
        conf = self.folder / "conf"
        write_daemon_files(conf)
        write_site(
            conf / "core-site.xml",
            {
                "fs.defaultFS": self.namenode_url,
                "hadoop.tmp.dir": f"{self.folder}/data",
                "ipc.client.connect.max.retries": "5",
            },
        )
        write_site(
            conf / "hdfs-site.xml",
            {
                "dfs.namenode.name.dir": f"file://{self.folder}/data/nn",
                "dfs.datanode.data.dir": f"file://{self.folder}/data/dn",
                "dfs.namenode.http-address": f"127.0.0.1:{self._http_port}",
                "dfs.datanode.address": f"127.0.0.1:{data}",
                "dfs.datanode.ipc.address": f"127.0.0.1:{ipc}",
                "dfs.datanode.http.address": f"127.0.0.1:{http}",
                "dfs.permissions.enabled": str(self._permissions).lower(),
                **DAEMON_PROPERTIES,
                **self._properties,
            },
        )
