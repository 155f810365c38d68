"""`validate --online` against services that need no cluster: local disk, a mock broker, a port where Hive does not listen."""

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.config.keys.writer import AUTO
from kafka2hive.config.load import load_map
from kafka2hive.kafka.port import ClusterView, RecordAddress, TopicSettings, TopicView, Watermark
from kafka2hive.model.errors import ConfigError, ExitCode, ServiceUnavailable, TableError
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.paths.path import parent
from kafka2hive.model.paths.table_directory import owner_marker
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.validate.check import Check, Failed, Passed, Result, Warned, exit_code_of
from kafka2hive.service.validate.kafka_check import check_kafka, retention_warnings, settings_warnings
from kafka2hive.service.validate.online import tables_without_failure
from kafka2hive.service.validate.storage_check import LEDGER_ROOT, check_storage, probe
from kafka2hive.service.wiring import Wiring, wire
from kafka2hive.storage.port import (
    Denied,
    FileStatus,
    FileSystem,
    NoRoom,
    NotFound,
    StorageError,
    StorageWriter,
    Unavailable,
)
from tests.harness.cli_ledger import TABLE, invoke, local, pending_service, tree, write_map
from tests.harness.fake_kafka import FakeKafka
from tests.harness.mock_broker import Broker, plain_map


@pytest.fixture
def wiring(tmp_path: Path) -> Wiring:
    return wire(load_map(str(write_map(tmp_path)), {}))


def make_table(wiring: Wiring) -> MapTable:
    rule = wiring.map.tables[0]
    return MapTable(rule, wiring.paths(TABLE), ("flights",))


def checks(arguments: tuple[str, ...], path: Path) -> tuple[int, dict[tuple[str, str], dict[str, Any]]]:
    result = invoke("validate", "--online", "--json", *arguments, "-c", str(path))
    document = json.loads(result.stdout)
    assert document["exit_code"] == result.exit_code
    return result.exit_code, {(c["system"], c["subject"]): c for c in document["checks"]}


def test_every_service_is_asked_and_nothing_is_left_behind(tmp_path: Path, broker: Broker) -> None:
    service = pending_service(tmp_path, bootstrap=broker.address)
    plain_map(service.map)
    broker.produce("flights", 20)
    before = tree(tmp_path)
    code, found = checks((), service.map)
    assert code == 0, found
    assert found["kafka", TABLE]["result"] == "ok"
    assert "20 offsets" in found["kafka", "topic flights"]["message"]
    assert {found["storage", name]["result"] for name in ("ledger root", TABLE)} == {"ok"}
    assert found["spark", "Java"]["result"] == "ok"
    plain = invoke("validate", "--online", "-c", str(service.map))
    assert plain.exit_code == 0 and "0 errors" in plain.stdout
    assert found["kafka", broker.address]["message"].endswith(", 1 topic")
    assert tree(tmp_path) == before


def test_a_table_that_another_ledger_root_feeds_is_an_error(tmp_path: Path, broker: Broker) -> None:
    service = pending_service(tmp_path, bootstrap=broker.address)
    plain_map(service.map)
    broker.produce("flights", 20)
    text = service.map.read_text()
    service.map.write_text(
        text.replace("storage: {", f'storage: {{ledger_root: "{tmp_path.as_uri()}/other", ')
    )
    before = tree(tmp_path)
    code, found = checks((), service.map)
    assert (code, found["ledger", TABLE]["code"]) == (78, "ledger.vanished")
    assert "a service with another ledger root feeds this table" in found["ledger", TABLE]["message"]
    assert tree(tmp_path) == before


def test_the_marker_of_another_ledger_is_an_error(tmp_path: Path, broker: Broker) -> None:
    service = pending_service(tmp_path, bootstrap=broker.address)
    plain_map(service.map)
    broker.produce("flights", 20)
    marker = owner_marker(service.wiring.map.tables[0].location)
    local(marker).write_bytes(b'{"ledger":"ffffffffffffffffffffffffffffffff"}')
    code, found = checks((), service.map)
    assert (code, found["ledger", TABLE]["code"]) == (78, "marker.foreign")


def test_what_a_start_would_stop_at_is_an_error(tmp_path: Path) -> None:
    few = Broker()  # fewer records than were dumped
    few.produce("flights", 7)
    service = pending_service(tmp_path, bootstrap=few.address)
    plain_map(service.map)
    before = tree(tmp_path)
    code, found = checks((), service.map)
    assert (code, found["ledger", TABLE]["code"]) == (78, "kafka.log_truncated")
    assert "--accept-gap" in found["ledger", TABLE]["remedy"]
    assert tree(tmp_path) == before
    local(service.files[0].staged).unlink()
    code, found = checks((), service.map)
    assert (code, found["ledger", TABLE]["code"]) == (78, "ledger.missing")


