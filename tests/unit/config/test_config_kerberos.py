"""The map's Kerberos options: one section for all services or one for each; contradictions are reported with their lines."""

import json

import pytest

from kafka2hive.cli.render.validate import map_values
from kafka2hive.config.keys import KerberosOptions, ServiceMap
from kafka2hive.config.load import load_text
from kafka2hive.config.yaml.problems import MapInvalid

SECTION = "kerberos: {principal: etl/worker@K2H.TEST, keytab: /etc/etl.keytab}\n"
ETL = KerberosOptions("etl/worker@K2H.TEST", "/etc/etl.keytab")
HIVE = "{url: 'hive://hive.example.com:10000?auth=KERBEROS'}"


def text_of(storage: str = "uri: hdfs://namenode:8020", hive: str = HIVE, more: str = SECTION) -> str:
    return (
        "service: flights\nkafka: {bootstrap.servers: '127.0.0.1:9092'}\n"
        f"storage: {{{storage}}}\nhive: {hive}\n{more}"
        "tables:\n  - {table: air.flights, topics: [flights], columns: {carrier: string}}\n"
    )


def loaded(text: str) -> ServiceMap:
    return load_text(text, "m", {})


def problems_of(text: str) -> list[str]:
    with pytest.raises(MapInvalid) as caught:
        load_text(text, "m", {"SECRET": "word-4711"})
    return [problem.render("m") for problem in caught.value.problems]


def test_one_section_logs_the_service_in_to_hdfs_and_hive() -> None:
    service = loaded(text_of())
    assert service.hive is not None
    assert (service.kerberos, service.storage.kerberos, service.hive.kerberos) == (ETL, ETL, ETL)
    server = service.hive.server
    assert server is not None and (server.service, server.qop, server.ssl) == ("hive", None, False)
    assert json.dumps(map_values(service)["kerberos"]) == (
        '{"principal": "etl/worker@K2H.TEST", "keytab": "/etc/etl.keytab", "cache": null}'
    )


def test_a_keytab_may_have_a_relative_path() -> None:
    service = loaded(text_of(more=SECTION.replace("/etc/etl.keytab", "keys/etl.keytab")))
    assert service.kerberos == KerberosOptions("etl/worker@K2H.TEST", "keys/etl.keytab")


def test_storage_and_hive_may_have_separate_logins() -> None:
    own = "uri: hdfs://namenode:8020, kerberos: {principal: e@K2H.TEST, cache: 'FILE:/run/cc'}"
    hive = HIVE[:-1] + ", kerberos: {principal: h@K2H.TEST, keytab: /etc/h.keytab}}"
    service = loaded(text_of(own, hive))
    assert service.hive is not None
    assert service.storage.kerberos == KerberosOptions("e@K2H.TEST", cache="FILE:/run/cc")
    assert service.hive.kerberos == KerberosOptions("h@K2H.TEST", "/etc/h.keytab")
    assert service.kerberos == ETL


def test_the_http_transport_has_its_own_port_and_path() -> None:
    for said, port, path in (
        ("", 10000, None),
        ("&transport=binary", 10000, None),
        ("&transport=http", 10001, "cliservice"),
        ("&transport=http&http_path=gateway/hive", 10001, "gateway/hive"),
    ):
        hive = loaded(text_of(hive=f"{{url: 'hive://h?auth=KERBEROS{said}'}}")).hive
        assert hive is not None and hive.server is not None
        assert (hive.server.port, hive.server.http_path) == (port, path)


def test_a_local_disk_and_a_hive_with_a_password_log_in_without_kerberos() -> None:
    hive = "{url: 'hive://etl@h:10000?auth=LDAP', password: x}"
    service = loaded(text_of("uri: 'file:///data'", hive))
    assert service.hive is not None
    assert (service.storage.kerberos, service.hive.kerberos) == (None, None)


def test_the_url_of_hive_sets_service_protection_and_tls() -> None:
    url = "'hive://h:10000?auth=KERBEROS&service=hs2&qop=auth-conf&ssl=true'"
    hive = loaded(text_of(hive=f"{{url: {url}, ca_file: /etc/ca.pem}}")).hive
    assert hive is not None and (server := hive.server) is not None
    assert (server.service, server.qop, server.ssl, server.ca_file) == (
        "hs2",
        "auth-conf",
        True,
        "/etc/ca.pem",
    )


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ("{principal: etl@K2H.TEST}", "kerberos: needs keytab or cache"),
        ("{keytab: /etc/etl.keytab}", "kerberos.principal: is required"),
        ("{principal: etl, keytab: /etc/etl.keytab}", "kerberos.principal: expected name@REALM or name/host@REALM"),
        ("{principal: etl@K2H.TEST, keytab: ~/etl.keytab}", "kerberos.keytab: expected a local path"),
        ("{principal: etl@K2H.TEST, cache: /run/cc, keytab: /k}", "kerberos.cache: excludes keytab"),
        ("{principal: etl@K2H.TEST, cache: run/cc}", "kerberos.cache: expected FILE:/path, DIR:/path, KEYRING:.. or KCM:.."),
        ("{principle: etl@K2H.TEST}", "kerberos.principle: unknown key (did you mean principal?)"),
    ],
)  # fmt: skip
def test_a_malformed_login_is_reported(section: str, problem: str) -> None:
    found = problems_of(text_of(more=f"kerberos: {section}\n"))
    assert any(problem in line for line in found), found


