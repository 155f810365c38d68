"""A lineage server hears of each table's epochs once; one that is down, slow or rejects events delays nothing."""

import logging
import socket
import threading
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.config.keys import LineageOptions
from kafka2hive.lineage.events import (
    LineageEvent,
    LineageSource,
    kafka_namespace,
    location_name,
)
from kafka2hive.lineage.reporter import LineageReporter
from kafka2hive.lineage.sender import MOST_WAITING, LineageSender
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.service.tables.report import Reporter
from kafka2hive.storage.concurrency import DaemonThreads
from tests.harness.epoch_loop import (
    EARLY,
    LATE,
    AtOnce,
    Kafka,
    make_loop_and_tables,
    make_wiring,
    next_epoch,
    run,
)
from tests.harness.lineage_server import LineageServer, faults_of, lineage_server
from tests.harness.waiting import wait_until

SOURCE = LineageSource(namespace="jobs", service="dump", run_id=str(uuid.UUID(int=1)), is_batch=False)


def event(number: int = 1) -> LineageEvent:
    return LineageEvent(type="RUNNING", time_ms=number, run_id=str(uuid.UUID(int=2)), job="dump.air.flights")


def adder(counts: "Counter[str]") -> Callable[[str, int], None]:
    """Adds to the number of events with an outcome."""

    def count(outcome: str, events: int) -> None:
        counts[outcome] += events

    return count


def sender(url: str, counts: "Counter[str]", **options: Any) -> LineageSender:
    return LineageSender(LineageOptions(url, **options), SOURCE, DaemonThreads(), adder(counts))


def dump_two_epochs(folder: Path, url: str, counts: "Counter[str]", error: Exception | None = None) -> None:
    """Both tables read all records, and then one of them three more; the run ends with `error`."""
    wiring, kafka = make_wiring(folder), Kafka()
    reporter = LineageReporter(wiring, LineageOptions(url), adder(counts), once=False)
    loop, _ = make_loop_and_tables(
        wiring, kafka, once=False, schemas=AtOnce(), reporter=Reporter(epochs=[reporter])
    )
    run(loop, next_epoch(loop))
    kafka.ends[EARLY] += 3
    wiring.ports.clock.sleep(120)
    run(loop, next_epoch(loop))
    assert loop.plan() is None, "all records are published"
    reporter.end(error)


def of(server: LineageServer, table: str) -> list[tuple[str, list[tuple[str, int]]]]:
    return [
        (e["eventType"], [(i["name"], i["inputFacets"]["inputStatistics"]["rowCount"]) for i in e["inputs"]])
        for e in server.of(f"once.{table}")
    ]


def test_each_table_of_an_epoch_is_one_valid_event_and_the_end_is_another(tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    with lineage_server() as server:
        dump_two_epochs(tmp_path, server.url, counts)
    assert server.faults == []
    assert of(server, "air.early") == [
        ("START", [(EARLY.topic, 7)]),
        ("RUNNING", [(EARLY.topic, 3)]),
        ("COMPLETE", []),
    ]
    assert of(server, "air.late") == [("START", [(LATE.topic, 11)]), ("COMPLETE", [])]
    runs = {(e["job"]["name"], e["run"]["runId"]) for e in server.events}
    assert len(runs) == 2, "a table has one run"
    assert {e["run"]["facets"]["parent"]["job"]["name"] for e in server.events} == {"once"}
    assert counts == {"sent": 5}


def test_a_run_that_fails_is_reported_as_failed(tmp_path: Path) -> None:
    with lineage_server() as server:
        dump_two_epochs(tmp_path, server.url, Counter(), ServiceUnavailable("kafka.unavailable", "gone"))
    assert [kind for kind, _ in of(server, "air.late")] == ["START", "FAIL"]


def test_a_server_that_is_down_loses_events_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    counts: Counter[str] = Counter()
    with socket.socket() as closed, caplog.at_level(logging.INFO, "kafka2hive.lineage.sender"):
        closed.bind(("127.0.0.1", 0))  # not listening
        dump_two_epochs(tmp_path, f"http://127.0.0.1:{closed.getsockname()[1]}", counts)
    assert counts == {"dropped": 5}
    first, last = [record.getMessage() for record in caplog.records]
    assert "does not take events" in first and "refused" in first
    assert last.startswith("5 lineage events of this run did not reach http://127.0.0.1:")


def test_rejected_events_are_dropped_and_the_log_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    counts: Counter[str] = Counter()
    with lineage_server(lambda request: 400 if request < 3 else 201) as server:
        lineage = sender(server.url, counts)
        for number in range(4):
            lineage.put(event(number))
        lineage.end(60)
    assert counts == {"dropped": 2, "sent": 2}
    first, last = [record.getMessage() for record in caplog.records]
    assert "rejects events, which are dropped: HTTP 400" in first
    assert last.startswith(f"2 lineage events of this run did not reach {server.url}")


def test_an_event_waits_for_a_server_that_is_busy() -> None:
    counts: Counter[str] = Counter()
    with lineage_server(lambda request: 503 if request == 1 else 201) as server:
        lineage = sender(f"{server.url}/", counts, token="word")
        lineage.put(event())
        wait_until(lambda: server.events != [], "taken at the second try")
        lineage.end(60)
    assert (server.requests, counts) == (2, {"sent": 1})
    assert server.headers["authorization"] == "Bearer word"


def test_a_server_that_does_not_answer_makes_no_epoch_wait_and_memory_has_a_bound() -> None:
    counts: Counter[str] = Counter()
    go = threading.Event()

    def answer(request: int) -> int:
        go.wait(60)
        return 201

    with lineage_server(answer) as server:
        lineage = sender(server.url, counts)
        lineage.put(event())
        wait_until(lambda: server.requests == 1, "asked")
        for number in range(MOST_WAITING + 2):
            lineage.put(event(number))
        assert counts == {"dropped": 2}
        lineage.end(0)
        assert counts == {"dropped": MOST_WAITING + 3}, "the one that is under way counts as well"
        go.set()


def test_names_are_those_of_openlineages_convention() -> None:
    assert kafka_namespace("SASL_SSL://a:9093,b") == "kafka://a:9093"
    assert kafka_namespace("a, b:9093") == "kafka://a:9092"
    assert kafka_namespace("[::1]:9093") == "kafka://[::1]:9093"
    hdfs = location_name("hdfs://nn:8020/warehouse/air.db/flights")
    assert (hdfs.namespace, hdfs.name) == ("hdfs://nn:8020", "/warehouse/air.db/flights")
    assert location_name("file:///data/air").namespace == "file"


def test_an_invalid_event_is_noticed_by_the_tests_server() -> None:
    document = SOURCE.document(event())
    assert faults_of(document) == []
    assert faults_of(document | {"eventType": "BEGUN"}) == [
        "'BEGUN' is not one of ['START', 'RUNNING', 'COMPLETE', 'ABORT', 'FAIL', 'OTHER']"
    ]
    parent = document["run"]["facets"]["parent"] | {"job": {"name": "x"}}
    broken = document | {"run": document["run"] | {"facets": {"parent": parent}}}
    assert faults_of(broken) == ["parent: 'namespace' is a required property"]
