"""What an idle table's ledger is to be told is written also while another table of the service has an epoch at each look."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.config.keys import CompletionOptions as Options
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.snapshot import OpenPartition
from kafka2hive.service.run.completion import ASK_SECONDS, CompletionTracker
from kafka2hive.service.run.outages import systems_away
from kafka2hive.service.run.table_steps import FENCE_SECONDS, FENCE_TABLES, RECORD_SECONDS, in_turn
from kafka2hive.storage.port import FileStatus, FileSystem, Unavailable
from tests.harness.epoch_loop import (
    EARLY,
    LATE,
    AtOnce,
    Kafka,
    make_loop_and_tables,
    make_wiring,
    next_epoch,
    planned,
    run,
)
from tests.unit.service.owned_table import restate
from tests.unit.service.run.test_completion import Policy

DAY = HivePartition("air.early", "dt=2026-11-24", "file:///w/dt=2026-11-24")
FLUSH = 60.0


class FilesAway:
    """A file system that does not answer while `away` is set."""

    def __init__(self, files: FileSystem) -> None:
        self._files = files
        self.away = False

    def list(self, path: str) -> tuple[FileStatus, ...]:
        if self.away:
            raise Unavailable(path, "no NameNode answers")
        return self._files.list(path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)


def test_an_outage_of_the_storage_ends_for_tables_without_work(tmp_path: Path) -> None:
    real = make_wiring(tmp_path)
    files = FilesAway(real.ports.files)
    wiring = replace(real, ports=replace(real.ports, files=files))
    loop, tables = make_loop_and_tables(wiring, Kafka(), once=False, schemas=AtOnce())
    run(loop, next_epoch(loop))
    files.away = True
    wiring.ports.clock.sleep(FENCE_SECONDS)
    assert loop.plan() is None and loop.plan() is None
    assert len(tables.set_aside_tables()) == 2
    assert set(systems_away(None, None, tables.set_aside_tables())) == {"storage"}
    waits = [aside.until for table in tables.set_aside_tables() if (aside := table.aside) is not None]
    wiring.ports.clock.sleep(max(waits) - wiring.ports.clock.monotonic())
    assert loop.plan() is None
    assert len(tables.set_aside_tables()) == 2, "still away"
    files.away = False
    wiring.ports.clock.sleep(30.0)
    assert loop.plan() is None
    assert tables.set_aside_tables() == []


def test_the_log_tells_once_that_a_busy_table_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wiring, kafka = make_wiring(tmp_path), Kafka()
    loop, tables = make_loop_and_tables(wiring, kafka, once=False, schemas=AtOnce())
    run(loop, next_epoch(loop))
    tables.set_aside(tables.tables["air.early"], TableError("storage.no_room", "the quota is exceeded"))
    with caplog.at_level(logging.INFO):
        for _ in range(2):
            kafka.ends[EARLY] += 5
            wiring.ports.clock.sleep(FLUSH)
            run(loop, next_epoch(loop))
    ends = [m for m in caplog.messages if " goes on" in m]
    assert ends == ["air.early goes on: [storage.no_room] has ended"]


def test_the_log_tells_once_that_a_topic_was_deleted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wiring, kafka = make_wiring(tmp_path), Kafka()
    loop, tables = make_loop_and_tables(wiring, kafka, once=False, schemas=AtOnce())
    run(loop, next_epoch(loop))
    del kafka.ends[EARLY]
    for _ in range(3):
        tables.refresh(kafka.cluster().topics)
        wiring.ports.clock.sleep(FLUSH)
    told = [m for m in caplog.messages if "topic early" in m]
    assert told == ["air.early: topic early is not in Kafka any more"]


def test_a_table_whose_records_wait_for_their_interval_is_served_once_it_was_tried(tmp_path: Path) -> None:
    real, kafka = make_wiring(tmp_path), Kafka()
    files = FilesAway(real.ports.files)
    wiring = replace(real, ports=replace(real.ports, files=files))
    loop, tables = make_loop_and_tables(wiring, kafka, once=False, schemas=AtOnce())
    early = tables.tables["air.early"]
    hourly = replace(early.rule.flush, interval_seconds=3600.0)
    early.in_map = replace(early.in_map, rule=replace(early.rule, flush=hourly))
    run(loop, next_epoch(loop))
    kafka.ends[EARLY] += 5
    files.away = True
    wiring.ports.clock.sleep(FENCE_SECONDS)
    assert loop.plan() is None and early.aside is not None
    files.away = False
    wiring.ports.clock.sleep(5.0)
    assert loop.plan() is None
    assert tables.set_aside_tables() == [] and not early.is_on_trial and early.lag == 5


def test_registrations_of_an_idle_table_are_recorded_beside_a_busy_one(tmp_path: Path) -> None:
    wiring, kafka = make_wiring(tmp_path), Kafka()
    loop, tables = make_loop_and_tables(wiring, kafka, once=False, schemas=AtOnce())
    run(loop, next_epoch(loop))
    early = tables.tables["air.early"]
    restate(early, unregistered=(DAY,))
    early.ownership = replace(early.owned, registered=frozenset({DAY}))
    before = early.owned.state.epoch
    for _ in range(3):
        kafka.ends[LATE] += 5
        wiring.ports.clock.sleep(FLUSH)
        epoch = next_epoch(loop)
        assert {r.topic_partition for r in planned(epoch)} == {LATE}
        run(loop, epoch)
    assert early.owned.state.unregistered == () and early.owned.registered == frozenset()
    assert early.owned.state.epoch == before + 1
    assert early.owned.state.position(EARLY) is not None


def test_beside_a_busy_table_it_is_not_done_at_each_look(tmp_path: Path) -> None:
    wiring, kafka = make_wiring(tmp_path), Kafka()
    loop, tables = make_loop_and_tables(wiring, kafka, once=False, schemas=AtOnce())
    run(loop, next_epoch(loop))
    early, late = tables.tables["air.early"], tables.tables["air.late"]
    at_once = replace(late.rule, flush=replace(late.rule.flush, interval_seconds=0.0))
    late.in_map = replace(late.in_map, rule=at_once)
    written = []
    for _ in range(5):
        restate(early, unregistered=(DAY,))
        early.ownership = replace(early.owned, registered=frozenset({DAY}))
        kafka.ends[LATE] += 5
        wiring.ports.clock.sleep(RECORD_SECONDS / 4)
        run(loop, next_epoch(loop))
        written.append(early.owned.state.epoch)
    assert len(set(written)) == 2


def test_a_partition_is_certified_while_later_records_wait_for_their_flush_interval(tmp_path: Path) -> None:
    wiring, kafka, policy = make_wiring(tmp_path), Kafka(), Policy()
    loop, tables = make_loop_and_tables(wiring, kafka, once=False, schemas=AtOnce())
    early = tables.tables["air.early"]
    tables.completion = CompletionTracker(wiring.ports.clock, False, policy.of)
    hourly = replace(early.rule.flush, interval_seconds=3600.0)
    early.in_map = replace(early.in_map, rule=replace(early.rule, completion=Options(), flush=hourly))
    run(loop, next_epoch(loop))
    whole = OpenPartition(partition=DAY, since=1, opened_at="2025-11-20T00:00:00Z", files=1, rows=7)
    restate(early, open=(whole,))
    policy.yes = {DAY.path}  # Hive has taken it only now, say
    kafka.ends[EARLY] = 9
    wiring.ports.clock.sleep(ASK_SECONDS)
    assert loop.plan() is None
    (certificate,) = early.owned.state.certificates
    assert (certificate.partition, certificate.rows, early.lag) == (DAY, 7, 2)


def test_ledgers_of_many_tables_are_looked_at_in_turn() -> None:
    tables, begin = range(2 * FENCE_TABLES + 5), 0
    looked_at: list[int] = []
    for _ in range(3):
        turn, begin = in_turn(tables, begin)
        assert 0 < len(turn) <= FENCE_TABLES
        looked_at += turn
    assert looked_at == list(tables)
    assert in_turn(tables, begin)[0][0] == 0
    assert in_turn(range(2), 0) == (range(2), FENCE_TABLES) and in_turn(range(0), FENCE_TABLES)[0] == range(0)
