"""The checks of `doctor`: each finding is provoked, and a machine and a cluster that are well have none."""

import json
import os
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.config.load import load_map
from kafka2hive.kafka.port import TopicSettings, Watermark
from kafka2hive.model.errors import ExitCode
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.paths.ledger import inbox_directory, order_draft_name, order_name
from kafka2hive.model.paths.table_directory import DataFileName, staging_directory
from kafka2hive.service.doctor.examine import examine
from kafka2hive.service.doctor.kafka import Unread, check_retention
from kafka2hive.service.doctor.machine import Machine, check_machine, this_machine
from kafka2hive.service.doctor.storage import (
    check_clock,
    check_leftovers,
    check_orders,
    check_space_above,
    directories_above,
    judge_free_space,
)
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.validate.check import Failed, Passed, Result, Warned
from kafka2hive.service.wiring import Wiring, wire
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.port import Denied, FreeSpace, NotFound, StorageError
from tests.harness.cli_ledger import TABLE, invoke, local, pending_service, tree, write_map
from tests.harness.fake_kafka import FakeKafka
from tests.harness.mock_broker import Broker, plain_map

HOUR = 3_600_000
NOW = 1_000 * HOUR
DAY_OLD = 100_000.0
FIRST, SECOND = TopicPartition("flights", 0), TopicPartition("flights", 1)
KEPT_A_DAY = {"flights": TopicSettings(24 * HOUR, "delete", True)}


