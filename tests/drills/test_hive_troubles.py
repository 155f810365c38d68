"""One run of the service, and Hive in all kinds of trouble: killed, stopped, a partition and a table dropped."""

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.drills.conftest import Figures
from tests.drills.form import Form
from tests.drills.supervised import Supervised
from tests.harness.program import command
from tests.harness.scenario import Scenario, flights_in, on_hdfs, payloads_in
from tests.oracle.exact import ends_of, flights_by_month
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import Place, produce

PARTS = 4


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("interface", ["url", "metastore"])
def test_whatever_happens_to_hive_the_dump_goes_on_and_hive_learns_it_all(
    kafka: KafkaBroker,
    hdfs: Hdfs,
    hive_to_kill: HiveServer,
    unique: str,
    tmp_path: Path,
    form: Form,
    figures: Figures,
    interface: str,
) -> None:
    hive = hive_to_kill
    json_table, raw, doomed = (f"{unique}.{name}" for name in ("flights", "payloads", "doomed"))
    records = flights()[:: form.pick(60, 4)]
    parts = [records[n * len(records) // PARTS : (n + 1) * len(records) // PARTS] for n in range(PARTS)]
    stored: dict[Place, bytes | None] = {}
    kafka.create_topic(unique, 2)
    tables = [flights_in(json_table, unique), payloads_in(raw, unique), flights_in(doomed, unique)]
    urls = {"url": f"hive://{hive.address}", "metastore": hive.metastore_url}
    address = {interface: urls[interface], "timeout": "15s"}
    scenario = Scenario(tmp_path, unique, kafka.bootstrap, on_hdfs(hdfs, unique), tables, hive=address)
    config = scenario.config
    # what verify asks is not what this drill is about: a busy Hive may take longer than the run waits for it
    patient = config.with_name("patient.yaml")
    patient.write_text(config.read_text().replace("timeout: 15s", "timeout: 300s"))
    assert patient.read_text() != config.read_text()

    def produce_part(number: int) -> None:
        stored.update(produce(kafka.bootstrap, unique, parts[number], 2))

    def owed() -> int:
        return sum(len(ledger.newest()["unregistered"]) for ledger in scenario.ledgers_of())

    def wait_until_read(service: Supervised, *names: str) -> None:
        scenario.wait_until_at(service, ends_of(stored), *names, seconds=600)

    with Supervised(config) as service:
        produce_part(0)
        service.wait_until(lambda: service.epochs() > 0, "an epoch", 600)
        wait_until_read(service)
        service.wait_until(lambda: owed() == 0, "out of pending registration", 900, 0.2)

        hive.kill()
        produce_part(1)
        wait_until_read(service)
        owed_while_killed = owed()
        assert owed_while_killed, "Hive was away, and nothing is owed"
        hive.start()
        service.wait_until(lambda: owed() == 0, "out of pending registration after a kill", 900, 0.2)

        began = time.monotonic()
        hive.service.suspend()
        produce_part(2)
        wait_until_read(service)
        dumped_in = time.monotonic() - began
        time.sleep(max(form.pick(6.0, 60.0) - dumped_in, 0))
        owed_while_slow = owed()
        assert owed_while_slow, "Hive answered nothing, and nothing is owed"
        hive.service.resume()
        service.wait_until(lambda: owed() == 0, "out of pending registration after a stop", 900, 0.2)
        assert findings(patient) == []

        month = min(flights_by_month(stored))
        hive.query(f"alter table {json_table} drop partition (dt='{month}')")
        ((code, where),) = findings(patient)
        assert code == "verify.hive" and f"{json_table} dt={month}" in where
        hive.query(f"msck repair table {json_table}")  # what docs/operations.md says
        assert findings(patient) == []

        hive.query(f"drop table {doomed}")
        produce_part(3)
        wait_until_read(service, json_table, raw)
        service.wait_until(lambda: service.run.said(f"{doomed} is set aside"), "set aside", 900)
        assert {code for code, where in findings(patient) if doomed in where} == {"verify.hive"}
        wait_until_read(service)  # makes the table again
        service.wait_until(
            lambda: owed() == 0, "out of pending registration after the table was dropped", 900, 0.2
        )
        restarts = service.restarts
        assert service.run.terminate() == 143, service.run.tail()
    assert findings(patient) == [], "the run has registered all partitions of the dropped table again"

    by_month = flights_by_month(stored)
    for table in (json_table, doomed):
        assert Counter(dict(hive.query(f"select dt, count(*) from {table} group by dt"))) == by_month
    assert hive.query(f"select count(*) from {raw}") == [(len(stored),)]
    scenario.assert_exactly_once(stored)
    figures(
        records=len(stored),
        owed_while_killed=owed_while_killed,
        owed_while_slow=owed_while_slow,
        dumped_while_hive_hung_s=dumped_in,
        service_restarts=restarts,
    )


def findings(config: Path) -> list[tuple[str, str]]:
    """What `verify` finds: code, and place."""
    told = command("verify", config, "--json")
    document: dict[str, Any] = json.loads(told.out)
    found = [(f["code"], f["where"]) for table in document["tables"] for f in table["findings"]]
    assert not document["errors"] and told.code == (76 if found else 0), told.out
    return found
