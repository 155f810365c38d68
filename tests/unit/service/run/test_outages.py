"""A service that is away is told once when that begins and once when it is over: in the log, as a metric, and in `status`."""

import logging
import threading
from collections.abc import Collection
from pathlib import Path
from typing import Any, cast

import pytest

from kafka2hive.config.load import load_map
from kafka2hive.kafka.port import Watermark
from kafka2hive.model.errors import (
    AmbiguousOutcome,
    ConfigError,
    SchemaRegistryUnavailable,
    ServiceUnavailable,
    TableError,
)
from kafka2hive.model.metastore import HiveLoginRefused, MetastoreUnavailable, TooManySessions
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.service.run.assembly import assemble
from kafka2hive.service.run.outages import Absence, OutageWatch, systems_away
from kafka2hive.service.run.result import RunRequest, RunTools
from kafka2hive.service.run.telemetry.probe import SILENT_SECONDS, Probe, hive_question, registry_question
from kafka2hive.service.tables.table_state import MapTable, Table
from kafka2hive.service.wiring import Wiring, wire
from kafka2hive.storage.concurrency import DaemonThreads
from tests.harness.cli_ledger import TABLE, wired, write_map
from tests.harness.clock import SkippedTime
from tests.harness.epoch_loop import (
    EARLY,
    AtOnce,
    HiveAnswers,
    Kafka,
    make_loop_and_tables,
    make_wiring,
    planned,
)
from tests.harness.fake_hive import FakeHive

MAPS = {
    "plain": "tables:\n  - {table: air.days, topics: [days], format: raw}\n",
    "all": """\
hive: {url: "hive://127.0.0.1:9"}
registry: {url: "http://127.0.0.1:9"}
tables:
  - {table: air.days, topics: [days], format: avro, columns: {a: int}}
""",
}
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
            watch(systems_away(AWAY, None, [table]))
            clock.seconds += 31
        assert unavailable(metrics, "kafka") == 1
        (warning,) = watch.texts.values()
        assert warning.startswith(
            "Kafka has not answered since 2025-11-21T08:00:00Z: Kafka at b1:9092,b2:9092"
        )
        watch(systems_away(None, None, [table]))
        watch({})
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("WARNING", f"Kafka does not answer; the run keeps asking: {AWAY.message}"),
        ("INFO", "Kafka answers again, after 16 min"),
    ]
    assert (unavailable(metrics, "kafka"), watch.texts) == (0, {})


def test_what_is_away_is_known_by_what_planning_registering_and_the_tables_met(wiring: Wiring) -> None:
    table, other = make_table(wiring), make_table(wiring)
    assert systems_away(None, None, [table]) == {}
    table.set_aside(TableError("hive.columns", "Hive has no column b"), 0.0)
    assert systems_away(None, None, [table]) == {}, "it answers"
    other.set_aside(SchemaRegistryUnavailable("nobody answers at http://registry"), 0.0)
    away = systems_away(AWAY, MetastoreUnavailable("HiveServer2 at h:10000: refused"), [table, other])
    assert set(away) == {"kafka", "hive", "registry"}
    table.set_aside(TableError("storage.unavailable", "no NameNode answers"), 0.0)
    assert systems_away(None, None, [table]) == {"storage": Absence("no NameNode answers")}


def test_a_system_that_refuses_the_run_is_not_said_to_be_silent(
    wiring: Wiring, caplog: pytest.LogCaptureFixture
) -> None:
    watch, table = OutageWatch(ServiceMetrics("demo"), SkippedTime()), make_table(wiring)
    limit = TooManySessions("Connection limit per user reached")
    with caplog.at_level(logging.INFO):
        watch(systems_away(None, limit, [table]))
        (warning,) = watch.texts.values()
        table.set_aside(limit.to_error("tables cannot be compared: Connection limit per user reached"), 0.0)
        assert systems_away(None, None, [table])["hive"].refuses
        watch({})
    assert warning.startswith("Hive has refused this run since 2025-")
    assert [r.getMessage() for r in caplog.records] == [
        "Hive refuses this run; the run keeps asking: Connection limit per user reached",
        "Hive accepts this run again, after 0.0 s",
    ]


