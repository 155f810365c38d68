"""Kafka with TLS and every kind of credentials: what works end to end, and how each refusal is told.

A refusal costs waiting and no CPU: those of one kind of client are asked for side by side.
"""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from kafka2hive.config.keys import KafkaOptions
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.model.errors import AccessRefused, ConfigError, Kafka2HiveError
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.plan.contract import TaskPlan
from kafka2hive.task.fetch.consumer import TaskConsumer
from kafka2hive.task.fetch.delivery_count import CountedConsumer
from kafka2hive.task.fetch.fetch import Fetch, RangeRequest
from kafka2hive.task.run import run_task
from tests.harness.program import command
from tests.harness.scenario import Scenario, flights_in, on_disk
from tests.harness.task_files import offsets, table_settings, table_task, task_settings
from tests.integration.secure_map import grant
from tests.services.certificates import encrypted_key, pkcs12
from tests.services.flights import flights
from tests.services.kafka_secure import CERTIFIED, CLIENT_SECRET, LOGGED_IN, SecureKafka
from tests.services.produce import produce

UNAVAILABLE = 69
KEY_PASSWORD = "Key-Pa55-5c27"
Properties = Mapping[str, str]


@pytest.fixture
def broker(secure_kafka: SecureKafka) -> SecureKafka:
    return secure_kafka


@pytest.fixture(scope="module")
def endpoint(secure_kafka: SecureKafka) -> Iterator[str]:
    with secure_kafka.issuer.serving() as address:
        yield address


@pytest.fixture
def topic(broker: SecureKafka, unique: str) -> str:
    """Two partitions; both principals may do what docs/security.md lists, and nothing else."""
    broker.create_topic(unique, 2)
    grant(broker, unique, LOGGED_IN, CERTIFIED)
    return unique


def without(properties: Properties, *parts: str) -> dict[str, str]:
    return {key: value for key, value in properties.items() if not any(part in key for part in parts)}


def in_p12(broker: SecureKafka) -> dict[str, str]:
    store = {
        "ssl.keystore.location": pkcs12(broker.client, KEY_PASSWORD),
        "ssl.keystore.password": KEY_PASSWORD,
    }
    return without(broker.mutual_tls(), "certificate", "ssl.key.") | store


def admin(properties: Properties, seconds: float = 60.0) -> KafkaAdmin:
    return KafkaAdmin(KafkaOptions(tuple(properties.items()), "kafka2hive-test"), seconds)


def test_each_kind_of_credentials_reads_topics_offsets_and_groups(
    broker: SecureKafka, endpoint: str, topic: str
) -> None:
    produce(broker.bootstrap, topic, [b"1", b"2"], 2)
    tp = TopicPartition(topic, 0)
    locked = {
        "ssl.key.location": encrypted_key(broker.client, KEY_PASSWORD),
        "ssl.key.password": KEY_PASSWORD,
    }
    key = Path(f"{broker.client}.key").read_text()
    in_text = {"ssl.certificate.pem": Path(f"{broker.client}.pem").read_text(), "ssl.key.pem": key}
    ways = {
        "SCRAM-SHA-512": broker.scram(),
        "SCRAM-SHA-256": broker.scram("SCRAM-SHA-256"),
        "PLAIN": broker.scram("PLAIN"),
        "OAUTHBEARER": broker.oauth(endpoint),
        "PEM": broker.mutual_tls(),
        "PEM, encrypted key": broker.mutual_tls() | locked,
        "PEM as text": without(broker.mutual_tls(), "certificate", "ssl.key.") | in_text,
        "PKCS12": in_p12(broker),
    }

    def ask(properties: Properties) -> object:
        kafka = admin(properties, 120.0)
        view = kafka.cluster().topics[topic]
        assert kafka.commit_group_offsets("kafka2hive-group", {tp: 1})
        return (
            view.partitions,
            kafka.latest([tp])[tp].offset,
            kafka.group_offsets("kafka2hive-group", [tp]),
            kafka.record_epochs([(tp, 0)]),
        )

    with ThreadPoolExecutor(len(ways)) as pool:
        answers = dict(zip(ways, pool.map(ask, ways.values()), strict=True))
    assert answers == dict.fromkeys(ways, ((0, 1), 1, {tp: 1}, {(tp, 0): 0}))