def test_where_a_directory_refuses_the_ledger_is_not_asked_for_the_same_reason(wiring: Wiring) -> None:
    table = make_table(wiring)
    refused = Failed(TableError("storage.denied", "no", "grant it"))

    def asked(root: Result, place: Result) -> bool:
        places = [Check("storage", LEDGER_ROOT, root), Check("storage", TABLE, place)]
        return tables_without_failure(places, [table]) == [table]

    assert asked(Passed(""), Passed("")) and not asked(refused, Passed("")) and not asked(Passed(""), refused)


def test_an_unknown_topic_is_an_error_of_the_map(tmp_path: Path, broker: Broker) -> None:
    path = plain_map(write_map(tmp_path, bootstrap=broker.address))
    broker.produce("fligths", 1)
    before = tree(tmp_path)
    code, found = checks((), path)
    assert code == 78
    assert found["kafka", TABLE]["code"] == "kafka.unknown_topic"
    assert tree(tmp_path) == before


def test_services_that_are_away_end_with_69_and_the_rest_is_checked(tmp_path: Path) -> None:
    path = write_map(tmp_path)
    path.write_text(path.read_text() + 'hive: {url: "hive://127.0.0.1:9", timeout: "5s"}\n')
    code, found = checks((), path)
    assert code == 69
    assert found["kafka", "127.0.0.1:9"]["code"] == "kafka.unavailable"
    assert found["hive", TABLE]["code"] == "hive.unavailable"
    assert ("hive", "air.demo_dead_letters") not in found, "asked again and again"
    assert found["storage", TABLE]["result"] == "ok"


class Refusing:
    """A file system that rejects one operation."""

    def __init__(self, files: FileSystem, operation: str, error: StorageError) -> None:
        self._files = files
        self._operation = operation
        self._error = error

    def create(self, path: str) -> StorageWriter:
        if self._operation == "create":
            raise self._error
        return self._files.create(path)

    def rename(self, source: str, target: str) -> None:
        if self._operation == "rename":
            raise self._error
        self._files.rename(source, target)

    def mkdirs(self, path: str) -> None:
        if self._operation == "mkdirs":
            raise self._error
        self._files.mkdirs(path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)


@pytest.mark.parametrize("operation", ["create", "rename", "mkdirs"])
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Denied("x", "no"), "storage.denied"),
        (NoRoom("x", "quota"), "storage.no_room"),
        (Unavailable("x", "away"), "storage.unavailable"),
    ],
)
def test_what_a_directory_refuses_is_told_and_the_probe_is_taken_away(
    tmp_path: Path, wiring: Wiring, operation: str, error: StorageError, code: str
) -> None:
    files: Any = Refusing(wiring.ports.files, operation, error)
    wiring.ports.files.mkdirs(wiring.map.tables[0].location + "/_tmp")
    before = tree(tmp_path)
    refused = replace(wiring, ports=replace(wiring.ports, files=files))
    found = check_storage(refused, [make_table(wiring)])
    assert len(found) == 3
    for check in found:
        assert isinstance(check.result, Failed) and check.result.error.code == code
    assert tree(tmp_path) == before


@pytest.mark.parametrize("kind", [Denied, Unavailable])
def test_a_refused_login_is_told_with_its_own_remedy_and_each_path_once(
    tmp_path: Path, wiring: Wiring, kind: type[StorageError]
) -> None:
    place = wiring.map.tables[0].location
    error = kind(f"{place}/_tmp/_probe", "Kerberos login failed: Ticket expired", "renew the cache")
    files: Any = Refusing(wiring.ports.files, "mkdirs", error)
    refused = replace(wiring, ports=replace(wiring.ports, files=files))
    told = {check.subject: check.result for check in check_storage(refused, [make_table(wiring)])}
    result = told[make_table(wiring).name]
    assert isinstance(result, Failed) and result.error.remedy == "renew the cache"
    assert result.error.message == str(error)


def test_a_probe_goes_the_way_of_a_data_file_where_there_is_a_staging_directory(
    tmp_path: Path, wiring: Wiring
) -> None:
    renamed: list[tuple[str, str]] = []

    class Seeing(Refusing):
        def rename(self, source: str, target: str) -> None:
            renamed.append((source, target))
            super().rename(source, target)

    files: Any = Seeing(wiring.ports.files, "", Denied("x"))
    location = wiring.map.tables[0].location
    assert probe(files, location, "1" * 32) == tmp_path.as_uri()
    files.mkdirs(location + "/_tmp")
    assert probe(files, location, "2" * 32) == location
    assert renamed[1][0].startswith(location + "/_tmp/") and not renamed[1][1].startswith(location + "/_tmp/")


