"""Orders to a live run on real services: pause and resume under `kill -9`, wrong files, and a registration that is given up."""

import os
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.drills.driver_kills import PROGRAM as TRAPPED
from tests.drills.driver_kills import environment
from tests.drills.failpoint import BEFORE, HOLD, Failpoint
from tests.harness.program import Running, command
from tests.harness.scenario import Scenario, flights_in, on_hdfs, payloads_in
from tests.harness.service_map import ledger_root, put_file
from tests.oracle.exact import ends_of, flight
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.ports import free_ports
from tests.services.produce import produce

PART = 5_000
BEFORE_DONE = Failpoint("before moving an order to done", "rename", r"/inbox/.*\.json -> .*/done/", BEFORE)


class Orders:
    """The commands of an operator, and what the service's inbox shows."""

    def __init__(self, scenario: Scenario, service: str) -> None:
        self._scenario = scenario
        self._place = f"{ledger_root(scenario.uri)}/inbox/{service}"

    def give(self, name: str, table: str) -> dict[str, Any]:
        """Give an order, which must be carried out."""
        done = command(name, self._scenario.config, "--table", table, "--json")
        assert done.code == 0, done.out + done.log[-3000:]
        return done.document

    def files(self, *places: str) -> list[str]:
        """Names of the files in the inbox, or in a directory of it."""
        place = "/".join((self._place, *places))
        return [
            path.removeprefix(place + "/")
            for path in self._scenario.tree.files(place)
            if "/" not in path.removeprefix(place + "/")
        ]

    def recorded(self, table: str) -> list[tuple[str, str]]:
        """Id and kind of each order in the ledger's whole history, as often as a snapshot brings one."""
        history = self._scenario.ledgers[table].history()
        return [
            (line["id"], line["kind"])
            for snapshot in history
            for line in snapshot["order"]
            if line["epoch"] == snapshot["header"][0]["epoch"]
        ]


def shown(scenario: Scenario, table: str) -> dict[str, Any]:
    tables = command("status", scenario.config, "--json").document["tables"]
    found: dict[str, Any] = next(t for t in tables if t["table"] == table)
    return found


