"""What a run asks before it starts Spark: a NameNode that is not there, a Java that is too old; and Hive at its end, once."""

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.config.load import load_map
from kafka2hive.kafka.port import ClusterView, TopicSettings, TopicView
from kafka2hive.model.errors import ExitCode, Kafka2HiveError, ServiceUnavailable
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import HiveLoginRefused, MetastoreUnavailable, TooManySessions
from kafka2hive.service.hive.registrar import EnsureTable, Registrar
from kafka2hive.service.run.result import not_registered
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.validate.kafka_check import warn_of_topic_settings
from kafka2hive.service.validate.storage_check import require_storage
from kafka2hive.service.wiring import wire
from kafka2hive.spark.java import require_java
from kafka2hive.storage.concurrency import DaemonThreads
from kafka2hive.storage.port import Denied, FileStatus, NotFound, StorageError, Unavailable
from tests.harness.cli_ledger import write_map
from tests.harness.fake_kafka import FakeKafka
from tests.harness.one_by_one import OneByOne


class Answers:
    """A file system whose every answer to `stat` is this error."""

    def __init__(self, error: type[StorageError]) -> None:
        self._error = error
        self.asked: list[str] = []

    def stat(self, path: str) -> FileStatus:
        self.asked.append(path)
        raise self._error(path, "Connection refused (os error 111)")


@pytest.mark.parametrize("answer", [NotFound, Denied])
def test_a_file_system_that_answers_anything_is_there_and_asked_once(
    tmp_path: Path, answer: type[StorageError]
) -> None:
    service_map = load_map(str(write_map(tmp_path)), {})
    files: Any = Answers(answer)
    require_storage(files, service_map)
    assert files.asked == [service_map.storage.ledger_root]


def test_a_file_system_that_does_not_answer_ends_the_start_with_69(tmp_path: Path) -> None:
    files: Any = Answers(Unavailable)
    with pytest.raises(ServiceUnavailable, match="Connection refused") as ended:
        require_storage(files, load_map(str(write_map(tmp_path)), {}))
    assert (ended.value.code, ended.value.exit_code) == ("storage.unavailable", ExitCode.UNAVAILABLE)
    assert len(files.asked) == 1


def make_java(home: Path, version: str, release: bool) -> None:
    (home / "bin").mkdir(parents=True)
    launcher = home / "bin/java"
    launcher.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    launcher.chmod(0o755)
    if release:
        (home / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\n')


@pytest.mark.parametrize("release", [True, False])
@pytest.mark.parametrize(
    ("version", "fits"), [("17.0.15", True), ("21", True), ("11.0.2", False), ("1.8.0_402", False)]
)
def test_the_java_of_java_home_must_be_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, fits: bool, release: bool
) -> None:
    make_java(tmp_path / "jdk", version, release)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    if fits:
        assert require_java().startswith(f"Java {version.partition('.')[0]} at ")
        return
    with pytest.raises(ServiceUnavailable) as ended:
        require_java()
    major = "8" if version.startswith("1.8") else "11"
    assert ended.value.code == "spark.java" and f"Java {major} is in JAVA_HOME=" in ended.value.message


def test_a_java_home_without_a_java_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    with pytest.raises(ServiceUnavailable, match="there is no Java in JAVA_HOME="):
        require_java()


class Tells(FakeKafka):
    """A Kafka that tells the settings of its topics, or that they are not known."""

    def __init__(self, settings: TopicSettings | Kafka2HiveError) -> None:
        self._settings = settings

    def topic_settings(self, cluster: ClusterView, topics: Collection[str]) -> Mapping[str, TopicSettings]:
        if isinstance(self._settings, Kafka2HiveError):
            raise self._settings
        return dict.fromkeys(topics, self._settings)


class AtOnce:
    """Work in the background that is done before the caller goes on."""

    def start(self, name: str, work: Callable[[], None]) -> None:
        work()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (TopicSettings(599_999, "delete", may_read=True), ["kafka.retention"]),
        (TopicSettings(599_999, "delete", may_read=False), ["kafka.denied", "kafka.retention"]),
        (TopicSettings(600_000, "delete"), []),
        (ServiceUnavailable("kafka.unavailable", "no answer"), []),
    ],
)
def test_a_run_warns_of_topics_whose_records_it_may_not_read_or_not_in_time(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    settings: TopicSettings | Kafka2HiveError,
    told: list[str],
) -> None:
    at_once: Any = AtOnce()
    wiring = replace(wire(load_map(str(write_map(tmp_path)), {})), background=at_once)
    rule = wiring.map.tables[0]
    table = MapTable(rule, wiring.paths(rule.table), ("flights",))
    cluster = ClusterView("id", {"flights": TopicView("flights", "1", (0,))})
    warn_of_topic_settings(wiring, Tells(settings), [table], cluster)
    warnings = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert [text.partition("]")[0] for text in warnings] == [f"[{code}" for code in told]
    assert all("topic flights" in text for text in warnings)


