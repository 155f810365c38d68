"""No password of a map is anywhere to be seen: not in `ps`, Spark's event log, our logs and documents, the files."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka2hive.hive.session import HiveSession
from tests.harness import shown
from tests.harness.program import command, command_as_process, in_time, run_once
from tests.harness.scenario import Scenario, flights_in
from tests.integration.secure_map import assert_flights_in_hive, grant, login, on_secure_hdfs
from tests.services.certificates import pkcs12
from tests.services.flights import flights
from tests.services.kafka_secure import CERTIFIED
from tests.services.produce import produce
from tests.services.secure.hive import LDAP_PASSWORD, LDAP_USER

if TYPE_CHECKING:
    from kafka2hive.config.keys import HiveOptions
    from tests.services.kafka_secure import SecureKafka
    from tests.services.secure.hdfs import SecureHdfs
    from tests.services.secure.kdc import Kdc

KEY_PASSWORD, WRONG = "Key-Pa55-5c27", "another-4711"


def reported(config: Path, page: Path) -> str:
    """The page of `report`."""
    done = command("report", config, "-o", str(page))
    assert done.code == 0, done.out + done.log
    return page.read_text()


@pytest.mark.timeout(3600)
def test_passwords_of_a_key_store_and_of_hive_are_nowhere_to_be_seen(
    secure_kafka: "SecureKafka",
    kdc: "Kdc",
    secure_hdfs: "SecureHdfs",
    by_password: "HiveOptions",
    unique: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client's certificate for Kafka (PKCS12), a password of LDAP over TLS for Hive, a keytab for HDFS; the dump is exact."""
    session = HiveSession(by_password)
    session.run(f"create database {unique}")
    secure_kafka.create_topic(unique, 2)
    grant(secure_kafka, unique, CERTIFIED)
    stored = produce(secure_kafka.bootstrap, unique, flights()[:1_000], 2)
    events, secret = tmp_path / "events", tmp_path / "hive-password"
    events.mkdir()
    secret.write_text(f"{LDAP_PASSWORD}\n")
    monkeypatch.setenv("STORE_PASSWORD", KEY_PASSWORD)
    kafka = {
        **{
            name: value
            for name, value in secure_kafka.mutual_tls().items()
            if not name.startswith(("ssl.cert", "ssl.key."))
        },
        "ssl.keystore.location": pkcs12(secure_kafka.client, KEY_PASSWORD),
        "ssl.keystore.password": "${STORE_PASSWORD}",
    }
    scenario = Scenario(
        tmp_path,
        unique,
        kafka,
        on_secure_hdfs(secure_hdfs, unique),
        [flights_in(f"{unique}.flights", unique)],
        kerberos=login(kdc),
        hive={
            "url": f"hive://{LDAP_USER}@localhost:{by_password.port}/default?auth=LDAP&ssl=true",
            "password": f"file:{secret}",
            "ca_file": str(by_password.ca_file),
        },
        spark={"conf": shown.event_log(events)},
    )
    done = scenario.run_once()
    # the driver's command line names the map alone; the JVM of this process runs on
    seen = {"a run": done.out + done.log, "ps": shown.in_ps(os.getsid(0))}
    seen["the event log"] = "".join(path.read_text() for path in events.rglob("*") if path.is_file())
    for asked in (("validate",), ("validate", "--online"), ("status",), ("plan",), ("preview",)):
        done = in_time(lambda: command(asked[0], scenario.config, *asked[1:], "--json"))  # noqa: B023
        assert done.code == 0, done.out + done.log
        seen[" ".join(asked)] = done.out + done.log
    seen["the page of report"] = reported(scenario.config, tmp_path / "report.html")
    assert "They are the same." in seen["the page of report"]
    secret.write_text(f"{WRONG}\n")
    seen["the page after a refused login"] = reported(scenario.config, tmp_path / "report.html")
    assert "Hive was not compared with the map: [hive.login]" in seen["the page after a refused login"]
    done = command_as_process("validate", scenario.config, "--online", "--json")
    assert done.code == 69 and "hive.login" in done.out
    seen["a refused login"] = done.out + done.log
    stored |= produce(
        secure_kafka.bootstrap, unique, flights()[-500:], 2
    )  # of a month that Hive has no partition of
    done = run_once(scenario.config)
    seen["a run that Hive does not let in"] = done.out + done.log
    assert done.code == 69 and "[hive.login] " in done.log, done.log[-3000:]
    assert "are not registered in Hive yet" in done.log and f"refuses user {LDAP_USER}" in done.log
    secret.write_text(f"{LDAP_PASSWORD}\n")
    assert command("recover", scenario.config).code == 0
    assert_flights_in_hive(session, f"{unique}.flights", stored)
    tree = scenario.tree
    seen["the files"] = "".join(tree.read(path).decode("latin-1") for path in tree.files(scenario.uri))
    assert "SparkSubmit" in seen["ps"]
    assert "SparkListenerJobEnd" in seen["the event log"]
    secrets = (LDAP_PASSWORD, WRONG, KEY_PASSWORD)
    assert [name for name, text in seen.items() if any(secret in text for secret in secrets)] == []
    scenario.assert_exactly_once(stored)
    session.close()
