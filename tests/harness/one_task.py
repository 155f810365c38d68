"""A whole task over logs in memory: nothing but Kafka's client and the file system is a fake."""

from collections.abc import Sequence
from typing import Any

from kafka2hive.config.keys import TableSettings
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange
from kafka2hive.model.snapshot import EventBounds
from kafka2hive.plan.contract import TableManifest, TaskPlan, TaskSettings
from kafka2hive.service.tables.manifests import Outcome, judge_manifests
from kafka2hive.storage.port import FileSystem
from kafka2hive.task.fetch.consumer import ConsumerPort
from kafka2hive.task.watchdog import Watchdog
from tests.harness.fake_consumer import FakeConsumer, FakeLog, Key
from tests.harness.task_files import MemoryFiles, table_task, task_of, task_settings


def manifests_of(
    plan: TaskPlan, settings: TaskSettings, files: FileSystem, consumer: ConsumerPort, **options: Any
) -> list[TableManifest]:
    """Run a task of this plan. `options`: see task_of."""
    with Watchdog(240.0) as watchdog:
        return list(task_of(plan, settings, files, consumer, watchdog, **options).run())


def run_task_of(
    logs: dict[Key, FakeLog], table: TableSettings, ranges: Sequence[OffsetRange], **options: Any
) -> tuple[TableManifest, MemoryFiles]:
    """Run a task of these ranges of one table."""
    settings = task_settings("", table, stall_seconds=2.0)
    return run_on(FakeConsumer(logs), settings, ranges, **options)


def run_on(
    consumer: ConsumerPort,
    settings: TaskSettings,
    ranges: Sequence[OffsetRange],
    files: MemoryFiles | None = None,
    **options: Any,
) -> tuple[TableManifest, MemoryFiles]:
    """Run a task of these ranges of the table db.t with this client."""
    files = files or MemoryFiles()
    plan = TaskPlan(0, (table_task("db.t", *ranges),))
    (manifest,) = manifests_of(plan, settings, files, consumer, **options)
    return manifest, files


def outcome_of(
    *manifests: TableManifest,
    planned: Sequence[OffsetRange] = (),
    share: float = 1.0,
    bounds: EventBounds | None = None,
) -> Outcome:
    """What the gate lets through; `planned`: these ranges instead of those in the accounts."""
    ranges = planned or [account.range for manifest in manifests for account in manifest.accounts]
    return judge_manifests(
        "db.t", ranges, manifests, share, frozenset(), "c", "file:///warehouse/db.t", bounds
    )


def total(manifest: TableManifest) -> OffsetAccounting:
    """The account that the gate lets through."""
    return outcome_of(manifest).total
