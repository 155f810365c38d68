"""HiveServer2's HTTP transport: a password over TLS, a ticket of Kerberos, and each refusal with its own words.

Not a part of `scripts/test`, which starts neither of these servers; `scripts/drill` runs it.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.config.keys import HiveOptions
from kafka2hive.hive.session import HiveSession
from kafka2hive.model.metastore import HiveLoginRefused
from tests.integration.secure_map import options_of
from tests.services.certificates import authority, pkcs12
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.jars import jars
from tests.services.ports import accepts
from tests.services.secure.hdfs import SecureHdfs
from tests.services.secure.hive import LDAP_PASSWORD, LDAP_USER, Ldap
from tests.services.secure.kdc import Kdc


class HttpHive(HiveServer):
    """HiveServer2 over HTTP, too: at `http_port`."""

    def __init__(
        self, folder: Path, site: Mapping[str, str], own: Mapping[str, str], options: tuple[str, ...] = ()
    ) -> None:
        super().__init__(folder, site, own, options, ports=2)

    @property
    def http_port(self) -> int:
        return self._ports[1]

    def _configure(self) -> None:
        self._properties |= {
            "hive.server2.transport.mode": "all",
            "hive.server2.thrift.http.port": str(self.http_port),
        }
        super()._configure()
        place = self.service.command.index("-cp") + 1
        self.service.command[place] += f":{jars('hive-http')}"

    def _launch(self) -> None:
        super()._launch()
        self.service.wait_until(lambda: accepts(self.http_port))


LONG = "x" * 300_000


def rows(options: HiveOptions, *statements: str) -> list[tuple[object, ...]]:
    session = HiveSession(options)
    try:
        return session.run(*statements)
    finally:
        session.close()


def refusal(options: HiveOptions) -> str:
    with pytest.raises(HiveLoginRefused) as caught:
        rows(options, "select 1")
    assert "4711" not in str(caught.value)
    return str(caught.value)


def test_a_password_over_tls(hdfs: Hdfs, tmp_path: Path, unique: str) -> None:
    trusted = authority(tmp_path / "tls", "ca")
    with Ldap(tmp_path / "ldap") as ldap:
        own = {
            "hive.server2.authentication": "LDAP",
            "hive.server2.authentication.ldap.url": ldap.url,
            "hive.server2.authentication.ldap.userDNPattern": "uid=%s,ou=people,dc=k2h,dc=test",
            "hive.server2.use.SSL": "true",
            "hive.server2.keystore.path": pkcs12(trusted.issue("server", hosts="DNS:localhost"), "changeit"),
            "hive.server2.keystore.password": "changeit",
            "hive.server2.keystore.type": "PKCS12",
        }
        with HttpHive(tmp_path / "hive", hdfs.site_properties, own) as server:
            good = HiveOptions(
                *("localhost", server.http_port, LDAP_USER, LDAP_PASSWORD, "LDAP", 60.0),
                ssl=True,
                ca_file=str(trusted.file),
                http_path="cliservice",
            )
            assert rows(good, f"select '{LONG}'") == [(LONG,)]
            made = f"create database {unique}", f"create table {unique}.t (a int)", f"show tables in {unique}"
            assert rows(good, *made) == [("t",)]
            told = refusal(replace(good, password="wrong-4711"))
            assert "refuses user etl" in told and "HTTP 401" in told
            assert "correct http_path in hive.url" in refusal(replace(good, http_path="nowhere"))
            assert "name its authority as hive.ca_file" in refusal(replace(good, ca_file=None))
            assert "hive.url must name the host as the certificate does" in refusal(
                replace(good, host="127.0.0.1")
            )


def test_a_ticket_of_kerberos(kdc: Kdc, secure_hdfs: SecureHdfs, tmp_path: Path) -> None:
    own = {
        "hive.server2.authentication": "KERBEROS",
        "hive.server2.authentication.kerberos.principal": kdc.principal("hive/localhost"),
        "hive.server2.authentication.kerberos.keytab": str(kdc.keytab("hive/localhost")),
        "hive.metastore.sasl.enabled": "false",
    }
    java = (kdc.java_option, "-Djavax.security.auth.useSubjectCredsOnly=false")
    # Hive asks HDFS for a token, and a token wants somebody to renew it: any principal will do
    site = {**secure_hdfs.site_properties, "yarn.resourcemanager.principal": kdc.principal("hive/localhost")}
    with HttpHive(tmp_path, site, own, java) as server:
        login = options_of(kdc)
        good = HiveOptions(
            *("localhost", server.http_port, "me", None, "KERBEROS", 60.0),
            kerberos=login,
            http_path="cliservice",
        )
        assert rows(good, f"select '{LONG}'") == [(LONG,)]
        assert rows(good, *["select 1"] * 20) == [(1,)], "each request has a token of its own"
        assert "not found in Kerberos database" in refusal(replace(good, service="hs2"))
        assert "refuses the ticket" in refusal(replace(good, service="kafka"))
        assert "does the server speak TLS" in refusal(replace(good, ssl=True))
        assert "HTTP 401" in refusal(replace(good, auth="LDAP", password=LDAP_PASSWORD))
