"""The loop of a run over two tables, with fakes for Kafka, Hive and time; its tasks bring accounts home and no files."""

import math
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from kafka2hive.config.keys import TableSettings
from kafka2hive.kafka.port import ClusterView, RecordAddress, TopicView, Watermark, any_topic
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.metastore import MetastoreUnavailable
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, RangeAccounting, TopicPartition
from kafka2hive.model.paths.ledger import is_draft_name
from kafka2hive.model.paths.path import base_name
from kafka2hive.plan.contract import PlannedEpoch, TableManifest, TableTask
from kafka2hive.service.hive.registrar import NoRegistrar, RegistrarEvent
from kafka2hive.service.run.completion import CompletionTracker
from kafka2hive.service.run.epochs import EpochLoop
from kafka2hive.service.run.hive_gate import Gate
from kafka2hive.service.run.inbox_watch import OrderSource
from kafka2hive.service.run.owned_tables import OwnedTables
from kafka2hive.service.start.lost_ledger import LostLedgerCheck
from kafka2hive.service.tables.report import Reporter
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.topics.kafka_view import KafkaView
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import FileSystem, NoRoom, StorageWriter
from tests.harness.cli_ledger import wired
from tests.harness.clock import SkippedTime
from tests.harness.fake_kafka import FakeKafka
from tests.harness.task_files import delivered_as

EARLY, LATE = TopicPartition("early", 0), TopicPartition("late", 0)


class Clock(SkippedTime):
    """Waiting for ever is noticed."""

    def sleep(self, seconds: float) -> None:
        assert math.isfinite(seconds), "it waits for ever"
        super().sleep(seconds)
        assert len(self.waits) < 200, "it waits for ever"


class FullForDrafts:
    """A file system whose quota is used up once both tables have their first positions."""

    def __init__(self, files: FileSystem) -> None:
        self._files = files

    def create(self, path: str) -> StorageWriter:
        if is_draft_name(base_name(path)) and "e000001" not in path:
            raise NoRoom(path, "quota exceeded")
        return self._files.create(path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)


