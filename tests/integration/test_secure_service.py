"""The whole service where Kafka, HDFS and HiveServer2 are all secured: dumped exactly through kill -9."""

from pathlib import Path
from typing import Any

import pytest

from kafka2hive.config.keys import KafkaOptions
from kafka2hive.hive.session import HiveSession
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.model.offsets import TopicPartition
from tests.harness import shown
from tests.harness.program import Running, command
from tests.harness.scenario import Scenario, flights_in
from tests.harness.waiting import wait_until
from tests.integration.secure_map import (
    assert_flights_in_hive,
    grant,
    hive_options,
    on_secure_hdfs,
    secure_sections,
)
from tests.oracle.exact import ends_of
from tests.services.flights import flights
from tests.services.kafka_secure import LOGGED_IN, PASSWORD, SecureKafka
from tests.services.ports import free_ports
from tests.services.produce import produce
from tests.services.secure.hdfs import SecureHdfs
from tests.services.secure.hive import SecureHive
from tests.services.secure.kdc import Kdc


@pytest.mark.timeout(3600)
def test_a_cluster_secured_throughout_is_dumped_exactly_through_a_kill(
    secure_kafka: SecureKafka,
    kdc: Kdc,
    secure_hdfs: SecureHdfs,
    secure_hive: SecureHive,
    unique: str,
    tmp_path: Path,
) -> None:
    """Kafka by SCRAM over TLS, HDFS and Hive by one keytab, all of them encrypted; a sixth of each month's flights.

    The driver is killed after its first epoch; recovered, continued, verified, and asked for. The long drill
    (tests/drills/expiring_tickets.py) takes all flights.
    """
    table = f"{unique}.flights"
    hive = HiveSession(hive_options(kdc, secure_hive))
    hive.run(f"create database {unique}")
    secure_kafka.create_topic(unique, 4)
    grant(secure_kafka, unique, LOGGED_IN)
    some = flights()[::6]
    stored = produce(secure_kafka.bootstrap, unique, some, 4)
    (ui, metrics), events, secret = free_ports(2), tmp_path / "events", tmp_path / "password"
    events.mkdir()
    secret.write_text(f"{PASSWORD}\n")
    scenario = Scenario(
        tmp_path,
        unique,
        secure_kafka.scram() | {"sasl.password": f"file:{secret}"},
        on_secure_hdfs(secure_hdfs, unique),
        [flights_in(table, unique)],
        limits={"epoch_records": len(some) // 3},
        spark={"conf": shown.ui(ui) | shown.event_log(events)},
        metrics={"port": metrics},
        **secure_sections(kdc, secure_hive, qop="auth-conf"),
    )
    online = command("validate", scenario.config, "--online", "--json")
    assert online.code == 0, online.out
    with Running(scenario.config) as run:
        run.wait_for_epoch()
        run.kill_driver()
        run.wait_for_orphans(300)
    scenario.recover("--takeover")
    seen: dict[str, str] = {}
    with Running(scenario.config) as run:
        run.wait_until(lambda: run.said("lag 0"), "up to date")
        seen |= {"ps": shown.in_ps(run.pid), "the UI": shown.in_the_ui(ui)}
        seen["the metrics"] = shown.page(f"http://127.0.0.1:{metrics}/metrics")
        seen["the page"] = shown.page(f"http://127.0.0.1:{metrics}/")
        behind = {TopicPartition(unique, 0): ends_of(stored)[unique, 0]}
        group = KafkaAdmin(KafkaOptions(tuple(secure_kafka.scram().items()), "kafka2hive-test"), 60.0)
        run.wait_until(
            lambda: group.group_offsets(f"kafka2hive-{unique}", list(behind)) == behind,
            "in the group",
            pause=1,
        )
        run.wait_until(lambda: not scenario.ledgers[table].newest()["unregistered"], "in Hive", pause=1)
        assert run.terminate() == 143, run.tail()
    scenario.assert_exactly_once(stored)
    scenario.verify()
    status: dict[str, Any] = {}

    def has_lag() -> bool:
        (told,) = command("status", scenario.config, "--json").document["tables"]
        status.update(told)
        return told["lag_records"] is not None

    wait_until(has_lag, "answered by Kafka", pause=1)
    assert (status["table"], status["lag_records"], status["unregistered"]) == (table, 0, [])
    found = command("where", scenario.config, f"{unique}-0@0", "--json")
    assert found.code == 0, found.out
    assert_flights_in_hive(hive, table, stored)
    hive.close()
    secret.unlink()
    seen |= {str(path): path.read_text("latin-1") for path in tmp_path.rglob("*") if path.is_file()}
    assert "spark.eventLog.dir" in seen["the UI"] and "kafka2hive_" in seen["the metrics"]
    assert table in seen["the page"] and "This run" in seen["the page"]
    assert any("SparkListenerJobEnd" in text for text in seen.values()), "no event log"
    assert [name for name, text in seen.items() if PASSWORD in text] == []
