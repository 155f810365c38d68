"""A run drops what has expired between its epochs: rules E1 to E4 of docs/protocol.md."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.ledger.retention import FRESH_SECONDS, KEEP_SECONDS, DropLook
from kafka2hive.ledger.snapshot.expiry import NEEDS_HIVE
from kafka2hive.model.errors import ManualActionRequired, ServiceUnavailable, TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.paths.table_directory import hidden_letters
from kafka2hive.model.snapshot import Certificate, ComparedTable, DroppedPartition, Snapshot
from kafka2hive.model.text import unix_seconds
from kafka2hive.service.hive.dropped import DropLookResult
from kafka2hive.service.retention import chore as retention
from kafka2hive.service.retention.chore import EXPIRY_SECONDS, RETRY_SECONDS
from kafka2hive.service.retention.expired import ExpiredPeriods
from kafka2hive.storage.port import Denied, FileSystem, StorageError, Unavailable
from tests.harness.cli_ledger import local, wired
from tests.harness.epoch_loop import AtOnce, Clock, HiveAnswers, Kafka, make_loop_and_tables
from tests.harness.values import file_name
from tests.unit.service.owned_table import restate

NAME = "air.early"
MAP = """\
hive: {url: "hive://127.0.0.1:9"}
defaults: {start: earliest, format: raw}
tables:
  - {table: air.early, topics: [early], retain: 10d, bucket: {path: "dt=%Y-%m-%d"}}
  - {table: air.late, topics: [late]}
