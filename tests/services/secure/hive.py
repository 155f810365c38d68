"""A real HiveServer2 with Kerberos, or with passwords of an LDAP directory; with TLS where it is given a key store."""

from collections.abc import Mapping
from pathlib import Path

from tests.services.hive_server import HiveServer
from tests.services.jvm import java_command
from tests.services.ports import accepts
from tests.services.secure.kdc import Kdc
from tests.services.secure.tls import PASSWORD
from tests.services.service import Service
from tests.services.service_process import ServiceProcess

LDAP_USER, LDAP_PASSWORD = "etl", "etl-secret-4711"
_BASE = "dc=k2h,dc=test"
_USERS = f"""dn: {_BASE}
objectClass: top
objectClass: domain
dc: k2h

dn: ou=people,{_BASE}
objectClass: organizationalUnit
ou: people

dn: uid={LDAP_USER},ou=people,{_BASE}
objectClass: inetOrgPerson
uid: {LDAP_USER}
cn: {LDAP_USER}
sn: {LDAP_USER}
userPassword: {LDAP_PASSWORD}
"""


def kerberised_hive(
    folder: Path,
    site_properties: Mapping[str, str],
    kdc: Kdc,
    qop: str = "auth-conf",
    keystore: Path | None = None,
) -> HiveServer:
    """As `hive/localhost` of the realm: clients ask for `localhost`, never for an address."""
    own = {
        "hive.server2.authentication": "KERBEROS",
        "hive.server2.authentication.kerberos.principal": kdc.principal("hive/localhost"),
        "hive.server2.authentication.kerberos.keytab": str(kdc.keytab("hive/localhost")),
        "hive.server2.thrift.sasl.qop": qop,
        "hive.metastore.sasl.enabled": "false",
        **_tls(keystore),
    }
    java = (kdc.java_option, "-Djavax.security.auth.useSubjectCredsOnly=false")
    # Hive asks HDFS for a token, and a token wants somebody to renew it: any principal will do
    site = {**site_properties, "yarn.resourcemanager.principal": kdc.principal("hive/localhost")}
    return HiveServer(folder, site, own, java)


def hive_with_ldap(
    folder: Path, site_properties: Mapping[str, str], ldap: "Ldap", keystore: Path | None = None
) -> HiveServer:
    """Users of the directory log in with their passwords."""
    own = {
        "hive.server2.authentication": "LDAP",
        "hive.server2.authentication.ldap.url": ldap.url,
        "hive.server2.authentication.ldap.userDNPattern": f"uid=%s,ou=people,{_BASE}",
        **_tls(keystore),
    }
    return HiveServer(folder, site_properties, own)


def _tls(keystore: Path | None) -> dict[str, str]:
    if keystore is None:
        return {}
    return {
        "hive.server2.use.SSL": "true",
        "hive.server2.keystore.path": str(keystore),
        "hive.server2.keystore.password": PASSWORD,
        "hive.server2.keystore.type": "PKCS12",
    }


class Ldap(Service):
    """A directory in memory with one user."""

    def __init__(self, folder: Path) -> None:
        self.service = ServiceProcess("ldap", [], folder)
        super().__init__(folder, [self.service], ports=1)

    @property
    def url(self) -> str:
        """`ldap://127.0.0.1:port`."""
        return f"ldap://127.0.0.1:{self._ports[0]}"

    def _configure(self) -> None:
        users = self.folder / "users.ldif"
        users.write_text(_USERS)
        self.service.command = [
            *java_command("ldap", 64),
            "com.unboundid.ldap.listener.InMemoryDirectoryServerTool",
            *("--baseDN", _BASE, "--port", str(self._ports[0]), "--ldifFile", str(users)),
        ]

    def _launch(self) -> None:
        self.service.start()
        self.service.wait_until(lambda: accepts(self._ports[0]))
