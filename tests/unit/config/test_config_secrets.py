"""No secret of the map is shown in a repr, a mistake, a log line or the output of `validate`."""

import json
import logging
from pathlib import Path

import pytest

from kafka2hive.cli.render.validate import REDACTED, map_values
from kafka2hive.cli.terminal.outcome import with_map
from kafka2hive.config.keys import ServiceMap
from kafka2hive.config.keys.librdkafka import is_sensitive
from kafka2hive.config.load import load_text
from kafka2hive.config.yaml.problems import MapInvalid
from kafka2hive.observe.log import LogFormat
from tests.harness.cli_ledger import logging_kept

SECRETS = {
    "USER_NAME": "alice-4711",
    "PASSWORD": "hunter2-4711",
    "HIVE": "hive-4711",
    "TOKEN": "token-4711",
    "REGISTRY": "registry-4711",
}
MAP = """\
service: flights
kafka:
  bootstrap.servers: "127.0.0.1:9092"
  security.protocol: SASL_PLAINTEXT
  sasl.username: "${USER_NAME}"
  sasl.password: "${PASSWORD}"
  ssl.key.password: literal-4711
storage: {uri: "hdfs://namenode:8020", properties: {fs.s3a.secret.key: literal-4711}}
hive: {url: "hive://127.0.0.1:10000?auth=LDAP", password: "${HIVE}"}
spark: {conf: {spark.hadoop.some.key: "${TOKEN}", spark.ui.port: 4040}}
tables:
  - table: air.flights
    topics: [flights]
    records: {flight: bigint}
    sql: SELECT flight FROM records
    lookups: {airlines: "s3a://bucket/airlines"}
    columns: {flight: bigint}
"""


def test_the_repr_of_a_map_holds_no_secret() -> None:
    assert "4711" not in repr(load_text(MAP, "m", SECRETS))


@pytest.mark.parametrize("login", ['username: me, password: "${REGISTRY}"', 'token: "${REGISTRY}"'])
def test_no_log_line_of_a_command_holds_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], login: str
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    registry = f'registry: {{url: "http://127.0.0.1:8081", {login}}}\n'
    path = tmp_path / "map.yaml"
    path.write_text(
        MAP.replace("tables:\n", f"{registry}tables:\n").replace(
            "    columns:", "    format: avro\n    columns:"
        )
    )

    def command(_service_map: ServiceMap) -> int:
        for value in (*SECRETS.values(), "literal-4711"):
            logging.getLogger("kafka2hive.x").info("refused: %s", value)
        return 0

    with logging_kept():
        assert with_map(str(path), LogFormat.JSON, logging.INFO, command) == 0
    message = capsys.readouterr().err
    assert message.count("refused: ***") == len(SECRETS) + 1 and "4711" not in message


def test_every_value_except_secrets_is_shown() -> None:
    service = load_text(MAP, "m", SECRETS)
    text = json.dumps(map_values(service))
    assert "4711" not in text
    assert dict(service.kafka.properties)["sasl.password"] == "hunter2-4711"
    plain = json.loads(text)
    assert plain["kafka"]["properties"] == {
        "bootstrap.servers": "127.0.0.1:9092",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.username": REDACTED,
        "sasl.password": REDACTED,
        "ssl.key.password": REDACTED,
    }
    assert plain["spark"]["conf"] == {"spark.hadoop.some.key": REDACTED, "spark.ui.port": "4040"}
    assert plain["hive"]["password"] == REDACTED
    assert plain["tables"][0]["bucketing"]["time"] == "record"


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ('sasl.password: "${PASSWORD}"', 'sasl.password: ["${PASSWORD}", literal-4711]'),
        ('sasl.password: "${PASSWORD}"', "sasl.password: 04711"),
        ('sasl.password: "${PASSWORD}"', "sasl.password: literal-4711: x"),
        ('hdfs://namenode:8020"', '${PASSWORD}/x"'),
        ("auth=LDAP", "auth=${PASSWORD}"),
        ('hive://127.0.0.1:10000?auth=LDAP"', 'hive://bob:literal-4711@h:1"'),
        ('hive://127.0.0.1:10000?auth=LDAP"', 'jdbc:hive2://bob:literal-4711@h:1"'),
        ("air.flights", "${TOKEN}.x"),
        ("topics: [flights]", 'topics: ["${TOKEN}", "${TOKEN}"]'),
        ("bigint", '"${TOKEN}"'),
        ("{fs.s3a.secret.key: literal-4711}", "{fs.s3a.secret.key: 04711}"),
        ('"${TOKEN}", spark.ui.port', "04711, spark.ui.port"),
        ("tables:", 'registry: {url: "http://h:1", token: 04711}\ntables:'),
        ("tables:", 'registry: {url: "http://h:1", username: u, password: 04711}\ntables:'),
    ],
)
def test_no_mistake_shows_a_secret(was: str, becomes: str) -> None:
    assert was in MAP
    with pytest.raises(MapInvalid) as caught:
        load_text(MAP.replace(was, becomes), "m", SECRETS)
    assert "4711" not in str(caught.value)
    assert "4711" not in repr(caught.value.problems)


@pytest.mark.parametrize(
    "name", ["sasl.password", "ssl.key.pem", "sasl.oauthbearer.client.secret", "fs.s3a.secret.key"]
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_sensitive(name)


def test_the_installed_librdkafka_knows_every_listed_property() -> None:
    from confluent_kafka import Consumer, KafkaException

    from kafka2hive.config.keys.librdkafka import FIXED_VALUES, NAMES, OWNED

    unknown = []
    for name in sorted(NAMES | OWNED.keys() | FIXED_VALUES.keys()):
        try:
            Consumer({"group.id": "names", "log_level": 0, name: "\x01"}).close()
        except KafkaException as error:
            if "No such configuration property" in str(error):
                unknown.append(name)
    assert not unknown