@dataclass(frozen=True, slots=True)
class Refused:
    """How a client is refused: by these properties, with this code, and words of the message."""

    properties: Properties
    code: str
    words: str


def refusals(broker: SecureKafka, endpoint: str) -> dict[str, Refused]:
    plaintext = {"bootstrap.servers": broker.bootstrap}
    stranger = broker.stranger.issue("unknown-client")
    late = broker.own.issue("late-client", expired=True)
    scram, mutual = broker.scram(), broker.mutual_tls()
    return {
        "wrong password": Refused(broker.scram(password="wr0ng"), "kafka.credentials", "invalid credentials"),
        "unknown user": Refused(scram | {"sasl.username": "nobody"}, "kafka.credentials", "invalid credentials"),
        "wrong password, PLAIN": Refused(
            broker.scram("PLAIN", "wr0ng"), "kafka.credentials", "Invalid username or password"
        ),
        "wrong secret of the issuer": Refused(
            broker.oauth(endpoint, "wr0ng"), "kafka.token", "invalid_client"
        ),
        "no issuer": Refused(
            broker.oauth("http://127.0.0.1:9/token"), "kafka.token", "Could not connect to server"
        ),
        "mechanism": Refused(
            scram | {"bootstrap.servers": broker.at("SCRAM"), "sasl.mechanisms": "PLAIN"},
            "kafka.mechanism", "supported mechanisms: SCRAM-SHA-512",
        ),
        "unknown authority": Refused(
            scram | {"ssl.ca.location": broker.stranger.file}, "kafka.tls_untrusted", "self-signed certificate"
        ),
        "the system's authorities": Refused(
            without(scram, "ssl.ca"), "kafka.tls_untrusted", "self-signed certificate"
        ),
        "expired": Refused(broker.mutual_tls("EXPIRED"), "kafka.tls_expired", "certificate has expired"),
        "another host": Refused(
            broker.mutual_tls("NAMED"), "kafka.tls_hostname", "certificate is not valid for 'localhost'"
        ),
        "no certificate": Refused(without(mutual, "certificate", "ssl.key."), "kafka.tls_client", "bad certificate"),
        "a stranger's certificate": Refused(
            mutual | {"ssl.certificate.location": f"{stranger}.pem", "ssl.key.location": f"{stranger}.key"},
            "kafka.tls_client", "bad certificate",
        ),
        "an expired certificate": Refused(
            mutual | {"ssl.certificate.location": f"{late}.pem", "ssl.key.location": f"{late}.key"},
            "kafka.tls_client", "certificate unknown",
        ),
        "TLS to a port without": Refused(scram | plaintext, "kafka.listener", "does not speak TLS"),
        "no TLS to a port with": Refused(
            {"bootstrap.servers": broker.at("SASL")}, "kafka.listener", "may speak another protocol"
        ),
        "SASL to a port without": Refused(
            scram | plaintext | {"security.protocol": "SASL_PLAINTEXT"}, "kafka.listener", "does not accept SASL"
        ),
        "nobody there": Refused(
            scram | {"bootstrap.servers": "localhost:9"}, "kafka.unavailable", "Connection refused"
        ),
        "no such host": Refused(
            scram | {"bootstrap.servers": "no-such-host.invalid:9"}, "kafka.unavailable", "Failed to resolve"
        ),
    }  # fmt: skip


def told(error: Kafka2HiveError, case: Refused) -> object:
    """What the comparison shows: the words that were wanted where they are there, else the whole message."""
    return error.code, int(error.exit_code), case.words if case.words in error.message else error.message


def test_the_admin_client_tells_every_refusal_with_its_code_and_reason(
    broker: SecureKafka, endpoint: str
) -> None:
    cases = refusals(broker, endpoint)

    def ask(case: Refused) -> object:
        with pytest.raises(Kafka2HiveError) as raised:
            admin(case.properties, 15.0 if case.code == "kafka.unavailable" else 60.0).cluster()
        assert "wr0ng" not in str(raised.value) and raised.value.remedy
        return told(raised.value, case)

    with ThreadPoolExecutor(len(cases)) as pool:
        answers = dict(zip(cases, pool.map(ask, cases.values()), strict=True))
    assert answers == {name: (case.code, UNAVAILABLE, case.words) for name, case in cases.items()}


