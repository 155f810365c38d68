"""What commands say of a service that is not well, on real Kafka, HDFS and HiveServer2: before, during and after a run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness.program import Finished, Running, command, command_as_process, in_time, run_once
from tests.harness.service_map import FLIGHT_COLUMNS, flights_table, location, raw_table, write_map
from tests.harness.waiting import wait_until
from tests.oracle.tree import HdfsTree
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.ports import free_ports
from tests.services.produce import produce


def states(config: Path, ask: Callable[..., Finished] = command) -> tuple[int, dict[str, Any]]:
    """The exit code of `status`, and its tables by name."""
    told = ask("status", config, "--json")
    return told.code, {table["table"]: table for table in told.document["tables"]}


@pytest.mark.timeout(3600)
def test_a_wrong_port_an_unknown_topic_and_one_that_was_made_again_are_told(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, well, typo = f"{hdfs.namenode_url}/{unique}", f"{unique}.well", f"{unique}.typo"
    kafka.create_topic(unique, 2)
    stored = produce(kafka.bootstrap, unique, flights()[:2_000], 2)
    tables = [raw_table(well, unique), raw_table(typo, unique, topics=[unique, f"{unique}_typo"])]
    (tmp_path / "nowhere").mkdir()
    (port,) = free_ports(1)
    nowhere = write_map(
        tmp_path / "nowhere", unique, kafka.bootstrap, f"hdfs://127.0.0.1:{port}/{unique}", tables
    )
    away = run_once(nowhere, patient=False)
    assert away.code == 69, away.log[-3000:]
    assert f"[storage.unavailable] hdfs://127.0.0.1:{port} does not answer" in away.log
    assert "the query runs" not in away.log and "set aside" not in away.log

    config = write_map(tmp_path, unique, kafka.bootstrap, uri, tables)
    assert command("init", config).code == 75
    once = run_once(config)
    assert once.code == 75, once.log[-3000:]
    assert f"[kafka.unknown_topic] {typo}: the map lists topic {unique}_typo" in once.log
    found: dict[str, Any] = {}

    def lags_are_told() -> bool:
        found.update(states(config)[1])
        return all(found[name]["lag_records"] is not None for name in (well, typo))

    wait_until(lags_are_told, "told of the lags", pause=1)
    assert states(config)[0] == 75
    assert found[well]["last_outcome"]["state"] == "serving"
    assert found[typo]["last_outcome"]["error"]["code"] == "kafka.unknown_topic"
    for name in (well, typo):
        assert (found[name]["state"], found[name]["lag_records"]) == ("not_running", 0), "not all is dumped"
        assert sum(p["next_offset"] for p in found[name]["partitions"]) == len(stored)

    kafka.delete_topic(unique)
    kafka.create_topic(unique, 2)
    planned = command_as_process("recover", config, "--plan")
    assert planned.code == 76 and "[kafka.topic_recreated]" in planned.out, planned.out
    code, found = states(config)
    assert code == 76
    assert found[well]["error"]["code"] == "kafka.topic_recreated"
    assert f"--accept-gap '{unique}:*'" in found[well]["error"]["remedy"]
    mistyped = command("recover", config, "--accept-gap", f"{unique}x:*")
    assert mistyped.code == 78 and "usage.no_such_topic" in mistyped.log
    assert command("recover", config, "--plan", "--accept-gap", f"{unique}:*").code == 0
    assert command("verify", config, "--table", f"{well}x").code == 78


@pytest.mark.timeout(3600)
def test_another_process_sees_the_states_of_a_live_run(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, well, crowded = f"{hdfs.namenode_url}/{unique}", f"{unique}.well", f"{unique}.crowded"
    tree = HdfsTree(hdfs.client())
    kafka.create_topic(unique, 2)
    produce(kafka.bootstrap, unique, flights()[:2_000], 2)
    hdfs.client().mkdirs(location(uri, crowded).removeprefix(hdfs.namenode_url), create_parent=True)
    hdfs.set_quota(location(uri, crowded), names=3)
    goal = {"freshness": "3s", "share": 0.9}
    tables = [
        raw_table(well, unique, objective=goal),
        flights_table(crowded, unique, objective=goal),
    ]
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, tables)

    def told(table: str, state: str) -> bool:
        return bool(states(config)[1].get(table, {}).get("state") == state)

    with Running(config) as run:
        run.wait_until(
            lambda: told(crowded, "retrying") and told(well, "serving"), "one of two set aside", 600, pause=1
        )

        def seen_by_another() -> bool:
            """A run that stood still for some seconds has not beaten lately; a table has no next try while it is being tried."""
            code, found = states(config, command_as_process)
            assert found[crowded]["error"]["code"].startswith("storage.")
            waits = code == 75 and bool(found[crowded]["next_try"])
            return waits and found[well]["state"] == "serving" and bool(found[well]["owner_heartbeat"])

        run.wait_until(seen_by_another, "seen by another process", pause=1)
        hdfs.clear_quota(location(uri, crowded))
        run.wait_until(lambda: told(crowded, "serving"), "serving again", 600, pause=1)
        run.wait_until(lambda: states(config)[0] == 0, "well", 300, pause=1)

        def texts() -> list[str]:
            return [path for path in tree.files(f"{uri}/kafka2hive/alive") if "condition." in path]

        run.wait_until(lambda: len(texts()) == 1, "rid of all but the newest text")
        run.kill_driver()
        code, found = states(config)
        assert (code, found[well]["state"], found[well]["owner_heartbeat"]) == (0, "not_running", False)
        assert (found[well]["last_outcome"]["ended"], found[well]["last_outcome"]["state"]) == (
            False,
            "serving",
        )
        run.wait_for_orphans(300)
    seen = found[crowded]["objective"]
    assert seen["freshness_seconds"] == 3 and 0 < seen["missed_seconds"] <= seen["observed_seconds"], seen
    assert found[well]["objective"]["missed_seconds"] < seen["missed_seconds"], "it was served all the time"
    assert run_once(config).code == 0
    after = states(config)[1][crowded]["objective"]
    assert after["missed_seconds"] == seen["missed_seconds"], (
        "the next run goes on from the report of the killed one"
    )
    shown = " ".join(command("status", config).out.split())
    assert "fresher than 3.0 s for 90 % of 30 days; met for" in shown, shown


@pytest.mark.timeout(3600)
def test_validate_online_tells_what_a_run_would_meet_and_leaves_nothing_behind(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    database, uri = hive_database, f"{hdfs.namenode_url}/{hive_database}"
    tree = HdfsTree(hdfs.client())
    kafka.create_topic(database, 2, {"retention.ms": "300000"})
    produce(kafka.bootstrap, database, flights()[:100], 2)
    names = ("well", "wrong", "crowded", "typo")
    well, wrong, crowded, typo = (f"{database}.{name}" for name in names)
    tables = [
        flights_table(well, database, flush={"interval": "60s"}),
        flights_table(wrong, database),
        raw_table(crowded, database),
        raw_table(typo, f"{database}_typo"),
    ]
    config = write_map(
        tmp_path, database, kafka.bootstrap, uri, tables, hive={"url": f"hive://{hive.address}"}
    )
    columns = ", ".join(f"`{n}` {'string' if n == 'year' else kind}" for n, kind in FLIGHT_COLUMNS.items())
    hive.query(
        f"create external table {wrong} ({columns}, k_topic string, k_partition int, k_offset bigint)"
        f" partitioned by (dt string) stored as parquet location '{location(uri, wrong)}'"
    )
    hdfs.client().mkdirs(location(uri, crowded).removeprefix(hdfs.namenode_url), create_parent=True)
    hdfs.set_quota(location(uri, crowded), names=1)
    before = tree.files(uri)

    told = in_time(lambda: command_as_process("validate", config, "--online", "--json"))
    assert told.code == 78, told.out
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for check in told.document["checks"]:
        found.setdefault((check["system"], check["subject"]), []).append(check)

    def codes(system: str, subject: str) -> list[str | None]:
        return [check["code"] for check in found[system, subject]]

    assert codes("kafka", f"topic {database}") == [None, "kafka.retention"]
    assert "100 offsets, kept for 0.0833333 h" in found["kafka", f"topic {database}"][0]["message"]
    assert codes("kafka", typo) == ["kafka.unknown_topic"]
    assert codes("storage", crowded) == ["storage.no_room"]
    assert [codes("storage", name) for name in (well, wrong, "ledger root")] == [[None]] * 3
    assert codes("hive", wrong) == ["hive.columns"]
    message = found["hive", well][0]["message"].replace(str(config), "MAP")
    assert "does not exist yet: a run sends " in message and len(message) < 120
    assert codes("spark", "Java") == [None]
    assert tree.files(uri) == before
    assert hive.query(f"show tables in {database}") == [("wrong",)]

    tables = [flights_table(well, database)]
    config = write_map(
        tmp_path, database, kafka.bootstrap, uri, tables, hive={"url": f"hive://{hive.address}"}
    )
    fits = command("validate", config, "--online")
    assert fits.code == 0, fits.out
    hive_there = {"url": f"hive://{hive.address}"}
    nothing_there = write_map(tmp_path, database, kafka.bootstrap, f"{uri}_fresh", tables, hive=hive_there)
    fits = command("validate", nothing_there, "--online")
    assert fits.code == 0, fits.out
    (port,) = free_ports(1)
    away = write_map(
        tmp_path, database, kafka.bootstrap, uri, tables, hive={"url": f"hive://127.0.0.1:{port}"}
    )
    told = command("validate", away, "--online", patient=False)
    assert told.code == 69 and "[hive.unavailable]" in told.out, told.out
