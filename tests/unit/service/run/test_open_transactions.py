"""Records behind an open transaction: what `--once` waits for and ends with, and what a service says of them."""

import logging
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.kafka.port import Watermark
from kafka2hive.model.errors import TableError
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.service.run.open_transactions import NOTICED_SECONDS
from kafka2hive.service.tables.table_state import HeldRecords
from tests.harness.cli_ledger import wired
from tests.harness.epoch_loop import (
    EARLY,
    LATE,
    AtOnce,
    Clock,
    Kafka,
    make_loop_and_tables,
    make_wiring,
    next_epoch,
    planned,
    run,
)


class Transactional(Kafka):
    """A transaction is open in `early`, for so many looks; Kafka has acknowledged 5 more records behind it."""

    def __init__(self, looks: int = 10_000) -> None:
        super().__init__()
        self.ends[EARLY] = 12
        self.looks = looks
        self.stable = {EARLY: 7}

    def latest(self, wanted: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        self.looks -= 1
        held = {tp: Watermark(end) for tp, end in self.stable.items() if tp in wanted and self.looks > 0}
        return super().latest(wanted) | held

    def high_watermarks(self, wanted: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        return {tp: Watermark(self.ends[tp]) for tp in wanted}


def test_a_run_of_once_dumps_what_can_be_read_and_is_not_done_behind_an_open_transaction(
    tmp_path: Path,
) -> None:
    loop, owned_tables = make_loop_and_tables(make_wiring(tmp_path), Transactional())
    first = next_epoch(loop)
    assert planned(first) == [OffsetRange(EARLY, 0, 7)]
    run(loop, first)
    run(loop, next_epoch(loop))
    early = owned_tables.tables["air.early"]
    assert early.lag == 5
    assert loop.plan() is None
    assert early.aside is not None and early.aside.error.code == "kafka.open_transaction"
    assert early.aside.error.message == (
        "air.early: early-0 ended at offset 12 when the run began, but can be read only up to 7: a transaction has been"
        " open for 75 s. All readable records are dumped"
    )
    assert "--topic early --partition 0 --start-offset 7" in early.aside.error.remedy
    late = owned_tables.tables["air.late"]
    assert late.aside is None and late.owned.state.position(LATE) is not None


def test_a_transaction_that_ends_while_a_run_of_once_waits_is_dumped(tmp_path: Path) -> None:
    loop, owned_tables = make_loop_and_tables(make_wiring(tmp_path), Transactional(looks=20))
    while (epoch := loop.plan()) is not None:
        run(loop, epoch)
    position = owned_tables.tables["air.early"].owned.state.position(EARLY)
    assert position is not None and position.end == 12
    assert owned_tables.set_aside_tables() == []


def test_a_service_warns_of_a_transaction_that_stays_open_until_it_is_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wiring, kafka = make_wiring(tmp_path), Transactional()
    loop, owned_tables = make_loop_and_tables(wiring, kafka, once=False)
    run(loop, next_epoch(loop))
    early = owned_tables.tables["air.early"]
    assert (early.held.records, early.warnings["transactions"]) == (5, ())
    wiring.ports.clock.sleep(NOTICED_SECONDS)
    with caplog.at_level(logging.INFO):
        loop.plan()
        loop.plan()
        (warning,) = early.warnings["transactions"]
        assert warning.startswith("early-0: a transaction at offset 7 has been open since ")
        kafka.looks = 0
        loop.plan()
    assert (early.held, early.warnings["transactions"]) == (HeldRecords(), ())
    told = [line for line in caplog.messages if line.startswith("early-0: ")]
    assert told == [warning, "early-0: the transaction is over, and readers get the records"]


def test_of_a_table_that_is_set_aside_nothing_is_said_of_transactions(tmp_path: Path) -> None:
    """Its logs are not looked at: the transaction may be over."""
    wiring = make_wiring(tmp_path)
    loop, owned_tables = make_loop_and_tables(wiring, Transactional(), once=False)
    run(loop, next_epoch(loop))
    wiring.ports.clock.sleep(NOTICED_SECONDS)
    loop.plan()
    early = owned_tables.tables["air.early"]
    assert early.warnings["transactions"] and early.held.records == 5
    owned_tables.set_aside(early, TableError("a.b", "no room"))
    loop.plan()
    assert (early.held, early.warnings["transactions"]) == (HeldRecords(), ())


def test_a_transaction_is_open_since_its_end_stands_still_and_a_table_since_its_oldest(
    tmp_path: Path,
) -> None:
    tables = "tables: [{table: air.both, topics: [early, late], format: raw, start: earliest}]"
    wiring = wired(tmp_path, tables, service="once")
    wiring = replace(wiring, ports=replace(wiring.ports, clock=Clock()))
    kafka = Transactional()
    loop, owned_tables = make_loop_and_tables(wiring, kafka, once=False, schemas=AtOnce())
    run(loop, next_epoch(loop))
    both, began = owned_tables.tables["air.both"], wiring.ports.clock.epoch_ms()
    assert both.held.since_ms == began
    for _ in range(3):  # other producers go on behind it
        kafka.ends[EARLY] += 5
        wiring.ports.clock.sleep(10)
        loop.plan()
    kafka.stable[LATE] = 11
    kafka.ends[LATE] = 15
    loop.plan()
    assert (both.held.records, both.held.since_ms) == (24, began)
    kafka.stable[EARLY] = 9  # the next one, in the place of one that is over
    loop.plan()
    assert both.held.since_ms == began + 30_000
