"""Logins at a real metastore service that wants Kerberos, and speaks TLS."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.config.keys import Column, KerberosOptions, MetastoreOptions
from kafka2hive.hive.direct.client import MetastoreClient
from kafka2hive.hive.direct.hive import DirectHive
from kafka2hive.hive.port import NewTable
from kafka2hive.hive.tables import TableSpec
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import HiveLoginRefused, MetastoreUnavailable
from tests.integration.secure_map import options_of
from tests.services.certificates import Authority, authority, pkcs12
from tests.services.hive_server import MetastoreServer
from tests.services.secure.kdc import Kdc

PASSWORD = "changeit"
SKEW = 10  # seconds by which clocks may differ in the realm of the tests: a ticket lives longer by as much


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """The authority of the server's certificate, which is for `localhost` alone."""
    return authority(tmp_path_factory.mktemp("tls"), "ca")


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, trusted: Authority, kdc: Kdc
) -> Iterator[MetastoreServer]:
    """A metastore as `hive/localhost` of the realm, over TLS."""
    keystore = pkcs12(trusted.issue("server", hosts="DNS:localhost"), PASSWORD)
    properties = {
        "hive.metastore.sasl.enabled": "true",
        "hive.metastore.kerberos.principal": kdc.principal("hive/localhost"),
        "hive.metastore.kerberos.keytab.file": str(kdc.keytab("hive/localhost")),
        "hive.metastore.use.SSL": "true",
        "hive.metastore.keystore.path": str(keystore),
        "hive.metastore.keystore.password": PASSWORD,
        "hive.metastore.keystore.type": "PKCS12",
    }
    java = (kdc.java_option, "-Djavax.security.auth.useSubjectCredsOnly=false")
    folder = tmp_path_factory.mktemp("metastore")
    # on a local disk: on HDFS, the metastore would need the right to act for its clients
    site = {"fs.defaultFS": f"file://{folder}", "hadoop.security.authentication": "kerberos"}
    with MetastoreServer(folder, site, properties, java) as running:
        yield running


@pytest.fixture
def options(server: MetastoreServer, trusted: Authority, kdc: Kdc) -> MetastoreOptions:
    """A login that works."""
    return MetastoreOptions(
        hosts=(("localhost", server.metastore_port),),
        user="nobody",
        auth="KERBEROS",
        timeout_seconds=60.0,
        ssl=True,
        ca_file=trusted.file,
        kerberos=options_of(kdc, "etl"),
    )


def refusal(options: MetastoreOptions) -> MetastoreUnavailable:
    with pytest.raises(MetastoreUnavailable) as refused:
        DirectHive(MetastoreClient(options)).ask()
    return refused.value


def test_tables_and_partitions_are_made_as_the_principal(
    options: MetastoreOptions, tmp_path: Path, unique: str
) -> None:
    location = f"file://{tmp_path}/{unique}.db/t"
    spec = TableSpec(f"{unique}.t", (Column("a", "int"),), (Column("dt", "string"),), location)
    with closing(DirectHive(MetastoreClient(options))) as metastore:
        metastore.ask()
        metastore.tables.change(NewTable(spec, "ledger"))
        days = [HivePartition(spec.table, f"dt={day}", f"{location}/dt={day}") for day in range(3)]
        metastore.add_partitions(days)
        assert metastore.tables.partition_paths(spec.table) == {day.path for day in days}


def test_a_login_that_cannot_work_is_told_with_what_to_correct(
    options: MetastoreOptions, tmp_path: Path, kdc: Kdc
) -> None:
    stranger = authority(tmp_path, "stranger").file
    by_address = (("127.0.0.1", options.hosts[0][1]),)
    empty = KerberosOptions(kdc.principal("etl"), cache=f"FILE:{tmp_path}/none")
    expired = KerberosOptions(kdc.principal("short"), cache=f"FILE:{tmp_path}/expired")
    kdc.ticket_cache("short", tmp_path / "expired", "-l", "1s")
    time.sleep(1 + SKEW + 1)
    for wrong, words in (
        (replace(options, ca_file=stranger), "does not trust the certificate"),
        (replace(options, hosts=by_address), "hive.metastore must name the host as the certificate does"),
        (replace(options, kerberos=empty), "Kerberos login failed"),
        (replace(options, kerberos=expired), "Ticket expired"),
    ):
        told = refusal(wrong)
        assert isinstance(told, HiveLoginRefused) and words in str(told), told
        assert "the metastore at " in str(told)
    for plain in (replace(options, auth="NONE"), replace(options, ssl=False, ca_file=None)):
        assert f"the metastore at localhost:{options.hosts[0][1]}" in str(refusal(plain))
