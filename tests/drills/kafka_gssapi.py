"""Kafka with Kerberos and a client built by `scripts/build-gssapi`: a service lives longer than its tickets, and is exact.

Not a part of `scripts/test`: building the client takes minutes. `scripts/drill` runs it; the built client is kept below
`.cache/gssapi`.
"""

import time
from pathlib import Path

import pytest

from tests.drills.conftest import Figures
from tests.drills.form import Form
from tests.drills.gssapi_client import build, environment
from tests.drills.stream import Stream, some_flights
from tests.harness.program import Running, command_as_process
from tests.harness.scenario import Scenario, flights_in, on_disk
from tests.integration.secure_map import grant, login
from tests.services.kafka_secure import SecureKafka
from tests.services.secure.kdc import Kdc

UNAVAILABLE = 69


@pytest.fixture(scope="module", autouse=True)
def client() -> Path:
    """Built once."""
    return build()


def scenario_of(kdc: Kdc, broker: SecureKafka, who: str, name: str, folder: Path) -> Scenario:
    broker.create_topic(name, 2)
    grant(broker, name, f"User:{who}")
    table = flights_in(f"{name}.flights", name)
    return Scenario(folder, name, broker.kerberos(), on_disk(folder), [table], kerberos=login(kdc, who))


def test_a_service_outlives_its_tickets_and_is_exact(
    kdc: Kdc, strict_kafka: SecureKafka, unique: str, tmp_path: Path, form: Form, figures: Figures
) -> None:
    """Tickets of a minute; brokers ask for them again every 15 s. Its clients are kept: not every epoch asks the KDC."""
    scenario = scenario_of(kdc, strict_kafka, "short", unique, tmp_path)
    env = environment(kdc, tmp_path)
    logins = kdc.logins("short")
    with (
        Stream(strict_kafka.bootstrap, {unique: 2}, some_flights(form.seed()), 100) as load,
        Running(scenario.config, env=env) as run,
    ):
        run.wait_for_epoch()
        began = run.epochs()
        run.wait_until(
            lambda: time.monotonic() - run.began > form.count(75, 600), "older than its tickets", 1200, 1
        )
        assert run.epochs() > began
        stored = scenario.end(run, load)
        epochs = run.epochs()
    logins = kdc.logins("short") - logins
    figures(logins=logins, epochs=epochs)
    assert 0 < logins < epochs / 2
    scenario.assert_exactly_once(stored)


def test_a_realm_that_is_away_is_told_by_kinit_and_ends_with_69(
    kdc: Kdc, strict_kafka: SecureKafka, unique: str, tmp_path: Path
) -> None:
    scenario = scenario_of(kdc, strict_kafka, "etl", unique, tmp_path)
    env = environment(kdc, tmp_path)
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
