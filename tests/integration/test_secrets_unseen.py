"""The password of a map is nowhere to be seen: not in `ps`, Spark's UI and event log, our logs and documents, the ledger."""

import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from kafka2hive.hive.session import HiveSession
from tests.harness.program import Running, command, command_as_process, run_once
from tests.harness.scenario import Scenario, flights_in, on_hdfs
from tests.harness.sessions import processes_of_session
from tests.services.flights import flights
from tests.services.ports import free_ports
from tests.services.produce import produce
from tests.services.secure.hive import LDAP_PASSWORD, LDAP_USER

if TYPE_CHECKING:
    from kafka2hive.config.values import HiveOptions
    from tests.services.hdfs import Hdfs
    from tests.services.kafka_broker import KafkaBroker

PAGES = (
    "environment/",
    "jobs/",
    "stages/",
    "api/v1/applications/{app}/environment",
    "api/v1/applications/{app}/jobs",
)


def seen_in_ps(session: int) -> str:
    """The command lines of a run, its JVM and its workers."""
    lines = []
    for process in processes_of_session(session):
        with suppress(psutil.Error):
            lines.append(" ".join(process.cmdline()))
    return "\n".join(lines)


def seen_in_the_ui(port: int) -> str:
    """Pages of Spark's UI while a run is under way."""

    def page(path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=60) as answer:
            return str(answer.read().decode())

    (application,) = (
        part.split('"')[3] for part in page("api/v1/applications").splitlines() if '"id"' in part
    )
    return "".join(page(path.format(app=application)) for path in PAGES)


@pytest.mark.timeout(900)
def test_a_password_is_nowhere_to_be_seen(
    kafka: "KafkaBroker", hdfs: "Hdfs", by_password: "HiveOptions", unique: str, tmp_path: Path
) -> None:
    session = HiveSession(by_password)
    session.run(f"create database {unique}")
    kafka.create_topic(unique, 1)
    produce(kafka.bootstrap, unique, flights()[:1_000], 1)
    events, (ui,) = tmp_path / "events", free_ports(1)
    events.mkdir()
    secret = tmp_path / "hive-password"
    secret.write_text(f"{LDAP_PASSWORD}\n")
    scenario = Scenario(
        tmp_path,
        unique,
        kafka.bootstrap,
        on_hdfs(hdfs, unique),
        [flights_in(f"{unique}.flights", unique)],
        hive={
            "url": f"hive://{LDAP_USER}@localhost:{by_password.port}/default?auth=LDAP&ssl=true",
            "password": f"file:{secret}",
            "ca_file": str(by_password.ca_file),
        },
        spark={
            "conf": {
                "spark.ui.enabled": True,
                "spark.ui.port": ui,
                "spark.eventLog.enabled": True,
                "spark.eventLog.compress": False,
                "spark.eventLog.dir": events.as_uri(),
            }
        },
    )
    seen: dict[str, str] = {}
    with Running(scenario.config, "--log-format", "json") as run:
        run.wait_for_epoch()
        seen["ps"], seen["the UI"] = seen_in_ps(run.pid), seen_in_the_ui(ui)
        assert run.terminate() == 143, run.tail()
        seen["the log"] = run.log.read_text()
    seen["the event log"] = "".join(path.read_text() for path in events.rglob("*") if path.is_file())
    for name, arguments in (
        ("validate", ("--json",)),
        ("validate", ("--online", "--json")),
        ("status", ("--json",)),
    ):
        done = command(name, scenario.config, *arguments)
        assert done.code == 0, done.out + done.log
        seen[f"{name} {' '.join(arguments)}"] = done.out + done.log
    secret.write_text("another-4711\n")
    done = command_as_process("validate", scenario.config, "--online", "--json")
    assert done.code == 69 and "hive.login" in done.out
    seen["a refused login"] = done.out + done.log
    produce(kafka.bootstrap, unique, flights()[-500:], 1)  # of a month that Hive has no partition of
    done = run_once(scenario.config)
    seen["a run that Hive does not let in"] = done.out + done.log
    assert done.code == 69 and "[hive.login] " in done.log, done.log[-3000:]
    assert "all rows are committed" in done.log and f"refuses user {LDAP_USER}" in done.log
    secret.write_text(f"{LDAP_PASSWORD}\n")
    assert command("recover", scenario.config).code == 0
    assert session.run(f"select count(*) from {unique}.flights") == [(1_500,)]
    tree = scenario.tree
    seen["the ledger"] = "".join(
        tree.read(path).decode(errors="replace") for path in tree.files(f"{scenario.uri}/kafka2hive")
    )
    assert "spark.eventLog.dir" in seen["the UI"] and "kafka2hive" in seen["ps"] and seen["the event log"]
    assert [name for name, text in seen.items() if LDAP_PASSWORD in text or "another-4711" in text] == []
    session.close()
