"""What was planned and not committed is read again as soon as its table is tried again, however long its flush interval."""

from dataclasses import replace
from pathlib import Path

from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.service.run.hive_gate import Gate
from kafka2hive.service.wiring import Wiring
from tests.harness.cli_ledger import wired
from tests.harness.epoch_loop import (
    EARLY,
    AtOnce,
    Clock,
    Kafka,
    make_loop_and_tables,
    next_epoch,
    planned,
    run,
)

HOUR = 3600.0


def make_wiring(folder: Path) -> Wiring:
    """One table, with a file an hour."""
    rule = "{table: air.early, topics: [early], format: raw, start: earliest, flush: {interval: 1h}}"
    real = wired(folder, f"tables: [{rule}]", service="once")
    return replace(real, ports=replace(real.ports, clock=Clock()))


def test_an_epoch_whose_job_failed_is_planned_again_at_once(tmp_path: Path) -> None:
    wiring = make_wiring(tmp_path)
    loop, tables = make_loop_and_tables(wiring, Kafka(), once=False, schemas=AtOnce())
    loop.on_failed(next_epoch(loop).number, "SIGKILL")
    second = next_epoch(loop)
    assert planned(second) == [OffsetRange(EARLY, 0, 7)]
    loop.on_failed(second.number, "SIGKILL")
    aside = tables.tables["air.early"].aside
    assert aside is not None and loop.plan() is None
    wiring.ports.clock.sleep(aside.until - wiring.ports.clock.monotonic())
    run(loop, next_epoch(loop))
    assert tables.set_aside_tables() == []


class NoAnswer(Gate):
    """Hive does not answer when the first data are to be committed."""

    tries = 0

    def check(self, table: object, change: object) -> None:
        self.tries += 1
        if self.tries == 2:
            raise ServiceUnavailable("hive.not_compared", "no answer", "wait")


def test_a_commit_that_failed_is_tried_again_when_the_wait_is_over(tmp_path: Path) -> None:
    wiring = make_wiring(tmp_path)
    loop, tables = make_loop_and_tables(wiring, Kafka(), once=False, schemas=AtOnce(), gate=NoAnswer())
    run(loop, next_epoch(loop))
    early = tables.tables["air.early"]
    assert [table.name for table in tables.set_aside_tables()] == ["air.early"]
    wiring.ports.clock.sleep(5.0)
    run(loop, next_epoch(loop))
    assert tables.set_aside_tables() == [] and early.failures == 0
    position = early.owned.state.position(EARLY)
    assert position is not None and position.end == 7