class HourlyRecords(FakeKafka):
    """One record an hour in each topic partition, offset 0 at hour 900; the last one has offset `newest`."""

    def __init__(self, newest: int) -> None:
        self.newest = newest

    def latest(self, topic_partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, Watermark]:
        return {tp: Watermark(self.newest + 1) for tp in topic_partitions}

    def offsets_for_times(
        self, topic_partitions: Collection[TopicPartition], timestamp_ms: int
    ) -> Mapping[TopicPartition, Watermark]:
        offset = max(-(-timestamp_ms // HOUR) - 900, 0)
        return {tp: Watermark(offset if offset <= self.newest else -1) for tp in topic_partitions}


def retention_of(
    position: int, settings: Mapping[str, TopicSettings] = KEPT_A_DAY, newest: int = 99
) -> Result:
    table = Unread("air.flights", {FIRST: position, SECOND: 100})
    (check,) = check_retention(HourlyRecords(newest), [table], settings, NOW)
    assert (check.system, check.subject) == ("kafka", "air.flights: retention")
    return check.result


def code_of(result: Result) -> str:
    assert isinstance(result, Warned), result
    return result.error.code


@pytest.fixture
def wiring(tmp_path: Path) -> Wiring:
    return wire(load_map(str(write_map(tmp_path)), {}))


def table_of(wiring: Wiring) -> MapTable:
    return MapTable(wiring.map.tables[0], wiring.paths(TABLE), ("flights",))


def test_a_table_that_has_read_what_is_deleted_soon_is_well() -> None:
    assert isinstance(retention_of(position=90), Passed)


def test_unread_records_of_which_a_quarter_of_the_time_is_left_are_named_with_the_time() -> None:
    # at hour 1000 Kafka keeps hours 976 on; offset 80 is of hour 980 and is deleted at hour 1004
    result = retention_of(position=80)
    assert code_of(result) == "doctor.retention"
    assert isinstance(result, Warned)
    assert "flights-0 loses records within 6.0 h" in result.error.message
    assert "2 records in 1 topic partition" in result.error.message


def test_the_nearer_the_deletion_the_shorter_the_time() -> None:
    for position, hours in ((77, "90 min"), (78, "3.0 h"), (76, "22 min")):
        result = retention_of(position)
        assert isinstance(result, Warned) and f"within {hours}" in result.error.message


def test_a_topic_whose_newest_record_is_older_than_that_loses_all_that_is_unread() -> None:
    result = retention_of(position=60, newest=70)
    assert isinstance(result, Warned) and "11 records" in result.error.message


@pytest.mark.parametrize(
    "settings",
    [
        TopicSettings(-1, "delete", True),
        TopicSettings(None, None, None),
        TopicSettings(HOUR, "compact", True),
    ],
)
def test_a_topic_that_keeps_its_records_or_does_not_say_is_no_finding(settings: TopicSettings) -> None:
    assert isinstance(retention_of(0, {"flights": settings}), Passed)


def test_a_machine_that_has_enough_has_no_findings(wiring: Wiring) -> None:
    well = Machine({"kafka2hive": "0.1.0"}, 65_536, 1 << 40, "/tmp", 1 << 40, Path("/cache/a.jsa"))
    assert all(isinstance(check.result, Passed) for check in check_machine(well, wiring.map))


@pytest.mark.parametrize(
    "change, code",
    [
        ({"open_files": 256}, "doctor.open_files"),
        ({"memory": 64 << 20}, "doctor.memory"),
        ({"room": 1 << 20}, "doctor.temporary"),
        ({"room": None}, "doctor.temporary"),
    ],
)
def test_a_machine_that_lacks_something_has_one_finding(
    change: dict[str, int | None], code: str, wiring: Wiring
) -> None:
    well = Machine({"kafka2hive": "0.1.0"}, 65_536, 1 << 40, "/tmp", 1 << 40, Path("/cache/a.jsa"))
    found = check_machine(replace(well, **change), wiring.map)  # type: ignore[arg-type]
    assert [code_of(check.result) for check in found if not isinstance(check.result, Passed)] == [code]


def test_this_machine_says_its_versions_and_spark_s_directory(wiring: Wiring, tmp_path: Path) -> None:
    found = this_machine(wiring.map, {"SPARK_LOCAL_DIRS": f"{tmp_path},/other"})
    assert found.temporary == str(tmp_path)
    assert found.versions["pyspark"].startswith("4.") and found.versions["librdkafka"]
    assert found.memory and found.room and found.open_files > 0


def test_an_installation_without_a_class_archive_is_told_of_warm(wiring: Wiring, tmp_path: Path) -> None:
    machine = this_machine(wiring.map, {"XDG_CACHE_HOME": str(tmp_path)})
    assert machine.archive is None

    def text_of(machine: Machine) -> str:
        (check,) = (c for c in check_machine(machine, wiring.map) if c.subject == "class archive")
        assert isinstance(check.result, Passed)
        return check.result.message

    assert "kafka2hive warm" in text_of(machine)
    assert text_of(replace(machine, archive=tmp_path / "a.jsa")) == str(tmp_path / "a.jsa")


@pytest.mark.parametrize(
    "space, is_well",
    [
        (FreeSpace(), True),
        (FreeSpace(names=1_000_000, bytes=1 << 40), True),
        (FreeSpace(names=9_999), False),
        (FreeSpace(bytes=1 << 30), False),
        (FreeSpace(names=0, bytes=1 << 40), False),
    ],
)
def test_a_quota_that_is_nearly_reached_is_a_warning(space: FreeSpace, is_well: bool) -> None:
    result = judge_free_space("hdfs://namenode/warehouse", space)
    assert isinstance(result, Passed) if is_well else code_of(result) == "doctor.room"


class Above:
    """Of a file system what is asked about directories above the tables."""

    def __init__(self, answer: FreeSpace | StorageError) -> None:
        self._answer = answer

    def free_space(self, path: str) -> FreeSpace:
        if isinstance(self._answer, StorageError):
            raise self._answer
        return self._answer


def test_directories_above_are_those_of_hdfs_below_its_root() -> None:
    places = ["hdfs://nn:8020/a/b/warehouse", "hdfs://nn:8020/a/b", "hdfs://nn:8020/x", "file:///d/e/f"]
    assert directories_above(places) == ["hdfs://nn:8020/a"]


@pytest.mark.parametrize(
    "answer, results",
    [
        (FreeSpace(), []),
        (NotFound("/a"), []),
        (FreeSpace(names=1_000_000), [Passed("1,000,000 names left")]),
        (Denied("/a", "Permission denied\n\tat Java"), [Passed("not checked: /a: Permission denied")]),
    ],
)
def test_a_directory_above_without_a_quota_or_a_permission_is_no_warning(
    answer: FreeSpace | StorageError, results: list[Result]
) -> None:
    files: Any = Above(answer)
    assert [check.result for check in check_space_above(files, "hdfs://nn:8020/a")] == results


def test_a_quota_above_the_tables_is_a_warning_as_well() -> None:
    files: Any = Above(FreeSpace(names=5))
    (check,) = check_space_above(files, "hdfs://nn:8020/a")
    assert code_of(check.result) == "doctor.room"


@pytest.mark.parametrize("skew, is_well", [(0.0, True), (4.0, True), (-60.0, False), (60.0, False)])
def test_a_clock_that_is_wrong_by_more_than_five_seconds_is_a_warning(
    skew: float, is_well: bool, wiring: Wiring, tmp_path: Path
) -> None:
    before = tree(tmp_path)
    files, root = wiring.inspectable_files(), wiring.map.storage.ledger_root

    def now() -> float:
        return time.time() - skew

    check = check_clock(files, root, "0" * 32, now)
    assert isinstance(check.result, Passed) if is_well else code_of(check.result) == "doctor.clock"
    assert tree(tmp_path) == before, "the probe was left"


def test_an_order_that_nobody_carries_out_is_a_warning_and_a_draft_is_not(
    wiring: Wiring, tmp_path: Path
) -> None:
    files, root, service = wiring.inspectable_files(), wiring.map.storage.ledger_root, wiring.map.service
    assert isinstance(check_orders(files, root, service, DAY_OLD).result, Passed), "no inbox is there yet"
    inbox = local(inbox_directory(root, service))
    inbox.mkdir(parents=True)
    for name in (order_name("a" * 32), order_draft_name("b" * 32), "note.txt"):
        (inbox / name).write_text("{}")
        os.utime(inbox / name, (DAY_OLD, DAY_OLD))
    assert isinstance(check_orders(files, root, service, DAY_OLD + 500).result, Passed)
    found = check_orders(files, root, service, DAY_OLD + 700)
    assert code_of(found.result) == "doctor.inbox"
    assert isinstance(found.result, Warned) and found.result.error.message.startswith("1 order in")


class Vanishing(LocalFileSystem):
    """Each file is gone when its time is asked for."""

    def modified_at(self, path: str) -> float:
        raise NotFound(path, "it was carried out meanwhile")


def test_an_order_that_vanishes_during_the_check_is_no_finding(wiring: Wiring) -> None:
    root, service = wiring.map.storage.ledger_root, wiring.map.service
    inbox = local(inbox_directory(root, service))
    inbox.mkdir(parents=True)
    (inbox / order_name("a" * 32)).write_text("{}")
    assert isinstance(check_orders(Vanishing(), root, service, DAY_OLD).result, Passed)


def test_a_file_that_a_writer_left_a_day_ago_is_a_warning(wiring: Wiring) -> None:
    files, table = wiring.inspectable_files(), table_of(wiring)
    assert isinstance(check_leftovers(files, table, DAY_OLD).result, Passed)
    staging = local(staging_directory(table.location))
    staging.mkdir(parents=True)
    name = DataFileName(
        slug="all", task=0, ledger="6b1f0c52", generation=1, epoch=1, uuid="a" * 32, extension="parquet"
    )
    for state in ("in-progress", "pending"):
        (staging / name.in_state(state)).write_bytes(b"")
        os.utime(staging / name.in_state(state), (DAY_OLD, DAY_OLD))
    assert isinstance(check_leftovers(files, table, DAY_OLD + 3_600).result, Passed)
    found = check_leftovers(files, table, DAY_OLD + 90_000)
    assert code_of(found.result) == "doctor.leftovers"


def test_a_service_that_is_down_fails_its_checks_and_the_others_are_made(tmp_path: Path) -> None:
    service = pending_service(tmp_path, bootstrap="127.0.0.1:1")
    wiring = wire(load_map(str(plain_map(service.map)), {}))
    result = examine(wiring, wiring.kafka(0.5), None)
    assert result.exit_code == ExitCode.UNAVAILABLE
    found = {(check.system, check.subject): check.result for check in result.checks}
    assert {("machine", "versions"), ("machine", "memory"), ("machine", "open files")} <= found.keys()
    outage = found["kafka", "127.0.0.1:1"]
    assert isinstance(outage, Failed) and outage.error.code == "kafka.unavailable"
    assert isinstance(found["storage", "clock"], Passed)
    assert not [subject for _, subject in found if "retention" in subject]


def test_all_services_answer_and_nothing_is_left_behind(tmp_path: Path, broker: Broker) -> None:
    service = pending_service(tmp_path, bootstrap=broker.address)
    plain_map(service.map)
    broker.produce("flights", 20)
    before = tree(tmp_path)
    result = invoke("doctor", "--json", "-c", str(service.map))
    checks = json.loads(result.stdout)["checks"]
    assert result.exit_code == 0, checks
    assert {(c["system"], c["subject"]) for c in checks} >= {
        ("kafka", f"{TABLE}: retention"),
        ("storage", "clock"),
        ("storage", "inbox"),
        ("storage", f"{TABLE}: leftovers"),
        ("kafka", "topic flights"),
        ("ledger", TABLE),
    }
    assert tree(tmp_path) == before
    text = invoke("doctor", "-c", str(service.map))
    assert text.exit_code == 0 and "clock: the file system's clock is" in text.stdout