@pytest.mark.parametrize(
    ("hive", "problem"),
    [
        ("{url: 'hive://h?auth=NONE&transport=htpp'}", "hive.url: transport must be binary or http"),
        ("{url: 'hive://h?auth=NONE&http_path=x'}", "hive.url: http_path is used only with transport=http"),
        ("{url: 'hive://h?auth=KERBEROS&transport=http&qop=auth'}", "hive.url: qop is used only with transport=binary"),
        ("{url: 'hive://h?auth=KERBEROS&qop=conf'}", "hive.url: qop must be one of auth, auth-int, auth-conf"),
        ("{url: 'hive://h?auth=KERBEROS&service=a/b'}", "hive.url: service must be the first part"),
        ("{url: 'hive://h?auth=KERBEROS&ssl=yes'}", "hive.url: ssl must be true or false"),
        ("{url: 'hive://h?auth=NONE&qop=auth'}", "hive.url: qop is used only with auth=KERBEROS; the URL has auth=NONE"),
        ("{url: 'hive://h?auth=NONE&service=hive'}", "hive.url: service is used only with auth=KERBEROS"),
        ("{url: 'hive://me@h?auth=KERBEROS'}", "hive.url: with auth=KERBEROS, the principal is the user"),
        ("{url: 'hive://h?auth=KERBEROS', password: x}", "hive.password: is used only with auth=LDAP or auth=CUSTOM"),
        ("{url: 'hive://h?auth=KERBEROSS'}", "(did you mean KERBEROS?)"),
        ("{url: 'hive://h?auth=KERBEROS&qpo=auth'}", "unknown option 'qpo'; expected one of auth, http_path, qop, "),
        ("{url: 'hive://h', ca_file: /etc/ca.pem}", "hive.ca_file: is used only with ssl=true in hive.url"),
        ("{url: 'hive://h', kerberos: {principal: e@R, cache: /c}}", "hive.kerberos: is used only with auth=KERBEROS"),
    ],
)  # fmt: skip
def test_what_contradicts_a_url_of_hive_is_reported(hive: str, problem: str) -> None:
    found = problems_of(text_of(hive=hive))
    assert any(problem in line for line in found), found


def test_kerberos_for_hive_needs_a_section() -> None:
    assert problems_of(text_of(more="")) == [
        "m:4: hive.url: auth=KERBEROS needs the section kerberos: principal and keytab"
    ]


@pytest.mark.parametrize(
    ("storage", "problem"),
    [
        ("uri: hdfs://n, properties: {dfs.data.transfer.protection: privat}",
         "storage.properties.dfs.data.transfer.protection: expected authentication, integrity or privacy"
         " (did you mean privacy?)"),
        ("uri: hdfs://n, properties: {dfs.replicaton: 2}",
         "m:3: storage.properties.dfs.replicaton: the HDFS client does not read this property, so it would have no effect:"
         " remove it (did you mean dfs.replication?)"),
        ("uri: hdfs://n, properties: {dfs.replication: two}",
         "storage.properties.dfs.replication: expected a number of replicas, such as 3"),
        ("uri: hdfs://n, properties: {dfs.blocksize: 1000}",
         "storage.properties.dfs.blocksize: expected a multiple of 512 bytes, such as 128m"),
        ("uri: hdfs://n, properties: {fs.permissions.umask-mode: '028'}",
         "storage.properties.fs.permissions.umask-mode: expected octal digits such as 027, or u=rwx,g=rx,o="),
        ("uri: hdfs://n, properties: {hadoop.security.authentication: krb}",
         "storage.properties.hadoop.security.authentication: expected simple or kerberos"),
        ("uri: 'file:///data', kerberos: {principal: e@R, cache: /c}", "storage.kerberos: is used only with hdfs://"),
    ],
)  # fmt: skip
def test_contradictions_in_the_storage_section_are_reported(storage: str, problem: str) -> None:
    found = problems_of(text_of(storage, more=""))
    assert any(problem in line for line in found), found
