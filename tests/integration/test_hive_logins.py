"""Logins to a real HiveServer2: Kerberos, encrypted, and LDAP over TLS; each refusal with its own words."""

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kafka2hive.config.values import HiveOptions
from kafka2hive.hive.session import HiveSession
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.metastore import HiveLoginRefused
from tests.integration.secure_map import hive_options, options_of
from tests.services.secure.hive import LDAP_PASSWORD, Ldap
from tests.services.secure.tls import Certificates

if TYPE_CHECKING:
    from tests.services.hive_server import HiveServer
    from tests.services.secure.kdc import Kdc

LONG = "x" * 300_000


def rows(options: HiveOptions, statement: str = "select 1") -> list[tuple[object, ...]]:
    session = HiveSession(options)
    try:
        return session.run(statement)
    finally:
        session.close()


def refusal(options: HiveOptions) -> str:
    with pytest.raises(HiveLoginRefused) as caught:
        rows(options)
    return str(caught.value)


@pytest.mark.timeout(600)
def test_a_password_over_tls_and_each_refusal(
    by_password: HiveOptions, certificates: Certificates, ldap: Ldap
) -> None:
    assert rows(by_password, f"select '{LONG}'") == [(LONG,)]
    for wrong in (replace(by_password, password="wrong-4711"), replace(by_password, user="nobody")):
        told = refusal(wrong)
        assert f"refuses user {wrong.user}" in told and "hive.password" in told
        assert "4711" not in told
    assert "hive.url must name the host as the certificate does" in refusal(
        replace(by_password, host="127.0.0.1")
    )
    for foreign in (str(certificates.stranger), None):
        told = refusal(replace(by_password, ca_file=foreign))
        assert "TLS: " in told and "name its authority as hive.ca_file" in told
    with pytest.raises(ConfigError, match=r"hive.ca_file"):
        rows(replace(by_password, ca_file="/nowhere/ca.pem"))
    ldap.kill()
    try:
        assert "refuses user etl" in refusal(by_password)
    finally:
        ldap.start()


@pytest.mark.timeout(600)
def test_kerberos_encrypts_and_tells_what_is_wrong(
    kdc: "Kdc", secure_hive: "HiveServer", by_password: HiveOptions
) -> None:
    good = hive_options(kdc, secure_hive)
    assert rows(good, f"select '{LONG}'") == [(LONG,)]
    assert rows(replace(good, qop="auth-conf")) == [(1,)]
    for weaker in ("auth", "auth-int"):
        told = refusal(replace(good, qop=weaker))
        assert f"the server offers the protection auth-conf, the map asks for {weaker}" in told
    for wrong in (replace(good, service="hs2"), replace(good, host="127.0.0.1")):
        assert "not found in Kerberos database: the KDC has no such service" in refusal(wrong)
    other_realm = replace(options_of(kdc), principal="etl@OTHER.TEST")
    assert "Kerberos login failed" in refusal(replace(good, kerberos=other_realm))
    assert "refuses the ticket" in refusal(replace(good, service="kafka"))
    assert "does the server speak TLS" in refusal(replace(good, ssl=True))
    # each server is asked for the other's way to log in
    assert "does not take auth=LDAP" in refusal(replace(good, auth="LDAP", password=LDAP_PASSWORD))
    asked = replace(by_password, auth="KERBEROS", password=None, kerberos=options_of(kdc))
    assert "does not take auth=KERBEROS" in refusal(asked)
