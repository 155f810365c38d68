"""Logins to a real HiveServer2: Kerberos at each protection, and LDAP over TLS; each refusal with its own words."""

import re
from dataclasses import replace

import pytest

from kafka2hive.config.keys import HiveOptions
from kafka2hive.hive.session import HiveSession, log_in
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.metastore import HiveLoginRefused
from tests.integration import documented
from tests.integration.secure_map import hive_options
from tests.services.secure.hive import LDAP_PASSWORD, Ldap, SecureHive
from tests.services.secure.kdc import Kdc

LONG = "x" * 300_000


def rows(options: HiveOptions, statement: str = "select 1") -> list[tuple[object, ...]]:
    session = HiveSession(options)
    try:
        log_in(options)
        return session.run(statement)
    finally:
        session.close()


def refusal(options: HiveOptions) -> str:
    with pytest.raises(HiveLoginRefused) as caught:
        rows(options)
    with pytest.raises(HiveLoginRefused, match=re.escape(str(caught.value))):
        HiveSession(options).run("select 1")
    assert documented.exit_code(caught.value.code, str(caught.value)) == 69
    return str(caught.value)


@pytest.mark.timeout(3600)
def test_a_password_over_tls_and_each_refusal(
    by_password: HiveOptions, secure_hive: SecureHive, ldap: Ldap
) -> None:
    assert rows(by_password, f"select '{LONG}'") == [(LONG,)]
    for wrong in (replace(by_password, password="wrong-4711"), replace(by_password, user="nobody")):
        told = refusal(wrong)
        assert f"refuses user {wrong.user}" in told and "hive.password" in told
        assert "4711" not in told
    assert "hive.url must name the host as the certificate does" in refusal(
        replace(by_password, host="127.0.0.1")
    )
    for foreign in (secure_hive.stranger, None):
        told = refusal(replace(by_password, ca_file=foreign))
        assert "TLS: " in told and "name its authority as hive.ca_file" in told
    with pytest.raises(ConfigError, match=r"hive.ca_file"):
        rows(replace(by_password, ca_file="/nowhere/ca.pem"))
    ldap.kill()
    try:
        assert "refuses user etl" in refusal(by_password)
    finally:
        ldap.start()


@pytest.mark.timeout(3600)
def test_kerberos_tells_what_is_wrong(kdc: Kdc, secure_hive: SecureHive) -> None:
    good = hive_options(kdc, secure_hive)
    for wrong in (replace(good, service="hs2"), replace(good, host="127.0.0.1")):
        assert "not found in Kerberos database: the KDC has no such service" in refusal(wrong)
    assert "refuses the ticket" in refusal(replace(good, service="kafka"))
    assert "does the server speak TLS" in refusal(replace(good, ssl=True))
    # a server of tickets is asked with a password
    assert "does not accept auth=LDAP" in refusal(replace(good, auth="LDAP", password=LDAP_PASSWORD))


@pytest.mark.timeout(3600)
def test_each_protection_carries_statements_and_no_other_is_taken_for_it(
    kdc: Kdc, secure_hive: SecureHive, unique: str
) -> None:
    """Long and short frames both ways: a table altered and described. Then what is asked for in vain."""
    encrypting = hive_options(kdc, secure_hive)
    offered = {qop: replace(encrypting, port=secure_hive.port_of(qop)) for qop in ("auth", "auth-int")}
    offered["auth-conf"] = encrypting
    rows(encrypting, f"create database {unique}")
    rows(encrypting, f"create external table {unique}.t (a int) partitioned by (dt string) stored as parquet")
    for number, (qop, options) in enumerate(offered.items()):
        for asked in (
            replace(options, qop=qop),
            options,
        ):  # said in the map, or the strongest that is offered
            assert rows(asked, f"select '{LONG}'") == [(LONG,)]
            rows(asked, f"alter table {unique}.t add if not exists partition (dt='{number}')")
            described = rows(asked, f"describe {unique}.t")
            assert ("a", "int") in {(name, kind) for name, kind, *_ in described}
        for other in offered.keys() - {qop}:
            told = refusal(replace(options, qop=other))
            assert f"the server offers the protection {qop}, the map asks for {other}" in told
            assert "hive.server2.thrift.sasl.qop" in told
    assert rows(encrypting, f"show partitions {unique}.t") == [("dt=0",), ("dt=1",), ("dt=2",)]
