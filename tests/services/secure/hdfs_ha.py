"""A real HDFS with two NameNodes in the realm: NameNodes, DataNode and JournalNode with Kerberos."""

from collections.abc import Mapping
from pathlib import Path

from hdfs_native import Client

from tests.services.hdfs_ha import HdfsHa
from tests.services.secure.hdfs import kerberos_properties
from tests.services.secure.kdc import Kdc


class SecureHdfsHa(HdfsHa):
    """As `HdfsHa`; `hdfs` of the realm is its superuser, and everybody may write to `/`."""

    def __init__(self, folder: Path, kdc: Kdc, protection: Mapping[str, str]) -> None:
        self._kdc, self._protection = kdc, dict(protection)
        self._tickets = folder / "administrator"
        core, own = kerberos_properties(kdc, protection)
        journal = {
            "dfs.journalnode.kerberos.principal": kdc.principal("hdfs/localhost"),
            "dfs.journalnode.keytab.file": str(kdc.keytab("hdfs/localhost")),
            "dfs.journalnode.kerberos.internal.spnego.principal": kdc.principal("HTTP/localhost"),
            "dfs.permissions.enabled": "true",
        }
        environment = {"KRB5CCNAME": f"FILE:{self._tickets}"}
        super().__init__(folder, core, own | journal, (kdc.java_option,), environment)

    @property
    def client_properties(self) -> dict[str, str]:
        """What hdfs-native is given beside the URL and who it is."""
        return {
            **super().client_properties,
            "dfs.data.transfer.protection": self._protection["dfs.data.transfer.protection"],
            "hadoop.security.authentication": "kerberos",
        }

    @property
    def site_properties(self) -> dict[str, str]:
        """What a Java client needs in its site files."""
        return {
            **super().site_properties,
            "hadoop.security.authentication": "kerberos",
            "dfs.namenode.kerberos.principal": self._kdc.principal("hdfs/localhost"),
            **self._protection,
        }

    def client(self, name: str = "hdfs/localhost") -> Client:
        """A new hdfs-native client as this principal."""
        return Client(
            self.namenode_url,
            self.client_properties,
            kerberos_principal=self._kdc.principal(name),
            kerberos_keytab=str(self._kdc.keytab(name)),
        )

    def _launch(self) -> None:
        self._kdc.ticket_cache("hdfs/localhost", self._tickets)
        super()._launch()
        self.client().set_permission("/", 0o777)
