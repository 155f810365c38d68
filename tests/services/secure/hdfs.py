"""A real HDFS in the realm: NameNode and DataNode with Kerberos, and data encrypted on its way."""

from collections.abc import Mapping
from pathlib import Path

from hdfs_native import Client

from tests.services.hadoop_files import (
    DATANODE,
    DATANODE_REGISTERED,
    NAMENODE,
    hadoop_command,
    write_configuration,
)
from tests.services.secure.kdc import Kdc
from tests.services.service import Service, formatted
from tests.services.service_process import ServiceProcess, run_to_end

PRIVACY = {
    "dfs.data.transfer.protection": "privacy",
    "dfs.encrypt.data.transfer.cipher.suites": "AES/CTR/NoPadding",
    "hadoop.rpc.protection": "privacy",
}


class SecureHdfs(Service):
    """Its processes are `namenode` and `datanode`, as those of `Hdfs`; `hdfs` of the realm is its superuser.

    `protection`: Hadoop's keys for data and calls on their way. Everybody may write to `/`. `KRB5_CONFIG` must name the
    realm in this process, too: it tries HDFS as a client.
    """

    def __init__(self, folder: Path, kdc: Kdc, protection: Mapping[str, str] = PRIVACY) -> None:
        self._kdc = kdc
        self._protection = dict(protection)
        self.namenode = ServiceProcess("namenode", [], folder)
        self.datanode = ServiceProcess("datanode", [], folder)
        super().__init__(folder, [self.datanode, self.namenode], ports=5)

    @property
    def namenode_url(self) -> str:
        """`hdfs://localhost:port`: the host is the one in the NameNode's principal."""
        return f"hdfs://localhost:{self._ports[0]}"

    @property
    def config_dir(self) -> Path:
        """With core-site.xml and hdfs-site.xml."""
        return self.folder / "conf"

    @property
    def client_properties(self) -> dict[str, str]:
        """What a client is told beside the URL and who it is."""
        return {"dfs.data.transfer.protection": self._protection["dfs.data.transfer.protection"]}

    @property
    def site_properties(self) -> dict[str, str]:
        """What a Java client (Hive) needs in its site files."""
        return {
            "fs.defaultFS": self.namenode_url,
            "dfs.replication": "1",
            "hadoop.security.authentication": "kerberos",
            "hadoop.rpc.protection": self._protection.get("hadoop.rpc.protection", "authentication"),
            "dfs.namenode.kerberos.principal": self._kdc.principal("hdfs/localhost"),
            **self.client_properties,
        }

    def client(self, name: str = "hdfs/localhost") -> Client:
        """A new hdfs-native client as this principal; `KRB5_CONFIG` names the realm."""
        properties = {
            **self.client_properties,
            "hadoop.security.authentication": "kerberos",
            "dfs.client.failover.max.attempts": "60",
            "dfs.client.failover.sleep.base.millis": "50",
            "dfs.client.failover.sleep.max.millis": "1000",
        }
        return Client(
            self.namenode_url,
            properties,
            kerberos_principal=self._kdc.principal(name),
            kerberos_keytab=str(self._kdc.keytab(name)),
        )

    def start_namenode(self) -> None:
        """Start the NameNode and wait until it serves and its DataNode is there."""
        self.namenode.start()
        self.namenode.wait_until(self._serves)

    def fetch_token(self, name: str, file: Path) -> None:
        """Write a delegation token of this principal into a file, as `HADOOP_TOKEN_FILE_LOCATION` names it."""
        cache = file.with_suffix(".cache")
        self._kdc.ticket_cache(name, cache)
        tool = "org.apache.hadoop.hdfs.tools.DelegationTokenFetcher"
        run = [*self._java(), tool, "--renewer", "hdfs", str(file)]
        run_to_end("token", ["/usr/bin/env", f"KRB5CCNAME=FILE:{cache}", *run], self.folder)

    def cancel_token(self, file: Path) -> None:
        """The token of a file is worth nothing from now on."""
        tool = "org.apache.hadoop.hdfs.tools.DelegationTokenFetcher"
        cache = file.with_suffix(".cache")
        run = [*self._java(), tool, "--cancel", str(file)]
        run_to_end("token", ["/usr/bin/env", f"KRB5CCNAME=FILE:{cache}", *run], self.folder)

    def _java(self) -> list[str]:
        return hadoop_command(self.folder, self._kdc.java_option)

    def _configure(self) -> None:
        _, http, *datanode_ports = self._ports
        storage = self.folder / "data" / "nn"
        own = {
            "dfs.namenode.name.dir": storage.as_uri(),
            "dfs.namenode.http-address": f"localhost:{http}",
            "dfs.datanode.hostname": "localhost",
        }
        core, secured = kerberos_properties(self._kdc, self._protection)
        write_configuration(
            self.folder,
            self.namenode_url,
            datanode_ports,
            {"ipc.client.connect.max.retries": "5"} | core,
            own | secured,
        )
        run = self._java()
        self.namenode.command = [*run, NAMENODE]
        self.datanode.command = [*run, DATANODE]
        formatting = [*run, NAMENODE, "-format", "-nonInteractive"]
        formatted("secure namenode", storage, lambda: run_to_end("format", formatting, self.folder))

    def _launch(self) -> None:
        self.namenode.start()
        self.datanode.start()
        self.datanode.wait_until(lambda: self.namenode.is_running and self.datanode.said(DATANODE_REGISTERED))
        self.namenode.wait_until(self._serves)
        self.client().set_permission("/", 0o777)

    def _serves(self) -> bool:
        """Its JMX asks for a ticket, so a client tries: safe mode is over, and a DataNode takes data."""
        try:
            with self.client().create("/_serves") as file:
                file.write(b"?")
            return bool(self.client().delete("/_serves"))
        except (OSError, RuntimeError):
            return False


def kerberos_properties(kdc: Kdc, protection: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What the site files core and hdfs of an HDFS in the realm have beside those of any other."""
    keytab, principal = str(kdc.keytab("hdfs/localhost")), kdc.principal("hdfs/localhost")
    core = {
        "hadoop.security.authentication": "kerberos",
        "hadoop.security.authorization": "true",
        "hadoop.rpc.protection": protection.get("hadoop.rpc.protection", "authentication"),
    }
    own = {
        "dfs.namenode.kerberos.principal": principal,
        "dfs.namenode.keytab.file": keytab,
        "dfs.datanode.kerberos.principal": principal,
        "dfs.datanode.keytab.file": keytab,
        "dfs.web.authentication.kerberos.principal": kdc.principal("HTTP/localhost"),
        "dfs.web.authentication.kerberos.keytab": str(kdc.keytab("HTTP/localhost")),
        "dfs.block.access.token.enable": "true",
        "dfs.permissions.superusergroup": "hdfs",
        # a DataNode without privileges: what it needs TLS for is shown elsewhere
        "ignore.secure.ports.for.testing": "true",
    }
    return core, own | dict(protection)