@pytest.mark.timeout(3600)
def test_a_table_is_paused_and_resumed_beside_a_run_that_is_killed_before_the_order_is_moved(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    json, raw = f"{unique}.flights", f"{unique}.payloads"
    (port,) = free_ports(1)
    kafka.create_topic(unique, 2)
    scenario = Scenario(
        tmp_path,
        unique,
        kafka.bootstrap,
        on_hdfs(hdfs, unique),
        [flights_in(json, unique), payloads_in(raw, unique)],
        metrics={"port": port},
    )
    orders = Orders(scenario, unique)
    parts = [flights()[n * PART : (n + 1) * PART] for n in range(2)]
    stored = produce(kafka.bootstrap, unique, parts[0], 2)
    first_ends = ends_of(stored)

    # held first: a command that takes its run for dead before it reads the answer would move the order itself
    trap = Failpoint(**asdict(BEFORE_DONE) | {"mark": str(tmp_path / "mark"), "signal": HOLD})
    with Running(scenario.config, program=TRAPPED, env=environment(trap)) as killed:
        scenario.wait_until_at(killed, first_ends)
        answer = orders.give("pause", json)
        assert answer["paused"]["order"] == answer["order"]["id"]
        killed.wait_until(trap.was_hit, "before the move")
        killed.kill_driver()
    order_id = answer["order"]["id"]
    assert orders.files() == [f"{order_id}.json"] and orders.files("done") == []

    with Running(scenario.config) as run:
        run.wait_until(lambda: orders.files("done") == [f"{order_id}.json"], "done with the order")
        assert orders.files() == [] and orders.recorded(json) == [(order_id, "pause")]
        generation = scenario.ledgers[json].generation()

        stored |= produce(kafka.bootstrap, unique, parts[1], 2)
        scenario.wait_until_at(run, ends_of(stored), raw)
        table: dict[str, Any] = {}

        def is_paused() -> bool:
            table.update(shown(scenario, json))
            return (table["state"], table["lag_records"]) == ("paused", PART)

        run.wait_until(is_paused, "behind on purpose", pause=0.5)
        assert table["paused"]["order"] == order_id
        assert f"has been paused since {table['paused']['since']}" in command("status", scenario.config).out
        assert scenario.ledgers[json].ends() == first_ends
        run.wait_until(lambda: f'kafka2hive_paused{{table="{json}"}} 1.0' in metrics(port), "told by metrics")
        run.wait_until(lambda: f'kafka2hive_paused{{table="{raw}"}} 0.0' in metrics(port), "as well")

        note = f"{ledger_root(scenario.uri)}/inbox/{unique}"
        put_file(scenario.config, f"{note}/note.txt", b"resume everything, please")
        run.wait_until(lambda: orders.files("rejected") == ["note.txt"], "rid of the note")
        run.wait_until(lambda: run.said("[order.foreign] note.txt"), "told of the note")

        resumed = orders.give("resume", json)
        assert resumed["paused"] is None
        scenario.wait_until_at(run, ends_of(stored))
        run.wait_until(lambda: shown(scenario, json)["state"] == "serving", "serving again", pause=0.5)
        assert scenario.ledgers[json].generation() == generation, "an order has fenced the run"
        assert run.terminate() == 143, run.tail()
    assert [kind for _, kind in orders.recorded(json)] == ["pause", "resume"]
    assert orders.recorded(raw) == []
    scenario.assert_exactly_once(stored)
    scenario.verify()


def metrics(port: int) -> str:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        text: str = answer.read().decode()
    return text


@pytest.mark.timeout(3600)
def test_a_live_run_gives_up_a_registration_and_is_not_fenced(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    table = f"{hive_database}.flights"
    kafka.create_topic(hive_database, 1)
    by_month: dict[str, list[bytes]] = {}
    for payload in flights():
        by_month.setdefault(flight(payload)[0], []).append(payload)
        if len(by_month) == 3:
            break
    january, february = list(by_month)[:2]
    scenario = Scenario(
        tmp_path,
        hive_database,
        kafka.bootstrap,
        on_hdfs(hdfs, hive_database),
        [flights_in(table, hive_database)],
        hive={"url": f"hive://{hive.address}"},
    )
    stored = produce(kafka.bootstrap, hive_database, by_month[january][:500], 1)
    with Running(scenario.config) as run:
        scenario.wait_until_at(run, ends_of(stored))
        run.wait_until(lambda: len(hive.query(f"show partitions {table}")) == 1, "in Hive")
        generation = scenario.ledgers[table].generation()
        wrong = f"{scenario.uri}/elsewhere"
        hive.query(
            f"alter table {table} add partition (dt='{february.removeprefix('dt=')}') location '{wrong}'"
        )
        stored |= produce(kafka.bootstrap, hive_database, by_month[february][:500], 1)
        run.wait_until(lambda: run.said("hive.misplaced"), "told by Hive")
        run.wait_until(lambda: shown(scenario, table)["state"] == "retrying", "set aside")

        unknown = command("recover", scenario.config, "--forget-registration", table, "dt=1999-01")
        assert unknown.code == 78, unknown.out + unknown.log
        forgotten = command("recover", scenario.config, "--forget-registration", table, february, "--json")
        assert forgotten.code == 0, forgotten.out + forgotten.log[-3000:]
        (told,) = forgotten.document["tables"]
        assert (told["result"], told["forgotten"][0]["partition"]) == ("ordered", february)

        stored |= produce(kafka.bootstrap, hive_database, by_month[january][500:900], 1)
        scenario.wait_until_at(run, ends_of(stored))
        assert scenario.ledgers[table].generation() == generation, "the run was fenced"
        (line,) = scenario.ledgers[table].newest()["forgotten"]
        assert line["partition"] == february and "@" in line["by"]
        assert run.terminate() == 143, run.tail()
    scenario.assert_exactly_once(stored)


@pytest.mark.timeout(3600)
def test_an_order_waits_for_an_owner_that_does_not_answer_and_is_done_by_the_next(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    table = f"{unique}.payloads"
    kafka.create_topic(unique, 1)
    scenario = Scenario(
        tmp_path, unique, kafka.bootstrap, on_hdfs(hdfs, unique), [payloads_in(table, unique)]
    )
    orders = Orders(scenario, unique)
    stored = produce(kafka.bootstrap, unique, flights()[:1_000], 1)
    with Running(scenario.config) as run:
        scenario.wait_until_at(run, ends_of(stored))
        run.kill_driver()
        run.wait_for_orphans(300)
    # nobody is alive: a command that is killed before it takes the table over leaves the order
    trap = Failpoint(
        "before a take-over", "rename", r"/g\d+\.[^/]* -> .*/g\d+\.[^/]*$", BEFORE, str(tmp_path / "m")
    )
    ended = subprocess.run(
        [*TRAPPED, "pause", "--table", table, "-c", str(scenario.config)],
        env={**os.environ, **environment(trap)},
        capture_output=True,
        check=False,
        timeout=600,
    )
    assert ended.returncode == -9 and trap.was_hit(), ended.stderr[-2000:]
    assert len(orders.files()) == 1 and orders.recorded(table) == []
    with Running(scenario.config) as run:
        run.wait_until(lambda: len(orders.files("done")) == 1, "done with the order")
        stored |= produce(kafka.bootstrap, unique, flights()[1_000:1_500], 1)
        run.wait_until(lambda: shown(scenario, table)["lag_records"] == 500, "behind on purpose")
        assert run.terminate() == 143, run.tail()
    once = command("run", scenario.config, "--once")
    assert once.code == 75 and "table.paused" in once.log, once.log[-3000:]
    assert orders.give("resume", table)["order"]["kind"] == "resume"
    scenario.run_once()
    assert [kind for _, kind in orders.recorded(table)] == ["pause", "resume"]
    scenario.assert_exactly_once(stored)
    scenario.verify()