class Kafka(FakeKafka):
    """Two topics with one partition each."""

    def __init__(self) -> None:
        self.ends = {EARLY: 7, LATE: 11}
        self.silent_for = 0  # times that `late` is not answered for

    def cluster(self, is_wanted: Callable[[str], bool] = any_topic) -> ClusterView:
        topics = {tp.topic: TopicView(tp.topic, f"id-{tp.topic}", (0,)) for tp in self.ends}
        return ClusterView("cluster", topics)

    def earliest(self, wanted: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        return {tp: Watermark(0) for tp in wanted}

    def latest(self, wanted: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        self.silent_for -= 1
        return {tp: Watermark(self.ends[tp]) for tp in wanted if tp != LATE or self.silent_for < 0}

    def record_epochs(self, addresses: Collection[RecordAddress]) -> dict[RecordAddress, int | None]:
        return {}


class Schemas:
    """Hive's part: the schema of table `late` cannot be had at the first try."""

    def __init__(self) -> None:
        self.tries: list[str] = []

    def resolve(self, table: MapTable) -> TableSettings:
        self.tries.append(table.name)
        if self.tries.count(table.name) == 1 and table.name == "air.late":
            raise ServiceUnavailable("hive.unavailable", "not there yet")
        rule = table.rule
        return rule.settings(rule.columns)

    def remember_ledger(self, name: str, ledger_id: str) -> None:
        """Nothing is made in Hive."""

    def doubt(self, name: str) -> None:
        """Hive is asked anyway."""

    def forget(self, name: str) -> None:
        """Nothing is remembered."""


class AtOnce(Schemas):
    """Every schema can be had."""

    def resolve(self, table: MapTable) -> TableSettings:
        return table.rule.settings(table.rule.columns)


def make_wiring(folder: Path, early: str = "early") -> Wiring:
    tables = f"tables: [{{table: air.early, topics: [{early}]}}, {{table: air.late, topics: [late]}}]"
    real = wired(folder, f"defaults: {{start: earliest, format: raw}}\n{tables}", service="once")
    return replace(real, ports=replace(real.ports, clock=Clock()))


def make_loop(wiring: Wiring, kafka: Kafka) -> EpochLoop:
    return make_loop_and_tables(wiring, kafka)[0]


class HiveAnswers(NoRegistrar):
    """A registrar that Hive answers when the test says so."""

    def __init__(self) -> None:
        self.events: list[RegistrarEvent] = []
        self.why: MetastoreUnavailable | None = None

    def take_events(self) -> list[RegistrarEvent]:
        events, self.events = self.events, []
        return events

    @property
    def no_answer(self) -> MetastoreUnavailable | None:
        return self.why


def make_loop_and_tables(
    wiring: Wiring,
    kafka: Kafka,
    once: bool = True,
    registrar: NoRegistrar = NoRegistrar(),  # noqa: B008  it holds nothing
    gate: Gate = Gate(),  # noqa: B008  it holds nothing
    schemas: Schemas | None = None,
    check_select: Callable[[TableSettings], None] | None = None,
    reporter: Reporter | None = None,
    slots: Callable[[], int] = lambda: 1,
    orders: OrderSource | None = None,
) -> tuple[EpochLoop, OwnedTables]:
    """After the first take-over."""
    ownership = wiring.ownership_check(take_over=False)
    lost_ledger = LostLedgerCheck(kafka, None, wiring)
    owned_tables = OwnedTables(
        wiring,
        ownership,
        lost_ledger,
        schemas or Schemas(),
        CompletionTracker(wiring.ports.clock, False),
        gate,
    )
    if check_select is not None:
        owned_tables.check_select = check_select
    view = KafkaView(kafka, wiring.ports.clock)
    owned_tables.refresh(view.cluster().topics)
    loop = EpochLoop(
        wiring=wiring,
        kafka=view,
        owned_tables=owned_tables,
        registrar=registrar,
        reporter=reporter or Reporter(),
        slots=slots,
        once=once,
        orders=orders,
    )
    loop.start_tables()
    return loop, owned_tables


def next_epoch(loop: EpochLoop) -> PlannedEpoch:
    """The next one, which is due."""
    epoch = loop.plan()
    assert epoch is not None
    return epoch


def only_tombstones(epoch: PlannedEpoch) -> list[TableManifest]:
    """What tasks bring home when every record is a tombstone: accounts, no files."""
    return accounts_of(epoch, lambda r: OffsetAccounting(read=len(r), tombstones=len(r)))


def no_rows(epoch: PlannedEpoch, record_bytes: int) -> list[TableManifest]:
    """What tasks bring home when no record has a row for the table."""
    return accounts_of(
        epoch, lambda r: OffsetAccounting(read=len(r), filtered=len(r), bytes=record_bytes * len(r))
    )


def accounts_of(
    epoch: PlannedEpoch, account: Callable[[OffsetRange], OffsetAccounting]
) -> list[TableManifest]:
    """What tasks bring home when no offset has a row: these accounts."""
    return [_manifest(plan.index, t, account) for plan in epoch.tasks for t in plan.tables]


def _manifest(
    index: int, task: TableTask, account: Callable[[OffsetRange], OffsetAccounting]
) -> TableManifest:
    accounts = tuple(RangeAccounting(index, r, account(r)) for r in task.ranges)
    return TableManifest(
        table=task.table,
        task=index,
        generation=task.generation,
        epoch=task.epoch,
        accounts=accounts,
        delivered=delivered_as(accounts),
    )


def run(loop: EpochLoop, epoch: PlannedEpoch) -> None:
    """Its tasks end well."""
    loop.on_epoch(epoch.number, only_tombstones(epoch))


def planned(epoch: PlannedEpoch) -> list[OffsetRange]:
    return [r for plan in epoch.tasks for t in plan.tables for r in t.ranges]
