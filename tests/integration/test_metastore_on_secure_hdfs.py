"""A metastore with Kerberos makes directories on HDFS as its client, if the NameNode lets it (docs/security.md)."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from kafka2hive.config.keys import Column, MetastoreOptions
from kafka2hive.hive.direct.client import MetastoreClient
from kafka2hive.hive.direct.tables import DirectTables
from kafka2hive.hive.port import NewTable
from kafka2hive.hive.tables import TableSpec
from kafka2hive.model.metastore import MetastoreRefused
from tests.integration.secure_map import options_of
from tests.services.hive_server import MetastoreServer
from tests.services.secure.hdfs import PRIVACY, SecureHdfs
from tests.services.secure.kdc import Kdc

MAY_ACT_FOR = {"hadoop.proxyuser.hive.hosts": "127.0.0.1", "hadoop.proxyuser.hive.users": "etl"}


@pytest.fixture(scope="module")
def trusting(tmp_path_factory: pytest.TempPathFactory, kdc: Kdc) -> Iterator[SecureHdfs]:
    """An HDFS whose NameNode lets the metastore act for `etl` alone."""
    with SecureHdfs(tmp_path_factory.mktemp("hdfs"), kdc, {**PRIVACY, **MAY_ACT_FOR}) as running:
        yield running


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, trusting: SecureHdfs, kdc: Kdc
) -> Iterator[MetastoreServer]:
    """A metastore as `hive/localhost` over this HDFS."""
    properties = {
        "hive.metastore.sasl.enabled": "true",
        "hive.metastore.kerberos.principal": kdc.principal("hive/localhost"),
        "hive.metastore.kerberos.keytab.file": str(kdc.keytab("hive/localhost")),
    }
    java = (kdc.java_option, "-Djavax.security.auth.useSubjectCredsOnly=false")
    site = trusting.site_properties
    with MetastoreServer(tmp_path_factory.mktemp("metastore"), site, properties, java) as running:
        yield running


def make_table(server: MetastoreServer, hdfs: SecureHdfs, kdc: Kdc, table: str, who: str) -> None:
    host = ("localhost", server.metastore_port)
    login = MetastoreOptions((host,), who, "KERBEROS", 60.0, qop="auth-conf", kerberos=options_of(kdc, who))
    base, _, name = table.partition(".")
    spec = TableSpec(table, (Column("a", "int"),), (), f"{hdfs.namenode_url}/{base}/{base}.db/{name}")
    with closing(DirectTables(MetastoreClient(login))) as tables:
        tables.change(NewTable(spec, "ledger"))


def test_directories_are_made_as_the_client_whom_the_namenode_lets_the_metastore_act_for(
    server: MetastoreServer, trusting: SecureHdfs, kdc: Kdc, unique: str
) -> None:
    make_table(server, trusting, kdc, f"{unique}.t", "etl")
    made = trusting.client().get_file_info(f"/{unique}/{unique}.db/t")
    assert made.owner == "etl"
    for table, words in (
        (f"{unique}.other", "is not allowed to impersonate stranger"),
        (f"{unique}_no.t", "Failed to create external path"),
    ):
        with pytest.raises(MetastoreRefused, match=words):
            make_table(server, trusting, kdc, table, "stranger")
