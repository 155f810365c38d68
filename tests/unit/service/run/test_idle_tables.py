"""What an idle table's ledger is to be told is written also while another table of the service has an epoch at each look."""

from dataclasses import replace
from pathlib import Path

from kafka2hive.config.keys import CompletionOptions as Options
from kafka2hive.model.files import HivePartition
from kafka2hive.model.snapshot import OpenPartition
from kafka2hive.service.run.completion import ASK_SECONDS, CompletionTracker
from kafka2hive.service.run.table_steps import FENCE_TABLES, RECORD_SECONDS, in_turn
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
