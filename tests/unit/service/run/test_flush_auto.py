"""A run whose small tables wait longer: between the interval and its bound, until the waiting bytes are worth a file."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.config.keys import CompletionOptions, PluginOptions
from kafka2hive.config.keys.writer import AUTO
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetAccounting
from kafka2hive.model.snapshot import OpenPartition
from kafka2hive.plan.contract import PlannedEpoch
from kafka2hive.service.run.completion import ASK_SECONDS, CompletionTracker
from kafka2hive.service.run.epochs import EpochLoop
from kafka2hive.service.run.owned_tables import OwnedTables
from tests.harness.cli_ledger import wired
from tests.harness.epoch_loop import (
    EARLY,
    LATE,
    AtOnce,
    Clock,
    Kafka,
    accounts_of,
    make_loop_and_tables,
    next_epoch,
    no_rows,
)
from tests.unit.service.owned_table import restate
from tests.unit.service.run.test_completion import Policy

RECORD_BYTES = 1000
BOUND = AUTO.longest_seconds
WORTH, BURST = AUTO.min_bytes // RECORD_BYTES + 1, AUTO.bytes // RECORD_BYTES + 1
"""Records that are worth a file after the interval, and at once."""
TRIGGER = 1.0
DAY = "dt=2025-11-20"
MAP = """\
defaults: {start: earliest, format: raw, flush: auto}
tables: [{table: air.early, topics: [early]}, {table: air.late, topics: [late]}]
"""


class Service:
    """A run over two tables; nobody looks at the clock between two triggers."""

    def __init__(self, folder: Path, once: bool = False) -> None:
        self.kafka = Kafka()
        real = wired(folder, MAP, service="once")
        self.clock = Clock()
        self.folder, self.wiring = folder, replace(real, ports=replace(real.ports, clock=self.clock))
        self.loop: EpochLoop
        self.tables: OwnedTables
        self.loop, self.tables = make_loop_and_tables(self.wiring, self.kafka, once=once, schemas=AtOnce())
        self.began = self.clock.monotonic()

    def run(self, epoch: PlannedEpoch) -> set[str]:
        """Let the tasks of the epoch end well. Return its tables."""
        self.loop.on_epoch(epoch.number, no_rows(epoch, RECORD_BYTES))
        return {t.table for plan in epoch.tasks for t in plan.tables}

    def passes(self, seconds: float, growth: dict[Any, int] | None = None) -> list[tuple[float, set[str]]]:
        """Let time pass while topics grow by so many records at each trigger. Return the epochs with their times."""
        epochs = []
        until = self.clock.monotonic() + seconds
        while self.clock.monotonic() < until:
            self.clock.seconds += TRIGGER
            for tp, records in (growth or {}).items():
                self.kafka.ends[tp] += records
            if (epoch := self.loop.plan()) is not None:
                epochs.append((self.clock.monotonic() - self.began, self.run(epoch)))
        return epochs

    def completes(self, completion: CompletionOptions, tracker: CompletionTracker) -> None:
        """The table of `early` gets certificates. After the first epoch its partition of the day before the clock's is open."""
        table, self.tables.completion = self.tables.tables["air.early"], tracker
        table.in_map = replace(table.in_map, rule=replace(table.rule, completion=completion))
        self.run(next_epoch(self.loop))
        place = f"{self.folder.as_uri()}/{DAY}"
        self.wiring.ports.files.mkdirs(place)
        partition = HivePartition("air.early", DAY, place)
        day = OpenPartition(partition=partition, since=1, opened_at="2025-11-20T00:00:00Z", files=1, rows=7)
        restate(table, open=(day,))
        self.passes(2 * ASK_SECONDS)


def of(table: str, epochs: Sequence[tuple[float, set[str]]]) -> list[float]:
    return [at for at, tables in epochs if table in tables]


@pytest.fixture
def service(tmp_path: Path) -> Service:
    """After its first epoch, which has both tables."""
    service = Service(tmp_path)
    assert service.run(next_epoch(service.loop)) == {"air.early", "air.late"}
    return service


def test_a_trickle_waits_for_the_bound_and_a_stream_for_the_interval(service: Service) -> None:
    epochs = service.passes(1200.0, {EARLY: 1, LATE: WORTH // 30})
    assert of("air.early", epochs) == [BOUND, 2 * BOUND]
    assert of("air.late", epochs) == [60.0 * n for n in range(1, 21)]


def test_a_table_between_them_waits_until_its_bytes_are_worth_a_file(service: Service) -> None:
    epochs = service.passes(600.0, {EARLY: WORTH // 199})
    assert of("air.early", epochs) == [200.0, 400.0, 600.0]


def test_a_burst_of_a_trickle_is_read_at_once(service: Service) -> None:
    assert service.passes(30.0, {EARLY: 1}) == []
    service.kafka.ends[EARLY] += BURST
    assert of("air.early", service.passes(30.0, {EARLY: 1})) == [31.0]


def test_a_table_without_a_measured_size_is_due_after_its_interval(tmp_path: Path) -> None:
    service = Service(tmp_path)
    epoch = next_epoch(service.loop)
    only_absent = accounts_of(epoch, lambda r: OffsetAccounting(absent=len(r)))
    service.loop.on_epoch(epoch.number, only_absent)
    assert of("air.early", service.passes(120.0, {EARLY: 1})) == [60.0]


def test_a_run_of_once_reads_small_tables_at_once(tmp_path: Path) -> None:
    service = Service(tmp_path, once=True)
    assert service.run(next_epoch(service.loop)) == {"air.early", "air.late"}
    assert service.loop.plan() is None
    assert service.tables.tables["air.early"].lag == 0


def test_a_certificate_does_not_wait_longer_than_the_interval(tmp_path: Path) -> None:
    service = Service(tmp_path)
    in_100_s = CompletionOptions(8 * 3600.0 + 100.0)  # the clock shows 08:00 of the next day
    service.completes(in_100_s, CompletionTracker(service.clock, False))
    table = service.tables.tables["air.early"]
    epochs = of("air.early", service.passes(900.0, {EARLY: 1}))
    # from that time on every 60 s, until the table is read through that time
    assert epochs == [101.0, 161.0, 221.0, 221.0 + BOUND]
    assert table.owned.state.open == ()
    assert any(path.name.startswith("_kafka2hive_complete-") for path in (tmp_path / DAY).iterdir())


def test_a_table_of_a_completion_plugin_keeps_its_interval(tmp_path: Path) -> None:
    service = Service(tmp_path)
    by_plugin = CompletionOptions(plugin=PluginOptions(name="never"))
    service.completes(by_plugin, CompletionTracker(service.clock, False, Policy().of))
    assert of("air.early", service.passes(190.0, {EARLY: 1})) == [60.0, 120.0, 180.0]
