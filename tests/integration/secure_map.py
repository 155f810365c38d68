"""Sections of a map for services in the tests' realm, and the logins that the tests try."""

from typing import Any

from kafka2hive.config.values import HiveOptions, KerberosOptions
from tests.harness.scenario import Storage
from tests.oracle.tree import HdfsTree
from tests.services.hive_server import HiveServer
from tests.services.secure.hdfs import SecureHdfs
from tests.services.secure.kdc import Kdc


def login(kdc: Kdc, name: str = "etl") -> dict[str, str]:
    """The section `kerberos`."""
    return {"principal": kdc.principal(name), "keytab": str(kdc.keytab(name))}


def options_of(kdc: Kdc, name: str = "etl") -> KerberosOptions:
    """The same as the program's value."""
    return KerberosOptions(**login(kdc, name))


def on_secure_hdfs(hdfs: SecureHdfs, name: str) -> Storage:
    """`/name`, as the superuser sees it."""
    return Storage(f"{hdfs.namenode_url}/{name}", HdfsTree(hdfs.client()), hdfs.client_properties)


def secure_sections(kdc: Kdc, hdfs: SecureHdfs, hive: HiveServer, name: str = "etl") -> dict[str, Any]:
    """Kerberos for HDFS and Hive."""
    return {
        "kerberos": login(kdc, name),
        "hive": {"url": f"hive://localhost:{hive.port}/default?auth=KERBEROS", "timeout": "30s"},
    }


def hive_options(kdc: Kdc, hive: HiveServer, name: str = "etl") -> HiveOptions:
    """A login to Hive as the map's sections make it."""
    return HiveOptions("localhost", hive.port, "me", None, "KERBEROS", 60.0, kerberos=options_of(kdc, name))