class KafkaThatGoesAway(Kafka):
    away = False

    def latest(self, wanted: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        if self.away:
            raise AWAY
        return super().latest(wanted)


def test_why_nothing_is_planned_is_known_until_something_is(tmp_path: Path) -> None:
    kafka = KafkaThatGoesAway()
    loop, _ = make_loop_and_tables(make_wiring(tmp_path), kafka, False, HiveAnswers())
    kafka.away = True
    assert loop.plan() is None and loop.no_plan is AWAY
    kafka.away = False
    assert loop.plan() is not None and loop.no_plan is None


def test_a_silent_system_is_away_whatever_the_tables_wait_for(wiring: Wiring) -> None:
    silences = {"storage": "no answer within 8 s", "kafka": None}
    assert systems_away(None, None, [make_table(wiring)], silences) == {
        "storage": Absence("no answer within 8 s")
    }


def test_nothing_is_planned_while_the_storage_is_silent_and_its_tables_are_tried_at_once_after_that(
    tmp_path: Path,
) -> None:
    loop, tables = make_loop_and_tables(make_wiring(tmp_path), Kafka(), False, schemas=AtOnce())
    early, late = tables.tables["air.early"], tables.tables["air.late"]
    tables.set_aside(early, AmbiguousOutcome("storage.outcome_unknown", "no answer"))
    tables.set_aside(late, TableError("hive.columns", "Hive has no column b"))
    loop.silences = lambda: {"storage": "no answer within 8 s"}
    assert loop.plan() is None and early.lag is None
    loop.silences = lambda: {"storage": None}
    epoch = loop.plan()
    assert epoch is not None and {r.topic_partition for r in planned(epoch)} == {EARLY}


class Question:
    """A service that is asked; it hangs while `open` is not set."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.asked = 0
        self.answer: str | None = None

    def __call__(self) -> str | None:
        self.asked += 1
        assert self.open.wait(60)
        return self.answer


def test_a_question_without_an_answer_shows_a_silent_service_and_blocks_nobody() -> None:
    question, clock = Question(), SkippedTime()
    probe = Probe("probe", question, DaemonThreads(), clock)
    seen = [probe.silence]
    probe.request()
    probe.request(patience=0.01)
    seen.append(probe.silence)
    clock.seconds = SILENT_SECONDS
    seen.append(probe.silence)
    question.answer = "connection refused"
    question.open.set()
    probe.request(patience=60)
    seen.append(probe.silence)
    assert question.asked == 1
    question.answer = None
    probe.request(patience=60)
    seen.append(probe.silence)
    assert seen == [None, None, "no answer within 8 s", "connection refused", None]
    probe.end()


def test_a_bug_in_a_question_is_no_silence_and_an_error_is_raised_by_the_next(
    caplog: pytest.LogCaptureFixture,
) -> None:
    errors: list[Exception] = [ZeroDivisionError("bug"), ConfigError("storage.erasure_coded", "it is")]

    def ask() -> str | None:
        raise errors.pop(0)

    probe = Probe("probe", ask, DaemonThreads(), SkippedTime())
    probe.request(patience=60)
    assert probe.silence is None and "a bug" in caplog.text
    probe.request(patience=60)
    with pytest.raises(ConfigError):
        probe.request()
    probe.end()


def test_a_service_is_asked_after_a_pause_and_at_each_look_while_it_is_of_no_use() -> None:
    question, clock = Question(), SkippedTime()
    question.open.set()
    answered_run_at = -60.0
    probe = Probe("probe", question, DaemonThreads(), clock, lambda: answered_run_at)
    asked: list[tuple[int, str | None]] = []

    def look(seconds: float) -> None:
        clock.seconds = seconds
        probe.keep_asking(patience=60)
        asked.append((question.asked, probe.silence))

    for seconds in (0, 2, SILENT_SECONDS):
        look(seconds)
    question.answer = "refused"
    for seconds in (10, 18, 20):
        look(seconds)
    answered_run_at = 21.0
    look(22)
    clock.seconds = 40
    asked.append((question.asked, probe.silence))
    question.answer = None
    look(42)
    probe.end()
    assert asked == [
        (1, None),
        (1, None),
        (2, None),
        (2, None),
        (3, "refused"),
        (4, "refused"),
        (4, None),  # it has just answered the run
        (4, None),  # what this probe heard is older
        (5, None),
    ]


class Registry:
    def __init__(self, error: TableError | None) -> None:
        self._error = error

    def kinds(self) -> tuple[str, ...]:
        if self._error is not None:
            raise self._error
        return ("AVRO",)


class Login(FakeHive):
    error: MetastoreUnavailable | None = None

    def ask(self) -> None:
        if self.error is not None:
            raise self.error


def test_a_service_that_refuses_a_question_answers() -> None:
    silent, wrong = SchemaRegistryUnavailable("refused"), TableError("registry.answer", "no registry")
    answers = [registry_question(cast("Any", Registry(error)))() for error in (None, silent, wrong)]
    assert answers == [None, "refused", None]
    hive, heard = Login(), []
    for error in (None, MetastoreUnavailable("refused"), HiveLoginRefused("wrong password")):
        hive.error = error
        heard.append(hive_question(hive)())
    assert heard == [None, "refused", None]


def test_a_run_has_a_probe_for_each_system_of_its_map(tmp_path: Path) -> None:
    def systems(text: str) -> set[str]:
        (tmp_path / text).mkdir()
        tools = RunTools(status_text=lambda service, state: "", page=lambda wiring, epochs, news: lambda: b"")
        return set(assemble(wired(tmp_path / text, MAPS[text]), RunRequest(tools)).probes)

    assert systems("plain") == {"kafka"}
    assert systems("all") == {"kafka", "hive", "registry"}


@pytest.mark.parametrize("system", ["hive", "registry"])
def test_tables_that_wait_for_any_system_are_tried_as_soon_as_it_answers(tmp_path: Path, system: str) -> None:
    loop, tables = make_loop_and_tables(make_wiring(tmp_path), Kafka(), False, schemas=AtOnce())
    early, late = tables.tables["air.early"], tables.tables["air.late"]
    tables.set_aside(early, TableError(f"{system}.unavailable", "no answer"))
    tables.set_aside(late, TableError("hive.columns", "Hive has no column b"))
    loop.silences = lambda: {system: "no answer within 8 s"}
    assert loop.plan() is None
    loop.silences = lambda: {system: None}
    epoch = loop.plan()
    assert epoch is not None and {r.topic_partition for r in planned(epoch)} == {EARLY}
