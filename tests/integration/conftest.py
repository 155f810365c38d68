"""What the tests of whole dumps share: services of special kinds."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kafka2hive.config.keys import HiveOptions
    from tests.services.kafka_broker import KafkaBroker
    from tests.services.schema_registry import SchemaRegistry
    from tests.services.secure.hive import SecureHive


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SchemaRegistry]":
    """A real schema registry, shared: use subjects and namespaces of your own; it may be suspended, and resumes."""
    from tests.services.schema_registry import SchemaRegistry

    with SchemaRegistry(tmp_path_factory.mktemp("registry")) as server:
        yield server


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


@pytest.fixture
def by_password(secure_hive: "SecureHive") -> "HiveOptions":
    """A login by a password, over TLS, that works."""
    from kafka2hive.config.keys import HiveOptions
    from tests.services.secure.hive import LDAP, LDAP_PASSWORD, LDAP_USER

    return HiveOptions(
        "localhost",
        secure_hive.port_of(LDAP),
        LDAP_USER,
        LDAP_PASSWORD,
        "LDAP",
        60.0,
        ssl=True,
        ca_file=secure_hive.trust,
    )