class FreshHdfs:
    """An empty HDFS; like the real one it rejects a path without a `/` after the address."""

    ROOT = "hdfs://nn:8020"

    def __init__(self) -> None:
        self.made: list[str] = []

    def _known(self, path: str) -> str:
        if not path.startswith(self.ROOT + "/"):
            raise StorageError(path, f"is not on {self.ROOT}")
        return path

    def stat(self, path: str) -> FileStatus:
        if self._known(path) != self.ROOT + "/":
            raise NotFound(path)
        return FileStatus(path, 0, True)

    def mkdirs(self, path: str) -> None:
        self.made.append(self._known(path))

    def create(self, path: str) -> StorageWriter:
        return FakeWriter()

    def rename(self, source: str, target: str) -> None:
        self._known(source), self._known(target)

    def delete(self, path: str) -> bool:
        return bool(self._known(path))


class FakeWriter:
    """Accepts every write."""

    def write(self, data: bytes | memoryview) -> None: ...

    def close(self) -> None: ...

    def abandon(self) -> None: ...


@pytest.mark.parametrize("place", ["hdfs://nn:8020/warehouse/hv.db/movies", "hdfs://nn:8020/kafka2hive"])
def test_where_no_directory_of_the_path_is_there_yet_the_probe_is_made_in_the_root(place: str) -> None:
    fresh = FreshHdfs()
    files: Any = fresh
    assert probe(files, place, "1" * 32) == "hdfs://nn:8020/"
    (made,) = fresh.made
    assert parent(made) == fresh.ROOT


@pytest.mark.parametrize("above", [False, True])
def test_a_file_where_a_tables_directory_is_to_be_is_refused(wiring: Wiring, above: bool) -> None:
    table = make_table(wiring)
    blocked = parent(table.location) if above else table.location
    path = local(blocked)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("not a directory")
    (check,) = (check for check in check_storage(wiring, [table]) if check.subject == TABLE)
    assert isinstance(check.result, Failed) and check.result.error.code == "storage.not_a_directory"
    assert f"{blocked} is a file" in check.result.error.message
    assert path.read_text() == "not a directory"


def test_tables_beside_the_ledgers_on_another_file_system_are_refused(wiring: Wiring) -> None:
    table = make_table(wiring)
    table = replace(table, rule=replace(table.rule, location="hdfs://elsewhere:8020/w"))
    (apart,) = (c for c in check_storage(wiring, [table]) if c.subject == TABLE)
    assert isinstance(apart.result, Failed) and apart.result.error.code == "storage.apart"


@pytest.mark.parametrize(
    ("settings", "warned"),
    [
        (TopicSettings(-1, "delete"), False),
        (TopicSettings(None, None), False),
        (TopicSettings(600_000, "delete"), False),
        (TopicSettings(599_999, "delete"), True),
        (TopicSettings(599_999, None), True),
        (TopicSettings(599_999, "compact,delete"), True),
        (TopicSettings(1, "compact"), False),
    ],
)
def test_records_must_outlive_ten_flush_intervals(
    wiring: Wiring, settings: TopicSettings, warned: bool
) -> None:
    table = make_table(wiring)
    assert table.rule.flush.interval_seconds == 60
    assert [w.error.code for w in retention_warnings("flights", [table], settings)] == [
        "kafka.retention"
    ] * warned


def test_records_must_outlive_ten_of_the_longest_flush_intervals(wiring: Wiring) -> None:
    table = make_table(wiring)
    waits = replace(table, rule=replace(table.rule, flush=AUTO))
    (warned,) = retention_warnings("flights", [table, waits], TopicSettings(5_999_999, "delete"))
    assert "due every 600 s" in warned.error.message and "flush.max_interval" in warned.error.remedy
    assert not retention_warnings("flights", [table, waits], TopicSettings(6_000_000, "delete"))


def test_a_topic_that_may_not_be_read_is_warned_about_before_a_run(wiring: Wiring) -> None:
    table = make_table(wiring)
    settings = {"flights": TopicSettings(may_read=False), "planes": TopicSettings(may_read=True)}
    (warned,) = settings_warnings(settings, {"flights": [table], "planes": [table]})
    assert warned.error.code == "kafka.denied" and "flights" in warned.error.message


class Denies(FakeKafka):
    """A Kafka that only answers whether the topic may be read."""

    def topic_settings(self, cluster: ClusterView, topics: Collection[str]) -> Mapping[str, TopicSettings]:
        return dict.fromkeys(topics, TopicSettings(may_read=False))


def test_a_topic_that_may_not_be_read_is_an_error_and_no_record_is_asked_for(wiring: Wiring) -> None:
    cluster = ClusterView("id", {"flights": TopicView("flights", "1", (0,))})
    found = {check.subject: check.result for check in check_kafka(Denies(), [make_table(wiring)], cluster)}
    refused = found["topic flights"]
    assert isinstance(refused, Failed) and refused.error.code == "kafka.denied"
    assert "topic flights" in refused.error.message
    assert isinstance(found[TABLE], Passed)


