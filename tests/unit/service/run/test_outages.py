"""A service that is away is told once when that begins and once when it is over: in the log, as a metric, and in `status`."""

import logging
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from kafka2hive.config.load import load_map
from kafka2hive.kafka.port import Watermark
from kafka2hive.model.errors import SchemaRegistryUnavailable, ServiceUnavailable, TableError
from kafka2hive.model.metastore import MetastoreUnavailable
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.service.tables.outages import OutageWatch, systems_away
from kafka2hive.service.tables.report import Reporter
from kafka2hive.service.tables.table_state import MapTable, Table
from kafka2hive.service.wiring import Wiring, wire
from tests.harness.cli_ledger import TABLE, write_map
from tests.harness.clock import SkippedTime
from tests.harness.epoch_loop import HiveAnswers, Kafka, make_loop_and_tables, make_wiring

AWAY = ServiceUnavailable("kafka.unavailable", "Kafka at b1:9092,b2:9092 did not answer (metadata): refused")


@pytest.fixture
def wiring(tmp_path: Path) -> Wiring:
    return wire(load_map(str(write_map(tmp_path)), {}))


def make_table(wiring: Wiring) -> Table:
    rule = wiring.map.tables[0]
    return Table(MapTable(rule, wiring.paths(TABLE), ("flights",)))


def unavailable(metrics: ServiceMetrics, system: str) -> float | None:
    return metrics.registry.get_sample_value("kafka2hive_service_unavailable", {"system": system})


def test_an_outage_has_one_line_when_it_begins_and_one_when_it_is_over(
    wiring: Wiring, caplog: pytest.LogCaptureFixture
) -> None:
    metrics, clock, table = ServiceMetrics("demo"), SkippedTime(), make_table(wiring)
    watch = OutageWatch(metrics, clock)
    assert unavailable(metrics, "kafka") == 0
    with caplog.at_level(logging.INFO):
        for _ in range(30):
            watch(systems_away(AWAY, None, [table]), [table])
            clock.seconds += 31
        assert unavailable(metrics, "kafka") == 1
        (warning,) = table.warnings["outages"]
        assert warning.startswith(
            "Kafka has not answered since 2025-11-21T08:00:00Z: Kafka at b1:9092,b2:9092"
        )
        watch(systems_away(None, None, [table]), [table])
        watch({}, [table])
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("WARNING", f"Kafka does not answer; the run keeps asking: {AWAY.message}"),
        ("INFO", "Kafka answers again, after 16 min"),
    ]
    assert (unavailable(metrics, "kafka"), table.warnings["outages"]) == (0, ())


def test_what_is_away_is_known_by_what_planning_registering_and_the_tables_met(wiring: Wiring) -> None:
    table, other = make_table(wiring), make_table(wiring)
    assert systems_away(None, None, [table]) == {}
    table.set_aside(TableError("hive.columns", "Hive has no column b"), 0.0)
    assert systems_away(None, None, [table]) == {}, "it answers"
    other.set_aside(SchemaRegistryUnavailable("nobody answers at http://registry"), 0.0)
    away = systems_away(AWAY, MetastoreUnavailable("HiveServer2 at h:10000: refused"), [table, other])
    assert set(away) == {"kafka", "hive", "registry"}
    table.set_aside(TableError("storage.unavailable", "no NameNode answers"), 0.0)
    assert systems_away(None, None, [table]) == {"storage": "no NameNode answers"}


class KafkaThatGoesAway(Kafka):
    away = False

    def latest(self, wanted: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        if self.away:
            raise AWAY
        return super().latest(wanted)


def test_each_look_at_what_is_due_tells_what_is_away(tmp_path: Path) -> None:
    told: list[Mapping[str, str]] = []
    kafka, registrar = KafkaThatGoesAway(), HiveAnswers()
    reporter = Reporter(outages=[lambda away, tables: told.append(away)])
    loop, _ = make_loop_and_tables(make_wiring(tmp_path), kafka, False, registrar, reporter=reporter)
    kafka.away = True
    assert loop.plan() is None
    assert told[-1]["kafka"] == AWAY.message
    kafka.away, registrar.why = False, MetastoreUnavailable("HiveServer2 at h:10000: refused")
    assert loop.plan() is not None
    assert "kafka" not in told[-1] and "HiveServer2 at h:10000" in told[-1]["hive"]
