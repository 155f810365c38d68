"""The state of a live run as JSON, at `/status` of the endpoint: what the run knows, without a question to another system."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka2hive.cli.render.status_document import status_document
from kafka2hive.cli.terminal.document import json_text
from kafka2hive.kafka.port import Watermark
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.service.inspect.status import StatusResult
from kafka2hive.service.run.live_status import LiveStatus
from kafka2hive.service.run.outages import Absence, OutageWatch
from kafka2hive.service.run.owned_tables import OwnedTables
from kafka2hive.service.run.telemetry.liveness import Liveness
from kafka2hive.service.tables.table_state import MapTable, Table
from kafka2hive.service.topics.kafka_view import KafkaView
from kafka2hive.service.wiring import Wiring
from tests.harness.cli_ledger import TABLE, pending_service
from tests.unit.service.later_epochs import epoch, take
from tests.unit.service.owned_table import own

FROZEN = Path(__file__).parents[3] / "contract" / "json_output" / "status.json"


class LiveRun:
    """A run with a table that it owns, and one that it could not take over."""

    def __init__(self, folder: Path) -> None:
        self.wiring = pending_service(folder).wiring
        rule = self.wiring.map.tables[0]
        ledger = epoch(self.wiring, take(self.wiring), "2013-01-01")
        self.table = own(Table(MapTable(rule, self.wiring.paths(TABLE), ("flights",))), ledger)
        self.other = Table(MapTable(replace(rule, table="air.other"), self.wiring.paths("air.other"), ("o",)))
        self.other.set_aside(ServiceUnavailable("hive.unavailable", "no answer", "start it"), 0.0)
        self.liveness = Liveness(self.wiring, self.wiring.new_owner(), "native 1.0")
        self.metrics = ServiceMetrics("demo")
        self.outages = OutageWatch(self.metrics, self.wiring.ports.clock)
        self.high: Mapping[TopicPartition, Watermark] = {}
        self.note()

    def note(self) -> None:
        self.liveness.tick(0.0, [self.table, self.other])

    def status(self, wiring: Wiring | None = None) -> LiveStatus:
        tables = {table.name: table for table in (self.table, self.other)}
        return LiveStatus(
            wiring=wiring or self.wiring,
            owned_tables=cast("OwnedTables", SimpleNamespace(tables=tables, conflicts=())),
            kafka=cast("KafkaView", SimpleNamespace(high=self.high)),
            liveness=self.liveness,
            outages=self.outages,
            encode=lambda service, result: json_text(status_document(service, result)),
        )

    def document(self) -> Any:
        return json.loads(self.status()())


@pytest.fixture
def run(tmp_path: Path) -> Iterator[LiveRun]:
    live = LiveRun(tmp_path)
    yield live
    live.metrics.close()
    live.liveness.end(None, [])


def test_it_is_the_document_of_status(run: LiveRun) -> None:
    """Whoever reads one can read the other: same keys, also of a table."""
    document, frozen = run.document(), json.loads(FROZEN.read_text())
    assert document.keys() == frozen.keys() and document["format"] == frozen["format"]
    assert document["tables"][0].keys() == frozen["tables"][0].keys()


def test_it_says_what_the_run_knows(run: LiveRun) -> None:
    (position,) = run.table.owned.state.positions
    run.high = {position.topic_partition: Watermark(position.end + 42)}
    document = run.document()
    (table,) = document["tables"]
    assert (table["table"], table["state"], table["owner_heartbeat"]) == (TABLE, "serving", True)
    assert (table["epoch"], table["lag_records"]) == (run.table.owned.state.epoch, 42)
    assert document["decoder"] == "native 1.0"
    (other,) = document["not_begun_states"]
    assert (other["table"], other["state"], other["error"]["code"]) == (
        "air.other",
        "retrying",
        "hive.unavailable",
    )
    assert document["exit_code"] == 75


def test_an_outage_is_in_it_although_no_sign_of_life_can_be_written(run: LiveRun) -> None:
    run.outages({"storage": Absence("no answer within 8 s"), "kafka": Absence("no broker")})
    document = run.document()
    assert document["exit_code"] == 69
    assert "no answer within 8 s" in document["storage_error"]["message"]
    assert "no broker" in document["kafka_error"]


def test_the_endpoint_answers_with_it(run: LiveRun) -> None:
    port = run.metrics.serve("127.0.0.1", 0, None, run.status())
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/status", timeout=10) as answer:
        assert answer.headers["Content-Type"] == "application/json"
        assert json.load(answer)["command"] == "status"
    elsewhere = urllib.request.Request(f"http://127.0.0.1:{port}/status", headers={"Host": "example.com"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(elsewhere, timeout=10)
    assert refused.value.code == 403
    refused.value.close()


def test_without_a_page_the_endpoint_has_only_metrics(run: LiveRun) -> None:
    port = run.metrics.serve("127.0.0.1", 0)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/status", timeout=10) as answer:
        assert b"kafka2hive_service_info" in answer.read()


def test_it_names_the_map_and_no_secret(run: LiveRun) -> None:
    secret = 'pass"word'
    properties = (*run.wiring.map.kafka.properties, ("sasl.password", secret))
    kafka = replace(run.wiring.map.kafka, properties=properties)
    service_map = replace(run.wiring.map, kafka=kafka, secret_keys=frozenset({"sasl.password"}))
    run.outages({"kafka": Absence(f"refused {secret}")})
    text = run.status(replace(run.wiring, map=service_map))().decode()
    document = json.loads(text)
    assert "refused ***" in document["kafka_error"] and "word" not in text
    assert " -c MAP" not in text and "kafka2hive doctor" in document["kafka_error"]


def test_a_result_of_status_can_be_made_without_conditions(run: LiveRun) -> None:
    """A request may come before the first sign of life."""
    run.liveness = Liveness(run.wiring, run.wiring.new_owner())
    result = run.status().result()
    assert isinstance(result, StatusResult)
    assert [table.state.name for table in result.tables] == ["starting"]