def test_a_workers_consumer_tells_every_refusal_with_its_code_and_reason(
    broker: SecureKafka, endpoint: str
) -> None:
    cases = {
        name: case for name, case in refusals(broker, endpoint).items() if case.code != "kafka.unavailable"
    }

    def fetch(case: Refused) -> object:
        consumer = TaskConsumer(tuple(case.properties.items()))
        wave = [RangeRequest("db.t", offsets("t", 0, 0, 1))]
        try:
            with pytest.raises(AccessRefused) as raised:
                list(Fetch(CountedConsumer(consumer), wave, stall_seconds=30.0))
        finally:
            consumer.close()
        return told(raised.value, case)

    with ThreadPoolExecutor(len(cases)) as pool:
        answers = dict(zip(cases, pool.map(fetch, cases.values()), strict=True))
    assert answers == {name: (case.code, UNAVAILABLE, case.words) for name, case in cases.items()}


def test_tables_of_a_worker_that_is_refused_fail_with_the_reason_and_its_host(broker: SecureKafka) -> None:
    for more, code in (
        ({"sasl.password": "wr0ng"}, "kafka.credentials"),
        ({"ssl.ca.location": "/only/on/the/driver.pem"}, "kafka.properties"),
    ):
        properties = tuple((broker.scram() | more).items())
        settings = replace(task_settings("", table_settings(), stall_seconds=30.0), kafka=properties)
        plan = TaskPlan(0, (table_task("db.t", offsets("t", 0, 0, 1)),))
        (manifest,) = run_task(plan, settings)
        assert manifest.failure is not None and manifest.failure.code == code, manifest.failure
        assert manifest.failure.message.startswith(f"on {os.uname().nodename}: ")
        assert manifest.failure.remedy and not manifest.files


def test_files_that_are_wrong_are_the_maps_fault(broker: SecureKafka) -> None:
    strange = broker.stranger.issue("not-mine")
    for properties, words in (
        (in_p12(broker) | {"ssl.keystore.password": "wr0ng"}, "mac verify failure"),
        (broker.mutual_tls() | {"ssl.key.location": f"{strange}.key"}, "key values mismatch"),
        (broker.scram() | {"ssl.ca.location": "/no/such/file.pem"}, "ssl.ca.location"),
    ):
        with pytest.raises(ConfigError, match=words) as raised:
            admin(properties).cluster()
        assert raised.value.code == "kafka.properties" and "wr0ng" not in str(raised.value)


def test_commands_report_a_refusal_with_its_code_and_end_with_69(
    broker: SecureKafka, topic: str, tmp_path: Path
) -> None:
    refused = broker.scram(password="wr0ng")
    table = flights_in(f"{topic}.flights", topic)
    config = Scenario(tmp_path, topic, refused, on_disk(tmp_path), [table]).config
    online = command("validate", config, "--online", "--json")
    assert online.code == UNAVAILABLE, online.out
    (said,) = (check for check in online.document["checks"] if check["code"] == "kafka.credentials")
    assert "invalid credentials" in said["message"]
    preview = command("preview", config)
    assert preview.code == UNAVAILABLE and "[kafka.credentials]" in preview.log
    once = command("run", config, "--once")
    assert once.code == UNAVAILABLE and "kafka.credentials" in once.log
    assert "wr0ng" not in online.out + online.log + preview.out + preview.log + once.out + once.log


def test_a_map_is_drafted_over_oauth_and_holds_no_secret(
    broker: SecureKafka, endpoint: str, topic: str
) -> None:
    produce(broker.bootstrap, topic, flights()[:50], 2)
    properties = broker.oauth(endpoint)
    servers = properties.pop("bootstrap.servers")
    given = [part for pair in properties.items() for part in ("-X", "=".join(pair))]
    from tests.harness.cli_ledger import invoke

    drafted = invoke("sample", topic, "--kafka", servers, *given)
    assert drafted.exit_code == 0, drafted.stderr
    assert "tables:" in drafted.stdout and CLIENT_SECRET not in drafted.stdout + drafted.stderr
