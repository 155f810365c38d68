"""Kafka with Kerberos and a client built by `scripts/build-gssapi`: a service lives longer than its tickets, and is exact.

Not a part of `scripts/test`: building the client takes minutes. `scripts/drill` runs it; the built client is kept below
`.cache/gssapi`.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from tests.drills.form import Form
from tests.drills.stream import Stream, some_flights
from tests.harness.program import Running, command_as_process
from tests.harness.scenario import Scenario, flights_in, on_disk
from tests.services.jars import CACHE, ROOT
from tests.services.kafka_secure import BrokersLogin, SecureKafka
from tests.services.secure.kdc import Kdc

REAUTHENTICATION_MS = 15_000
UNAVAILABLE = 69


@pytest.fixture(scope="session")
def client() -> Path:
    """The folder with the client's package, to be put before all others."""
    prefix = CACHE / "gssapi"
    package = prefix / "python"
    if not package.exists():
        subprocess.run([str(ROOT / "scripts/build-gssapi"), str(prefix), sys.executable], check=True)
        (wheel,) = (prefix / "wheels").glob("*.whl")
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(package)]
        subprocess.run([*install, str(wheel)], check=True)
    return package


@pytest.fixture(scope="session")
def kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    with Kdc(tmp_path_factory.mktemp("kdc")) as realm:
        yield realm


@pytest.fixture(scope="session")
def broker(kdc: Kdc, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    name = "kafka/localhost"
    login = BrokersLogin(kdc.principal(name), kdc.keytab(name), kdc.java_option)
    with SecureKafka(tmp_path_factory.mktemp("kafka"), login, REAUTHENTICATION_MS) as broker:
        yield broker


def scenario_of(kdc: Kdc, broker: SecureKafka, who: str, name: str, folder: Path) -> Scenario:
    broker.create_topic(name, 2)
    for operation in (AclOperation.READ, AclOperation.DESCRIBE):
        broker.allow(f"User:{who}", operation, ResourceType.TOPIC, name)
    broker.allow(f"User:{who}", AclOperation.READ, ResourceType.GROUP, "kafka2hive-")
    kerberos = {"principal": kdc.principal(who), "keytab": str(kdc.keytab(who))}
    table = flights_in(f"{name}.flights", name)
    return Scenario(folder, name, broker.kerberos(), on_disk(folder), [table], kerberos=kerberos)


def environment(client: Path, kdc: Kdc, folder: Path) -> dict[str, str]:
    return {
        "PYTHONPATH": f"{client}:{ROOT}:{os.environ.get('PYTHONPATH', '')}",
        "KRB5_CONFIG": str(kdc.krb5_conf),
        "KRB5CCNAME": f"FILE:{folder}/tickets",
    }


def test_a_service_outlives_its_tickets_and_is_exact(
    client: Path, kdc: Kdc, broker: SecureKafka, unique: str, tmp_path: Path, form: Form
) -> None:
    """Tickets of a minute; brokers ask for them again every 15 s."""
    scenario = scenario_of(kdc, broker, "short", unique, tmp_path)
    env = environment(client, kdc, tmp_path)
    with (
        Stream(broker.bootstrap, {unique: 2}, some_flights(form.seed()), 100) as load,
        Running(scenario.config, env=env) as run,
    ):
        run.wait_for_epoch()
        began = run.epochs()
        run.wait_until(
            lambda: time.monotonic() - run.began > form.count(75, 600), "older than its tickets", 1200, 1
        )
        assert run.epochs() > began
        stored = scenario.end(run, load)
    scenario.assert_exactly_once(stored)


def test_a_realm_that_is_away_is_told_by_kinit_and_ends_with_69(
    client: Path, kdc: Kdc, broker: SecureKafka, unique: str, tmp_path: Path
) -> None:
    scenario = scenario_of(kdc, broker, "etl", unique, tmp_path)
    env = environment(client, kdc, tmp_path)
    online = command_as_process("validate", scenario.config, "--online", env=env)
    assert online.code == 0, online.out + online.log
    kdc.process.suspend()
    try:
        away = command_as_process(
            "validate", scenario.config, "--online", env=env | {"KRB5CCNAME": f"FILE:{tmp_path}/none"}
        )
    finally:
        kdc.process.resume()
    assert away.code == UNAVAILABLE and "[kafka.unavailable]" in away.out, away.out + away.log
    assert "Cannot contact any KDC" in away.log  # kinit's own words, on standard error
