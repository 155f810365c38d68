"""What the tests of whole dumps share: one topic with all the flights, and a HiveServer2 that may go away."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kafka2hive.config.values import HiveOptions
    from tests.harness.flights_topic import FlightsTopic
    from tests.services.hdfs import Hdfs
    from tests.services.hive_server import HiveServer
    from tests.services.kafka_broker import KafkaBroker
    from tests.services.schema_registry import SchemaRegistry
    from tests.services.secure.hive import Ldap
    from tests.services.secure.tls import Certificates


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SchemaRegistry]":
    """A real schema registry, shared: use subjects and namespaces of your own; it may be suspended, and resumes."""
    from tests.services.schema_registry import SchemaRegistry

    with SchemaRegistry(tmp_path_factory.mktemp("registry")) as server:
        yield server


@pytest.fixture(scope="session")
def flights_topic(kafka: "KafkaBroker", worker_id: str) -> "FlightsTopic":
    """All 336,776 flights over four partitions. Do not write to it, do not delete from it."""
    from tests.harness.flights_topic import make_flights_topic

    return make_flights_topic(kafka, f"all-flights-{worker_id}")


@pytest.fixture
def hive_to_kill(hive: "HiveServer") -> "Iterator[HiveServer]":
    """The shared HiveServer2 (a second one is dear): the test may kill, start and suspend it; it runs again afterwards."""
    yield hive
    if hive.service.is_running:
        hive.service.resume()
    else:
        hive.start()


@pytest.fixture(scope="session")
def kafka_to_kill(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[KafkaBroker]":
    """A broker beside the shared one, which knows rights: a test may kill, start and suspend it, and leaves it running."""
    from tests.services.kafka_broker import KafkaBroker

    rights = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    with KafkaBroker(tmp_path_factory.mktemp("kafka-to-kill"), rights) as broker:
        yield broker


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> "Certificates":
    """An authority, another one, and a server's key."""
    from tests.services.secure.tls import make_certificates

    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="session")
def ldap(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Ldap]":
    """A real LDAP directory, shared: a test may kill it, and leaves it running."""
    from tests.services.secure.hive import Ldap

    with Ldap(tmp_path_factory.mktemp("ldap")) as directory:
        yield directory


@pytest.fixture(scope="session")
def ldap_hive(
    tmp_path_factory: pytest.TempPathFactory, hdfs: "Hdfs", ldap: "Ldap", certificates: "Certificates"
) -> "Iterator[HiveServer]":
    """A real HiveServer2 over `hdfs` with TLS, whose users are the directory's."""
    from tests.services.secure.hive import hive_with_ldap

    folder = tmp_path_factory.mktemp("ldap-hive")
    with hive_with_ldap(folder, hdfs.site_properties, ldap, certificates.keystore) as server:
        yield server


@pytest.fixture
def by_password(ldap_hive: "HiveServer", certificates: "Certificates") -> "HiveOptions":
    """A login to it that works."""
    from kafka2hive.config.values import HiveOptions
    from tests.services.secure.hive import LDAP_PASSWORD, LDAP_USER

    return HiveOptions(
        "localhost",
        ldap_hive.port,
        LDAP_USER,
        LDAP_PASSWORD,
        "LDAP",
        30.0,
        ssl=True,
        ca_file=str(certificates.ca),
    )
