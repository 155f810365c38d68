"""`hive.metastore` in the map: hosts, login, TLS, and what it means beside `hive.url` or without it."""

import sys
from pathlib import Path

import pytest

from kafka2hive.cli.render.validate import map_values
from kafka2hive.config.keys import KerberosOptions, MetastoreOptions
from kafka2hive.config.load import load_text
from kafka2hive.config.machine import check_this_machine
from kafka2hive.config.yaml.problems import MapInvalid
from kafka2hive.hive.both import HiveByBoth
from kafka2hive.hive.direct.hive import DirectHive
from kafka2hive.hive.metastore import HiveMetastore
from kafka2hive.model.errors import ConfigError
from kafka2hive.service.wiring import wire

MAP = """
service: s
kafka: {bootstrap.servers: "127.0.0.1:9092"}
storage: {uri: "file:///base"}
MORE
hive: HIVE
tables:
  - table: air.films
    topics: [films]
    columns: {id: bigint}
    TABLE
"""
ETL = KerberosOptions("etl@K2H.TEST", "/etc/etl.keytab")
LOGIN = "kerberos: {principal: etl@K2H.TEST, keytab: /etc/etl.keytab}"
LATEST = "source: debezium\n    latest: {key: [id], order: __ts_ms}\n    metadata: {partition: p, offset: o}"


def text_of(hive: str, more: str = "", table: str = "") -> str:
    return MAP.replace("HIVE", hive).replace("MORE", more).replace("TABLE", table)


def options(hive: str, more: str = "") -> MetastoreOptions:
    section = load_text(text_of(hive, more), "m", {"USER": "me"}).hive
    assert section is not None and section.metastore is not None
    return section.metastore


@pytest.mark.parametrize(
    ("url", "hosts", "user"),
    [
        ("thrift://h", (("h", 9083),), "me"),
        ("thrift://h1:9084,h2", (("h1", 9084), ("h2", 9083)), "me"),
        ("thrift://etl@h1:1,thrift://h2:2/", (("h1", 1), ("h2", 2)), "etl"),
    ],
)
def test_hosts_are_written_as_hive_writes_them(
    url: str, hosts: tuple[tuple[str, int], ...], user: str
) -> None:
    found = options(f"{{metastore: '{url}'}}")
    assert (found.hosts, found.user, found.auth, found.ssl) == (hosts, user, "NONE", False)


def test_kerberos_protection_and_tls_are_options_of_the_url() -> None:
    url = "thrift://h?auth=KERBEROS&service=hms&qop=auth-conf&ssl=true"
    found = options(f"{{metastore: '{url}', ca_file: /etc/ca.pem, timeout: 5s}}", LOGIN)
    assert found == MetastoreOptions(
        (("h", 9083),), "me", "KERBEROS", 5.0, "hms", "auth-conf", True, "/etc/ca.pem", ETL
    )


@pytest.mark.parametrize(
    ("hive", "problem"),
    [
        ("{timeout: 5s}", "hive: needs url (HiveServer2) or metastore, or both"),
        ("{metastore: 'h:9083'}", "hive.metastore: expected thrift://host:9083"),
        ("{metastore: 'thrift://h:port'}", "hive.metastore: expected thrift://host:9083"),
        ("{metastore: 'thrift://h1,etl@h2'}", "with user@ only before the first host"),
        ("{metastore: 'thrift://h?atuh=NONE'}", "did you mean auth?"),
        ("{metastore: 'thrift://h?auth=LDAP'}", "auth must be NONE or KERBEROS"),
        ("{metastore: 'thrift://h?auth=KERBEROS'}", "needs the section kerberos"),
        ("{metastore: 'thrift://h?qop=auth'}", "qop is used only with auth=KERBEROS"),
        ("{metastore: 'thrift://h?ssl=1'}", "ssl must be true or false"),
        ("{metastore: 'thrift://h', password: x}", "hive.password: is used only with hive.url"),
        (
            "{metastore: 'thrift://h', ca_file: /ca}",
            "hive.ca_file: is used only with ssl=true in hive.metastore",
        ),
        (
            "{metastore: 'thrift://h', kerberos: {principal: a@B, keytab: /k}}",
            "hive.kerberos: is used only with",
        ),
    ],
)
def test_a_contradiction_is_refused_with_its_key(hive: str, problem: str) -> None:
    with pytest.raises(MapInvalid) as refused:
        load_text(text_of(hive), "m", {})
    assert problem in "\n".join(each.render("m") for each in refused.value.problems)


def test_a_view_needs_hiveserver2() -> None:
    with pytest.raises(MapInvalid) as refused:
        load_text(text_of("{metastore: 'thrift://h'}", table=LATEST), "m", {})
    (problem,) = refused.value.problems
    assert "add hive.url beside hive.metastore" in problem.message and problem.line == 12
    load_text(text_of("{url: 'hive://h', metastore: 'thrift://h'}", table=LATEST), "m", {})


