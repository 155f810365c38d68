"""Sections of a map for secured services, the rights that go with them, and the logins that the tests try."""

from collections import Counter
from typing import Any

from confluent_kafka.admin import AclOperation, ResourceType

from kafka2hive.config.keys import HiveOptions, KerberosOptions
from kafka2hive.hive.session import HiveSession
from tests.harness.scenario import Storage
from tests.oracle.exact import Acknowledged, flight
from tests.oracle.tree import HdfsTree
from tests.services.kafka_secure import SecureKafka
from tests.services.secure.hdfs import SecureHdfs
from tests.services.secure.hive import SecureHive
from tests.services.secure.kdc import Kdc


def login(kdc: Kdc, name: str = "etl") -> dict[str, str]:
    """The section `kerberos`."""
    return {"principal": kdc.principal(name), "keytab": str(kdc.keytab(name))}


def options_of(kdc: Kdc, name: str = "etl") -> KerberosOptions:
    """The same as the program's value."""
    return KerberosOptions(**login(kdc, name))


def on_secure_hdfs(hdfs: SecureHdfs, name: str) -> Storage:
    """`/name`, as the superuser sees it."""
    return Storage(f"{hdfs.namenode_url}/{name}", HdfsTree(hdfs.client()), hdfs.client_properties)


def secure_sections(kdc: Kdc, hive: SecureHive, name: str = "etl", qop: str | None = None) -> dict[str, Any]:
    """One login for HDFS and Hive, and for Kafka where it asks for GSSAPI."""
    asked = f"&qop={qop}" if qop else ""
    return {
        "kerberos": login(kdc, name),
        "hive": {"url": f"hive://localhost:{hive.port}/default?auth=KERBEROS{asked}", "timeout": "60s"},
    }


def hive_options(kdc: Kdc, hive: SecureHive, name: str = "etl") -> HiveOptions:
    """A login to Hive as the map's sections make it."""
    return HiveOptions("localhost", hive.port, "me", None, "KERBEROS", 60.0, kerberos=options_of(kdc, name))


def grant(kafka: SecureKafka, topic: str, *principals: str) -> None:
    """What docs/security.md lists for a service, and nothing else."""
    for principal in principals:
        for operation in (AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS):
            kafka.allow(principal, operation, ResourceType.TOPIC, topic)
        kafka.allow(principal, AclOperation.READ, ResourceType.GROUP, "kafka2hive-")


def assert_flights_in_hive(hive: HiveSession, table: str, stored: Acknowledged) -> None:
    """Hive sees each record once, in its month. A statement without a job: those with a shuffle want native Hadoop libraries."""
    read = hive.run(f"select dt, k_partition, k_offset, flight from {table}")
    expected: Counter[tuple[object, ...]] = Counter()
    for (_, number, offset), payload in stored.items():
        assert payload is not None
        bucket, values = flight(payload)
        expected[bucket.removeprefix("dt="), number, offset, values["flight"]] += 1
    assert Counter(read) == expected
