"""A map with `hive.metastore` alone, on real services: what validate, plan, doctor, status, verify and certificate say."""

import json
from pathlib import Path
from typing import Any

from tests.harness.program import Finished, command, run_once
from tests.harness.service_map import flights_table, write_map
from tests.oracle.exact import flights_by_month
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.ports import free_ports
from tests.services.produce import produce


def checks(done: Finished) -> dict[str, list[dict[str, Any]]]:
    """The checks of Hive by subject."""
    found: dict[str, list[dict[str, Any]]] = {}
    for check in json.loads(done.out)["checks"]:
        if check["system"] == "hive":
            found.setdefault(check["subject"], []).append(check)
    return found


def test_every_command_asks_the_metastore_and_says_so(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    topic = hive_database
    table = f"{hive_database}.flights"
    kafka.create_topic(topic, 2)
    stored = produce(kafka.bootstrap, topic, flights()[::40], 2)
    uri = f"{hdfs.namenode_url}/{hive_database}"
    dead, *_ = free_ports(1)

    def map_with(name: str, **hive_section: str) -> Path:
        (tmp_path / name).mkdir()
        tables = [flights_table(table, topic)]
        return write_map(tmp_path / name, topic, kafka.bootstrap, uri, tables, hive=hive_section)

    config = map_with("map", metastore=f"thrift://127.0.0.1:{dead},127.0.0.1:{hive.metastore_port}")
    before = checks(command("validate", config, "--online", "--json"))
    assert before[table][0]["result"] == "ok" and "`kafka2hive plan" in before[table][0]["message"]
    assert "CREATE EXTERNAL TABLE" in command("plan", config).out
    assert run_once(config).code == 0
    assert dict(hive.query(f"select dt, count(*) from {table} group by dt")) == flights_by_month(stored)

    after = checks(command("validate", config, "--online", "--json"))
    assert [check["result"] for check in after[table]] == ["ok"]
    version = checks(command("doctor", config, "--json"))["version"]
    assert version[0]["message"] == "the metastore answers; its interface does not tell the version"
    status = command("status", config, "--json").document
    assert [each["unregistered"] for each in status["tables"]] == [[]]
    assert command("verify", config).code == 0
    month = min(flights_by_month(stored))
    hive.query(f"alter table {table} drop partition (dt='{month}')")
    found = command("verify", config, "--json")
    assert (
        found.code == 76 and f"dt={month}" in found.out and "is not registered; its rows are at" in found.out
    )

    for name, section in {
        "away": {"metastore": f"thrift://127.0.0.1:{dead}"},
        "server": {"metastore": f"thrift://127.0.0.1:{hive.port}", "timeout": "3s"},
    }.items():
        wrong = map_with(name, **section)
        for what in (("validate", "--online"), ("doctor",)):
            done = command(what[0], wrong, *what[1:], "--json", patient=False)
            errors = [each for of in checks(done).values() for each in of if each["result"] == "error"]
            assert done.code == 69 and {each["code"] for each in errors} == {"hive.unavailable"}, done.out
            assert all(section["metastore"].removeprefix("thrift://") in each["message"] for each in errors)