class Away:
    """A HiveServer2 that is not there, or lets nobody in."""

    def __init__(self, error: type[MetastoreUnavailable] = MetastoreUnavailable) -> None:
        self.calls = 0
        self._error = error

    def ensure(self, name: str) -> None:
        self.calls += 1
        raise self._error(f"{name}: Connection refused")

    def add_partitions(self, partitions: Collection[HivePartition]) -> Mapping[HivePartition, str]:
        self.ensure(next(iter(partitions)).table)
        return {}


class Slow(OneByOne, DaemonThreads):
    """A Hive that is still registering when the run already waits for it at its end."""

    def __init__(self) -> None:
        self.under_way, self.waited_for = threading.Event(), threading.Event()

    def condition(self) -> threading.Condition:
        waited_for = self.waited_for

        class Noticed(threading.Condition):
            def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
                if threading.current_thread().name != "registrar":
                    waited_for.set()
                return super().wait_for(predicate, timeout)

        return Noticed()

    def ensure(self, name: str) -> None:
        self.under_way.set()
        self.waited_for.wait()

    def add_partitions(self, partitions: Collection[HivePartition]) -> Mapping[HivePartition, str]:
        """All are registered."""
        return {}

    def location(self, partition: HivePartition) -> str:
        return partition.location


def test_at_the_end_a_registration_under_way_is_waited_for_and_no_longer() -> None:
    hive, owed = Slow(), HivePartition("a.b", "dt=1", "file:///w/dt=1")
    metastore: Any = hive
    registrar = Registrar(metastore, hive.ensure, hive)
    registrar.start()
    registrar.enqueue(frozenset({owed}))
    hive.under_way.wait()
    assert registrar.settle(3600), "an hour is longer than this test may take"
    assert registrar.unanswered == frozenset()
    registrar.end()


def test_at_the_end_hive_is_asked_once_more_and_not_waited_for() -> None:
    hive, owed = Away(), HivePartition("a.b", "dt=1", "file:///w/dt=1")
    metastore: Any = hive
    registrar = Registrar(metastore, hive.ensure, DaemonThreads())
    registrar.start()
    assert registrar.settle(3600)
    registrar.enqueue(frozenset({owed}))
    assert not registrar.settle(3600), "an hour is longer than this test may take"
    assert registrar.unanswered == {owed} and 1 <= hive.calls <= 2
    assert not registrar.settle(3600)
    registrar.end()
    assert hive.calls <= 3


@pytest.mark.parametrize(
    ("error", "code", "remedy"),
    [
        (MetastoreUnavailable, "hive.unavailable", "bring HiveServer2 or the metastore back"),
        (HiveLoginRefused, "hive.login", "correct the login"),
        (TooManySessions, "hive.sessions", "close other sessions"),
    ],
)
@pytest.mark.parametrize("table_is_known", [False, True])
def test_what_hive_said_last_ends_the_run_that_could_not_register(
    error: type[MetastoreUnavailable], code: str, remedy: str, table_is_known: bool
) -> None:
    hive, owed = Away(error), HivePartition("a.b", "dt=1", "file:///w/dt=1")
    metastore: Any = hive
    ensure: EnsureTable = (lambda name: None) if table_is_known else hive.ensure
    registrar = Registrar(metastore, ensure, DaemonThreads())
    registrar.enqueue(frozenset({owed}))
    registrar.register_pending()
    assert registrar.no_answer is not None
    ended = not_registered(registrar.unanswered, registrar.no_answer)
    assert ended.code == code and ended.exit_code is ExitCode.UNAVAILABLE
    assert (
        "partitions of a.b are not registered in Hive yet (1)" in ended.message
        and "a.b: Connection refused" in ended.message
    )
    assert ended.remedy.startswith(remedy) and "kafka2hive recover" in ended.remedy
