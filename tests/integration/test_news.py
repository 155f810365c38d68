"""Receivers are told of complete partitions at least once and in order: over a kill, and beside one that never answers."""

import signal
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.harness.news_receiver import news_server
from tests.harness.program import Running, command
from tests.harness.service_map import ledger_root, write_map
from tests.integration.test_dump_complete import EACH_DAY, PAST, records
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

OLDER = date(2026, 1, 28)
SECRET = "s3cr3t-of-the-receiver"


def _table(name: str, topic: str) -> dict[str, Any]:
    return {
        "table": name,
        "topics": [topic],
        "start": "earliest",
        "columns": {"id": "bigint", "kind": "string", "at": "timestamp"},
        "bucket": EACH_DAY,
        "flush": {"interval": "1s"},
        "completion": {"delay": "1s"},
    }


@pytest.mark.timeout(1800)
def test_receivers_are_told_over_a_kill_and_beside_one_that_does_not_answer(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, tree, table = f"{hdfs.namenode_url}/{unique}", HdfsTree(hdfs.client()), f"{unique}.days"
    ledger = LedgerText(tree, ledger_root(uri), table)
    kafka.create_topic(unique, 2)
    for day in PAST:
        produce(kafka.bootstrap, unique, records(day, "many", range(50)), 2)
    runs: list[Running] = []

    def kill_at_the_second(request: int) -> int:
        if request == 2:
            runs[0].kill_driver()
        return 200

    with news_server(kill_at_the_second) as steady, news_server(lambda request: None) as silent:
        receivers = [
            {"name": "steady", "url": steady.url, "token": SECRET, "headers": {"X-Team": "data"}},
            {"name": "silent", "url": silent.url},
        ]
        config = write_map(tmp_path, unique, kafka.bootstrap, uri, [_table(table, unique)], news=receivers)
        with Running(config) as run:
            runs.append(run)
            assert run.wait() == -signal.SIGKILL, run.tail()
        told = [event["id"] for event in steady.events]
        assert len(told) == 2, "the answer to the second was never read"

        with Running(config) as run:
            run.wait_until(lambda: len(steady.of("partition.complete")) == 3, "told")
            assert told[1] in [event["id"] for event in steady.events[2:]], "it comes again, with its id"

            # tables go on while one receiver never answers, and the other takes their news
            produce(kafka.bootstrap, unique, records(OLDER, "few", range(7)), 2)
            run.wait_until(lambda: len(steady.of("partition.complete")) == 4, "told of the new day")
            run.wait_until(lambda: "[news.no_answer]" in command("status", config).out, "told by status")
            assert silent.events == [] and silent.requests > 0

            silent.answers = lambda request: 500
            run.wait_until(lambda: "[news.later]" in command("status", config).out, "told by status")
            silent.answers = lambda request: 200
            run.wait_until(lambda: len(silent.of("partition.complete")) == 4, "told everything")
            assert run.terminate() == 143, run.tail()
            assert SECRET not in run.log.read_text()
    assert steady.faults == silent.faults == []
    assert steady.headers["authorization"] == f"Bearer {SECRET}" and steady.headers["x-team"] == "data"
    assert steady.headers["content-type"].startswith("application/cloudevents+json")

    snapshots = ledger.history()
    certificates = {
        f"{each['header'][0]['ledger']}/{each['header'][0]['epoch']}/complete/{line['partition']}": line
        for each in snapshots
        for line in each["certificate"]
    }
    for server in (steady, silent):
        once = {event["id"]: event for event in server.events}
        assert list(once) == list(certificates), "all of them, in the order of the ledger"
        for id, event in once.items():
            assert event["data"]["rows"] == certificates[id]["rows"]
            assert event["subject"] == event["data"]["partition"] == certificates[id]["partition"]
    epochs = {line["receiver"]: line["through"] for line in ledger.newest()["told"]}
    assert epochs.keys() == {"steady", "silent"}
    assert min(epochs.values()) >= max(int(id.split("/")[1]) for id in certificates)
    assert command("verify", config, "--deep").code == 0