class TwoLogs(FakeKafka):
    """Topic partition 0 is empty, 1 holds offsets 5 to 14. `fault`: what does not work."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.asked: list[RecordAddress] = []
        self.calls = 0

    def topic_settings(self, cluster: ClusterView, topics: Collection[str]) -> Mapping[str, TopicSettings]:
        return dict.fromkeys(topics, TopicSettings(retention_ms=-1))

    def earliest(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        return {tp: Watermark(5 * tp.number) for tp in topic_partitions}

    def latest(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        return {
            tp: Watermark(15 * tp.number) for tp in topic_partitions if tp.number or self.fault != "silent"
        }

    def record_epochs(self, addresses: Collection[RecordAddress]) -> dict[RecordAddress, int | None]:
        self.asked += addresses
        self.calls += 1
        if self.fault == "first call" and self.calls == 1:
            return {}
        if self.fault == "away":
            raise ServiceUnavailable("kafka.unavailable", "Kafka does not answer")
        return {} if self.fault == "denied" else dict.fromkeys(addresses)


@pytest.mark.parametrize(
    ("fault", "code", "message"),
    [
        ("", "", "2 partitions, 10 offsets, kept for ever"),
        ("denied", "kafka.denied", "Kafka returns no record of topic flights: the right to read it seems"),
        ("away", "kafka.unavailable", "Kafka does not answer"),
        ("silent", "kafka.no_answer", f"{TABLE}: Kafka returned no offsets for flights-0, "),
    ],
)
def test_the_newest_record_of_a_topic_is_fetched_to_see_whether_it_may_be_read(
    wiring: Wiring, fault: str, code: str, message: str
) -> None:
    kafka, cluster = TwoLogs(fault), ClusterView("id", {"flights": TopicView("flights", "1", (0, 1))})
    _, found = check_kafka(kafka, [make_table(wiring)], cluster)
    if isinstance(found.result, Passed):
        assert (found.result.message, code) == (message, "")
    else:
        assert isinstance(found.result, Failed) and found.result.error.code == code
        assert found.result.error.message.startswith(message)
    assert set(kafka.asked) == {(TopicPartition("flights", 1), 14)}


def test_the_records_of_all_topics_are_asked_for_together(wiring: Wiring) -> None:
    kafka, names = TwoLogs(""), [f"flights{number}" for number in range(50)]
    tables = [replace(make_table(wiring), topics=(name,)) for name in names]
    found = check_kafka(kafka, tables, ClusterView("id", {n: TopicView(n, "1", (0, 1)) for n in names}))
    assert len(found) == 100 and all(isinstance(check.result, Passed) for check in found)
    assert sorted(kafka.asked) == sorted((TopicPartition(name, 1), 14) for name in names)
    assert kafka.calls == 1


def test_a_topic_whose_record_did_not_come_with_the_others_is_asked_for_again(wiring: Wiring) -> None:
    kafka = TwoLogs("first call")
    tables = [replace(make_table(wiring), topics=(name,)) for name in ("a", "b")]
    views = {name: TopicView(name, "1", (0, 1)) for name in ("a", "b")}
    found = check_kafka(kafka, tables, ClusterView("id", views))
    assert all(isinstance(check.result, Passed) for check in found)
    assert kafka.calls == 3


def test_of_an_empty_topic_no_record_is_asked_for(wiring: Wiring) -> None:
    kafka, cluster = TwoLogs("denied"), ClusterView("id", {"flights": TopicView("flights", "1", (0,))})
    _, found = check_kafka(kafka, [make_table(wiring)], cluster)
    assert found.result == Passed("1 partition, 0 offsets, kept for ever")


AWAY, MAP, RIGHT = (
    Failed(ServiceUnavailable("hive.unavailable", "")),
    Failed(ConfigError("hive.auth", "")),
    Failed(TableError("kafka.denied", "")),
)


@pytest.mark.parametrize(
    ("results", "code"),
    [
        ([Passed(""), Warned(TableError("kafka.retention", ""))], ExitCode.DONE),
        ([RIGHT], ExitCode.SET_ASIDE),
        ([RIGHT, MAP], ExitCode.CONFIG),
        ([Failed(TableError("hive.columns", "")), RIGHT], ExitCode.CONFIG),
        ([MAP, RIGHT, AWAY], ExitCode.UNAVAILABLE),
    ],
)
def test_the_exit_code_is_that_of_the_worst(results: list[Any], code: ExitCode) -> None:
    assert exit_code_of(Check("kafka", "x", result) for result in results) is code
