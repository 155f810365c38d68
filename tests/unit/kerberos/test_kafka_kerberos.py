"""Kafka with Kerberos: the map's section names the login, and a client that cannot log in fails before it asks a broker."""

import pytest

from kafka2hive.config.keys.librdkafka import has_gssapi, uses_gssapi
from kafka2hive.config.load import load_text
from kafka2hive.config.machine import check_this_machine
from kafka2hive.model.errors import ConfigError, ExitCode
from tests.harness.keytabs import keytab

SASL = ", security.protocol: SASL_SSL"


def map_of(kafka: str, kerberos: str = "") -> str:
    return (
        f"service: s\nkafka: {{bootstrap.servers: 'h:1'{kafka}}}\n{kerberos}storage: {{uri: 'file:///x'}}\n"
        "tables:\n  - {table: a.b, topics: [t], columns: {c: string}}\n"
    )


def section(path: str) -> str:
    return f"kerberos: {{principal: etl@K2H.TEST, keytab: {path}}}\n"


def login_of(kafka: str, kerberos: str) -> dict[str, str]:
    properties = load_text(map_of(kafka, kerberos), "m", {}).kafka.properties
    return {key: value for key, value in properties if key.startswith("sasl.kerberos")}


@pytest.mark.parametrize("mechanism", ["", ", sasl.mechanisms: GSSAPI", ", sasl.mechanism: GSSAPI"])
def test_the_section_says_who_logs_in_to_kafka_unless_its_own_properties_do(mechanism: str) -> None:
    ours = {"sasl.kerberos.principal": "etl@K2H.TEST", "sasl.kerberos.keytab": "/k"}
    assert login_of(SASL + mechanism, section("/k")) == ours
    own = ", sasl.kerberos.keytab: /other"
    assert login_of(SASL + mechanism + own, section("/k")) == ours | {"sasl.kerberos.keytab": "/other"}


@pytest.mark.parametrize(
    ("kafka", "kerberos"),
    [
        (SASL + ", sasl.mechanisms: SCRAM-SHA-512", section("/k")),
        ("", section("/k")),
        (", sasl.mechanisms: GSSAPI", section("/k")),
        (SASL, "kerberos: {principal: etl@K2H.TEST, cache: /tmp/cc}\n"),
        (SASL, ""),
    ],
)
def test_without_gssapi_or_a_keytab_kafka_gets_none_of_it(kafka: str, kerberos: str) -> None:
    assert login_of(kafka, kerberos) == {}


def test_a_client_without_gssapi_is_told_before_any_broker_is_asked(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    assert not has_gssapi(), "the pinned wheel is built without"
    path = tmp_path_factory.mktemp("keys") / "etl.keytab"
    path.write_bytes(keytab("etl@K2H.TEST"))
    service = load_text(map_of(SASL, section(str(path))), "m", {})
    assert uses_gssapi(dict(service.kafka.properties))
    with pytest.raises(ConfigError) as raised:
        check_this_machine(service, {})
    assert raised.value.code == "kafka.gssapi" and raised.value.exit_code is ExitCode.CONFIG
    check_this_machine(load_text(map_of(SASL + ", sasl.mechanisms: PLAIN"), "m", {}), {})
