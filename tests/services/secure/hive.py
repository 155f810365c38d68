"""A real HiveServer2 with Kerberos at each protection, and with passwords of an LDAP directory over TLS."""

from collections.abc import Mapping
from pathlib import Path

from tests.services.certificates import authority, pkcs12
from tests.services.hive_server import HiveServer
from tests.services.jvm import java_command
from tests.services.ports import accepts
from tests.services.secure.kdc import Kdc
from tests.services.service import Service
from tests.services.service_process import ServiceProcess

LDAP = "LDAP"
LDAP_USER, LDAP_PASSWORD = "etl", "etl-secret-4711"
_KEYSTORE_PASSWORD = "changeit"
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


class SecureHive(HiveServer):
    """HiveServer2 as `hive/localhost` of the realm: clients ask for `localhost`, never for an address.

    Four servers in one JVM over one metastore, since a start is dear: `port` encrypts (auth-conf), `port_of` gives those
    that sign (auth-int) and that protect nothing (auth), and `LDAP`, where users of the directory log in over TLS: `trust`
    is the authority of its certificate, which is for `localhost` alone, `stranger` another one.
    """

    def __init__(self, folder: Path, site_properties: Mapping[str, str], kdc: Kdc, ldap: "Ldap") -> None:
        trusted = authority(folder / "tls", "ca")
        self.trust = trusted.file
        self.stranger = authority(folder / "tls", "stranger").file
        keystore = pkcs12(trusted.issue("server", hosts="DNS:localhost"), _KEYSTORE_PASSWORD)
        own = {
            "hive.server2.authentication": "KERBEROS",
            "hive.server2.authentication.kerberos.principal": kdc.principal("hive/localhost"),
            "hive.server2.authentication.kerberos.keytab": str(kdc.keytab("hive/localhost")),
            "hive.server2.authentication.ldap.url": ldap.url,
            "hive.server2.authentication.ldap.userDNPattern": f"uid=%s,ou=people,{_BASE}",
            "hive.server2.thrift.sasl.qop": "auth-conf",
            "hive.metastore.sasl.enabled": "false",
        }
        tls = {
            "hive.server2.use.SSL": "true",
            "hive.server2.keystore.path": keystore,
            "hive.server2.keystore.password": _KEYSTORE_PASSWORD,
            "hive.server2.keystore.type": "PKCS12",
        }
        self._beside = {
            "auth-int": {"hive.server2.thrift.sasl.qop": "auth-int"},
            "auth": {"hive.server2.thrift.sasl.qop": "auth"},
            LDAP: {"hive.server2.authentication": "LDAP", **tls},
        }
        java = (kdc.java_option, "-Djavax.security.auth.useSubjectCredsOnly=false")
        # Hive asks HDFS for a token, and a token wants somebody to renew it: any principal will do
        site = {**site_properties, "yarn.resourcemanager.principal": kdc.principal("hive/localhost")}
        super().__init__(folder, site, own, java, ports=1 + len(self._beside))

    def port_of(self, kind: str) -> int:
        """Of `auth-int`, `auth` or `LDAP`."""
        return dict(zip(self._beside, self._ports[1:], strict=True))[kind]

    def _main(self) -> list[str]:
        beside = (
            {"hive.server2.thrift.port": str(self.port_of(kind)), **properties}
            for kind, properties in self._beside.items()
        )
        return ["HiveServers", *("\n".join(f"{k}={v}" for k, v in own.items()) for own in beside)]


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