@pytest.mark.parametrize(
    ("hive", "adapter"),
    [
        ("{url: 'hive://h'}", HiveMetastore),
        ("{metastore: 'thrift://h'}", DirectHive),
        ("{url: 'hive://h', metastore: 'thrift://h'}", HiveByBoth),
    ],
)
def test_the_keys_choose_the_adapter(hive: str, adapter: type, tmp_path: Path) -> None:
    text = text_of(hive).replace("/base", str(tmp_path))
    opened = wire(load_text(text, "m", {})).hive()
    assert opened is not None and type(opened) is adapter
    opened.close()


def test_a_missing_package_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service_map = load_text(text_of("{metastore: 'thrift://h'}"), "m", {})
    check_this_machine(service_map, {})
    monkeypatch.setitem(sys.modules, "pymetastore", None)
    with pytest.raises(ConfigError, match=r"hive\.extra") as refused:
        check_this_machine(service_map, {})
    assert "pip install 'kafka2hive[metastore]'" in refused.value.remedy


def test_the_shown_map_has_both_interfaces_and_hiveserver2_where_it_was() -> None:
    both = map_values(
        load_text(text_of("{url: 'hive://h?auth=LDAP', metastore: 'thrift://m', password: x}"), "m", {})
    )
    alone = map_values(load_text(text_of("{metastore: 'thrift://m'}"), "m", {}))
    assert isinstance(both["hive"], dict) and isinstance(alone["hive"], dict)
    assert (both["hive"]["host"], both["hive"]["password"]) == ("h", "(secret)")
    for shown in (both["hive"], alone["hive"]):
        assert shown["metastore"]["hosts"] == [["m", 9083]]
    assert both["hive"].keys() == alone["hive"].keys() and alone["hive"]["host"] is None


@pytest.mark.parametrize(
    ("url", "servers"),
    [
        ("hive://h", [("h", 10000)]),
        ("hive://etl@h1:1,h2:2/default", [("h1", 1), ("h2", 2)]),
        ("hive://h1,h2:7/?transport=http", [("h1", 10001), ("h2", 7)]),
    ],
)
def test_hiveserver2_may_have_several_hosts(url: str, servers: list[tuple[str, int]]) -> None:
    section = load_text(text_of(f"{{url: '{url}'}}"), "m", {"USER": "me"}).hive
    assert section is not None and section.server is not None
    assert [(each.host, each.port) for each in section.server.servers] == servers
    assert {each.user for each in section.server.servers} == {"etl" if "etl@" in url else "me"}
    assert section.addresses == tuple(f"{host}:{port}" for host, port in servers)


@pytest.mark.parametrize(
    "url", ["hive://", "hive://h1,", "hive://h1:1,h2:0", "hive://h1,etl@h2", "thrift://h"]
)
def test_a_malformed_host_among_several_is_refused(url: str) -> None:
    with pytest.raises(MapInvalid, match="expected hive://user@host:10000"):
        load_text(text_of(f"{{url: '{url}'}}"), "m", {})


def test_zookeeper_is_asked_in_the_form_of_jdbc() -> None:
    url = "hive://zk1,zk2:2182/default?serviceDiscoveryMode=zooKeeper&zooKeeperNamespace=hs2/prod"
    section = load_text(text_of(f"{{url: '{url}'}}"), "m", {}).hive
    assert section is not None and section.server is not None
    assert section.server.namespace == "hs2/prod" and section.addresses == ("zk1:2181", "zk2:2182")
    plain = load_text(text_of("{url: 'hive://zk?serviceDiscoveryMode=zooKeeper'}"), "m", {}).hive
    assert plain is not None and plain.server is not None and plain.server.namespace == "hiveserver2"


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("hive://h?serviceDiscoveryMode=etcd", "serviceDiscoveryMode must be zooKeeper"),
        ("hive://h?zooKeeperNamespace=x", "is used only with serviceDiscoveryMode=zooKeeper"),
        ("hive://h?serviceDiscoveryMode=zooKeeper&zooKeeperNamespace=/x", "a name without /"),
        (
            "jdbc:hive2://z1:2181,z2:2181/db;serviceDiscoveryMode=zooKeeper;zooKeeperNamespace=hs2",
            "did you mean hive://z1:2181,z2:2181/db?serviceDiscoveryMode=zooKeeper&zooKeeperNamespace=hs2?",
        ),
    ],
)
def test_a_wrong_discovery_is_refused(url: str, problem: str) -> None:
    with pytest.raises(MapInvalid) as refused:
        load_text(text_of(f"{{url: '{url}'}}"), "m", {})
    assert problem in refused.value.problems[0].render("m")