"""
DAYS = ("dt=2025-11-08", "dt=2025-11-09", "dt=2025-11-12")
"""The clock stands at 2025-11-21T08:00: the first two have expired."""


class Dropping(HiveAnswers):
    """A registrar that keeps what it was told to drop last, by table."""

    def __init__(self) -> None:
        super().__init__()
        self.dropped: dict[str, Mapping[HivePartition, bool]] = {}

    def drop(self, table: str, dropped: Mapping[HivePartition, bool]) -> None:
        self.dropped[table] = dropped


class Failing:
    """A file system that fails for some operations on paths with some end."""

    def __init__(self, files: FileSystem) -> None:
        self._files = files
        self.failures: dict[tuple[str, str], StorageError] = {}
        self.calls: list[tuple[str, str]] = []

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._files, name)

        def failing(*arguments: Any) -> Any:
            for (operation, end), error in self.failures.items():
                if name == operation and arguments[0].endswith(end):
                    self.calls.append((operation, end))
                    raise error
            return call(*arguments)

        return failing


class Days:
    """A run over an idle table with a file in each day."""

    def __init__(self, folder: Path, service_map: str = MAP) -> None:
        real = wired(folder, service_map, service="once")
        self.clock = Clock()
        self.files = Failing(real.ports.files)
        self.wiring = replace(real, ports=replace(real.ports, clock=self.clock, files=self.files))
        self.registrar = Dropping()
        kafka = Kafka()
        self.loop, self.tables = make_loop_and_tables(
            self.wiring,
            kafka,
            once=False,
            schemas=AtOnce(),
            registrar=self.registrar,
        )
        kafka.ends = dict.fromkeys(kafka.ends, 0)
        self.table = self.tables.tables[NAME]
        restate(self.table, newest_ms=self.clock.epoch_ms())
        for day in DAYS:
            self.put(day, file_name(self.state.ledger_id, 1, 0).in_state("final"))

    @property
    def state(self) -> Snapshot:
        return self.table.owned.state

    @property
    def lines(self) -> dict[str, str]:
        return {line.partition.path: line.gone_since for line in self.state.dropped}

    def put(self, day: str, name: str) -> Path:
        file = local(f"{self.table.location}/{day}/{name}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"rows")
        return file

    def present(self) -> list[str]:
        return sorted(child.name for child in local(self.table.location).iterdir() if "=" in child.name)

    def plan(self, seconds: float = 0, **look: frozenset[HivePartition]) -> None:
        """Let time pass, and plan after this look."""
        self.clock.seconds += seconds
        if look:
            at = self.clock.epoch_ms() / 1000
            self.registrar.events = [DropLookResult(NAME, DropLook(**look), at)]  # type: ignore[arg-type]
        assert self.loop.plan() is None

    def homes(self) -> frozenset[HivePartition]:
        return frozenset(line.partition for line in self.state.dropped)


def test_expired_partitions_are_dropped_told_to_hive_and_deleted_a_day_later(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.plan()
    assert list(days.lines) == list(DAYS[:2]) and set(days.lines.values()) == {""}
    assert days.registrar.dropped[NAME] == dict.fromkeys(days.homes(), False)
    days.plan(1, gone=days.homes())
    assert all(days.lines.values())
    assert days.registrar.dropped[NAME] == dict.fromkeys(days.homes(), True)
    days.plan(KEEP_SECONDS)
    assert days.present() == sorted(DAYS), "the look is a day old"
    days.plan(0, gone=days.homes())
    assert days.present() == [DAYS[2]] and days.lines == {}
    assert days.registrar.dropped[NAME] == {}
    epoch = days.state.epoch
    days.plan()
    assert days.state.epoch == epoch, "there is nothing left to record"


WITHOUT_HIVE = MAP.partition("\n")[2]


def test_without_hive_expired_partitions_are_deleted_a_day_after_they_were_recorded(tmp_path: Path) -> None:
    days = Days(tmp_path, WITHOUT_HIVE)
    homes = tuple(HivePartition(NAME, day, f"{days.table.location}/{day}") for day in DAYS)
    restate(days.table, unregistered=homes)
    days.plan()
    assert list(days.lines) == list(DAYS[:2]) and all(days.lines.values())
    assert days.state.unregistered == homes[2:]
    epoch = days.state.epoch
    days.plan(KEEP_SECONDS - 1)
    assert days.present() == sorted(DAYS) and days.state.epoch <= epoch + 1
    days.plan(1)
    assert days.present() == [DAYS[2]] and days.lines == {}


def test_without_hive_files_that_cannot_be_deleted_are_tried_again_a_minute_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    days, tries = Days(tmp_path, WITHOUT_HIVE), list[int]()
    restate(
        days.table,
        unregistered=tuple(HivePartition(NAME, day, f"{days.table.location}/{day}") for day in DAYS),
    )
    days.plan()

    def fail(*_: Any) -> None:
        tries.append(1)
        raise Denied("no permission")

    with monkeypatch.context() as patch:
        patch.setattr("kafka2hive.ledger.retention._delete_files", fail)
        days.plan(KEEP_SECONDS)
        days.plan(RETRY_SECONDS - 1)
        assert len(tries) == 2, "one of each partition"
        days.plan(1)
        assert len(tries) == 4
    days.plan(2 * RETRY_SECONDS)
    assert days.present() == [DAYS[2]]


def test_without_hive_partitions_that_hive_may_have_stay_and_are_a_warning(tmp_path: Path) -> None:
    days = Days(tmp_path, WITHOUT_HIVE)
    days.plan()
    assert days.lines == {}, "none is still to be registered"
    warnings = days.table.warnings["retention"]
    assert len(warnings) == 2 and all(NEEDS_HIVE in each for each in warnings)
    restate(days.table, unregistered=(HivePartition(NAME, DAYS[0], f"{days.table.location}/{DAYS[0]}"),))
    days.plan(EXPIRY_SECONDS)
    assert list(days.lines) == [DAYS[0]]
    compared = ComparedTable(table=NAME, location="", format="", columns="", partition_columns="")
    restate(days.table, compared=(compared,))
    days.plan(KEEP_SECONDS)
    assert days.present() == sorted(DAYS), "a map with Hive came in between"


def test_dead_letters_of_the_table_are_dropped_and_deleted_too_also_those_that_were_replayed(
    tmp_path: Path,
) -> None:
    days = Days(tmp_path)
    dead = days.wiring.map.dead_letters
    name = file_name(days.state.ledger_id, 1, 0).in_state("final")
    paths = [f"source_table={NAME}/{day}" for day in DAYS]
    other = f"source_table=air.late/{DAYS[0]}"
    hidden = hidden_letters(f"{dead.location}/{paths[0]}/{name}")
    names = [hidden, *(f"{dead.location}/{path}/{name}" for path in (*paths[1:], other))]
    for each in names:
        local(each).parent.mkdir(parents=True, exist_ok=True)
        local(each).write_bytes(b"letters")
    days.plan()
    assert list(days.lines) == [*DAYS[:2], *paths[:2]]
    assert {home.table for home in days.homes()} == {NAME, dead.table}
    days.plan(1, gone=days.homes())
    days.plan(KEEP_SECONDS, gone=days.homes())
    assert not days.lines and days.present() == [DAYS[2]]
    assert [local(each).exists() for each in names] == [False, False, True, True]
    assert not local(f"{dead.location}/{paths[0]}").exists()


def test_nothing_is_listed_or_recorded_again_before_an_hour_has_expired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    days, listed = Days(tmp_path), list[int]()
    real = ExpiredPeriods.of

    def counted(**arguments: Any) -> ExpiredPeriods:
        listed.append(1)
        return real(**arguments)

    monkeypatch.setattr(ExpiredPeriods, "of", counted)
    days.plan()
    epoch = days.state.epoch
    restate(days.table, newest_ms=days.clock.epoch_ms() + 10**9)
    days.plan(EXPIRY_SECONDS - 1)
    assert len(listed) == 1 and days.state.epoch == epoch
    days.plan(1)
    assert len(listed) == 2 and days.state.epoch == epoch + 1


def test_a_partition_that_is_back_starts_its_day_again(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.plan()
    days.plan(1, gone=days.homes())
    (first, second) = sorted(days.homes())
    days.plan(KEEP_SECONDS, present=frozenset({first}), gone=frozenset({second}))
    assert days.lines == {first.path: ""} and days.present() == [DAYS[0], DAYS[2]]
    days.plan(1, gone=frozenset({first}))
    days.plan(FRESH_SECONDS, gone=frozenset({first}))
    assert days.lines[first.path] and days.present() == [DAYS[0], DAYS[2]]


def test_a_partition_with_files_of_others_waits_and_what_hive_refuses_is_a_warning(tmp_path: Path) -> None:
    days = Days(tmp_path)
    foreign = days.put(DAYS[0], "part-0.parquet")
    days.plan()
    assert list(days.lines) == [DAYS[1]]
    (warning,) = days.table.warnings["retention"]
    assert f"{DAYS[0]} has expired and stays" in warning and "part-0.parquet" in warning
    home = next(iter(days.homes()))
    days.registrar.events = [DropLookResult(NAME, DropLook(refused={home: "no permission"}), 0.0)]
    days.plan()
    assert list(days.table.warnings["retention"]) == [
        warning,
        f"{DAYS[1]} is not dropped from Hive: no permission",
    ]
    foreign.unlink()
    days.plan(EXPIRY_SECONDS, gone=days.homes())
    assert sorted(days.lines) == list(DAYS[:2]), "it is tried again after an hour"
    assert not days.table.warnings["retention"]


def test_a_name_node_that_does_not_list_sets_no_table_aside_and_is_asked_again_a_minute_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    days, tries = Days(tmp_path), list[int]()

    def fail(**_: Any) -> ExpiredPeriods:
        tries.append(1)
        raise ServiceUnavailable("storage.unavailable", "no answer")

    with monkeypatch.context() as patch:
        patch.setattr(ExpiredPeriods, "of", fail)
        days.plan()
        days.plan(RETRY_SECONDS - 1)
        assert len(tries) == 1 and days.table.aside is None
        assert days.table.warnings["retention"] == ("what has expired is not known: no answer",)
        days.plan(1)
        assert len(tries) == 2
    days.plan(RETRY_SECONDS)
    assert list(days.lines) == list(DAYS[:2]) and not days.table.warnings["retention"]


def test_those_that_expired_first_are_dropped_first_and_the_others_are_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafka2hive.ledger.retention.MOST_DROPPED", 1)
    days = Days(tmp_path)
    days.put("backup=x/dt=2025-11-01", file_name(days.state.ledger_id, 1, 0).in_state("final"))
    days.plan()
    assert list(days.lines) == [DAYS[0]]
    assert "at least 1 expired partition wait" in days.table.warnings["retention"][0]


def test_nothing_is_dropped_any_more_for_a_table_that_is_stopped(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.plan()
    assert days.registrar.dropped[NAME]
    days.tables.set_aside(days.table, ManualActionRequired("ledger.x", "broken", "repair it"))
    days.plan(1, gone=days.homes())
    assert days.registrar.dropped[NAME] == {}


def test_files_are_deleted_in_pieces_so_that_no_epoch_waits_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "MOST_DELETES", 1)
    days = Days(tmp_path)
    days.plan()
    days.plan(1, gone=days.homes())
    days.plan(KEEP_SECONDS, gone=days.homes())
    assert days.present() == [DAYS[1], DAYS[2]]
    days.plan(1)
    assert days.present() == [DAYS[2]]


@pytest.mark.parametrize(
    ("age", "is_deleted"), [(0, True), (FRESH_SECONDS, True), (FRESH_SECONDS + 1, False), (-1, False)]
)
def test_only_a_look_of_the_last_minutes_deletes(tmp_path: Path, age: float, is_deleted: bool) -> None:
    days = Days(tmp_path)
    days.plan()
    days.plan(1, gone=days.homes())
    days.clock.seconds += 2 * KEEP_SECONDS
    at = days.clock.epoch_ms() / 1000 - age
    days.registrar.events = [DropLookResult(NAME, DropLook(gone=days.homes()), at)]
    days.plan()
    assert (days.present() == [DAYS[2]]) is is_deleted
    days.plan(2)
    assert (days.present() == [DAYS[2]]) is is_deleted, "an old look does not become a new one"


def test_the_last_of_several_looks_decides(tmp_path: Path) -> None:
    """A run that was busy for a minute gets several looks at once."""
    days = Days(tmp_path)
    days.plan()
    days.plan(1, gone=days.homes())
    days.clock.seconds += 2 * KEEP_SECONDS
    now = days.clock.epoch_ms() / 1000
    first, second = sorted(days.homes())

    def looks(*each: DropLook) -> None:
        days.registrar.events = [DropLookResult(NAME, look, now - 9 + n) for n, look in enumerate(each)]
        days.plan()

    gone = DropLook(gone=days.homes())
    looks(gone, DropLook(present=frozenset({first}), refused={second: "it is elsewhere"}))
    assert days.present() == sorted(DAYS)
    assert days.lines[first.path] == "" and days.lines[second.path], (
        "one is back, of the other nothing is known"
    )
    looks(DropLook(present=frozenset({first}), refused={second: "it is elsewhere"}), gone)
    assert days.present() == [DAYS[0], DAYS[2]], "the day of the first one begins with the newest look"
    assert unix_seconds(days.lines[first.path]) == int(now - 8), "with its beginning"


@pytest.mark.parametrize("gone_since", ["", "2025-11-21T08:00:01Z"])
def test_looks_from_before_a_table_was_stopped_decide_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone_since: str
) -> None:
    """Another process may have owned the table in the meantime, and have found the partition in Hive."""
    monkeypatch.setattr(retention, "MOST_DELETES", 1)
    days = Days(tmp_path)
    days.plan()
    days.plan(1, gone=days.homes())
    days.plan(KEEP_SECONDS, gone=days.homes())
    assert days.present() == [DAYS[1], DAYS[2]], "the other one would be next"
    days.tables.set_aside(days.table, TableError("hive.x", "no permission", "give it"))
    days.plan(1, gone=days.homes())
    days.tables.set_aside(days.table, ManualActionRequired("ledger.x", "broken", "repair it"))
    days.plan(1, gone=days.homes())
    days.plan(1, gone=days.homes())
    (second,) = days.homes()
    days.table.state = days.table.ownership
    restate(days.table, dropped=(DroppedPartition(partition=second, epoch=1, gone_since=gone_since),))
    days.plan(1)
    days.plan(1)
    assert days.lines == {second.path: gone_since} and days.present() == [DAYS[1], DAYS[2]]


def test_a_partition_whose_certificate_is_not_written_waits(tmp_path: Path) -> None:
    days = Days(tmp_path)
    home = HivePartition(NAME, DAYS[0], f"{days.table.location}/{DAYS[0]}")
    certificate = Certificate(
        partition=home, since=0, files=1, rows=1, through="2025-11-20T00:00:00Z", policy="p", success_file=""
    )
    restate(days.table, certificates=(certificate,))
    days.plan()
    assert list(days.lines) == [DAYS[1]]


def test_success_files_go_with_the_partition_and_other_empty_files_stay(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.put(DAYS[0], "_SUCCESS").write_bytes(b"")
    days.put(DAYS[1], "_DONE").write_bytes(b"")
    days.plan()
    days.plan(1, gone=days.homes())
    days.plan(KEEP_SECONDS, gone=days.homes())
    assert days.present() == [DAYS[1], DAYS[2]]
    assert "this ledger did not write it" in days.table.warnings["retention"][0]


def test_a_map_that_has_hive_again_looks_before_it_deletes(tmp_path: Path) -> None:
    days = Days(tmp_path)
    home = HivePartition(NAME, DAYS[0], f"{days.table.location}/{DAYS[0]}")
    line = DroppedPartition(partition=home, epoch=0, gone_since="2025-11-19T08:00:00Z")
    restate(days.table, dropped=(line,))
    days.plan()
    days.plan(60)
    assert days.present() == sorted(DAYS) and days.lines[DAYS[0]]
    days.plan(1, gone=frozenset({home}))
    assert days.present() == [DAYS[1], DAYS[2]]


def test_a_partition_that_cannot_be_deleted_keeps_no_other_and_is_tried_again_ever_more_seldom(
    tmp_path: Path,
) -> None:
    days = Days(tmp_path)
    days.plan()
    days.plan(1, gone=days.homes())
    days.files.failures["list", f"{days.table.location}/{DAYS[0]}"] = Denied("no permission")
    days.plan(KEEP_SECONDS, gone=days.homes())
    assert list(days.lines) == [DAYS[0]] and days.present() == [DAYS[0], DAYS[2]]
    tries = len(days.files.calls)
    for _ in range(5):
        days.plan(RETRY_SECONDS / 10)
    assert len(days.files.calls) == tries, "it waits"
    days.plan(RETRY_SECONDS, gone=days.homes())
    assert len(days.files.calls) > tries
    days.files.failures.clear()
    days.plan(2 * RETRY_SECONDS, gone=days.homes())
    assert days.lines == {} and days.present() == [DAYS[2]]


def test_an_empty_directory_whose_deletion_had_no_answer_is_deleted_later(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.plan()
    days.plan(1, gone=days.homes())
    days.files.failures["delete", f"/{DAYS[0]}"] = Unavailable("no answer")
    days.plan(KEEP_SECONDS, gone=days.homes())
    assert list(days.lines) == [DAYS[0]] and days.present() == [DAYS[0], DAYS[2]]
    days.files.failures.clear()
    days.plan(RETRY_SECONDS, gone=days.homes())
    assert days.lines == {} and days.present() == [DAYS[2]]


def test_a_directory_that_cannot_be_listed_is_a_warning_and_stops_no_other(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.files.failures["list", f"/{DAYS[0]}"] = Denied("Permission denied: user=etl")
    days.plan()
    assert list(days.lines) == [DAYS[1]]
    (warning,) = days.table.warnings["retention"]
    assert DAYS[0] in warning and "Permission denied" in warning
    days.files.failures.clear()
    days.plan(EXPIRY_SECONDS)
    assert sorted(days.lines) == list(DAYS[:2])
