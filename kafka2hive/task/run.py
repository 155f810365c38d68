"""A task from plan to manifests: it fetches, decodes, buckets and writes in one process.

It runs in a Spark Python worker or in any other process. An error of one table becomes a manifest with a failure, and
the other tables continue. Any other error is raised, and Spark retries the task.
A dry run is a task without files; commands use it to show how `run` would treat records.
"""

import gc
import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import pyarrow as pa

from kafka2hive.config.keys import StorageOptions
from kafka2hive.model.errors import AccessRefused, ConfigError, ServiceUnavailable
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, shown_cluster
from kafka2hive.model.snapshot import EventBounds
from kafka2hive.plan.contract import (
    ColumnsSeen,
    TableFailure,
    TableManifest,
    TableTask,
    TaskPlan,
    TaskSettings,
)
from kafka2hive.storage.port import Clock, FileSystem
from kafka2hive.task.failures import TableErrors, needs_spark, on_this_host
from kafka2hive.task.fetch.chunk import Chunk
from kafka2hive.task.fetch.consumer import forget_consumer, forget_consumers, process_consumer
from kafka2hive.task.fetch.delivery_count import FetchBug
from kafka2hive.task.fetch.fetch import Fetch, TableUnreadable
from kafka2hive.task.fetch.reader import Event, RangeReader, TableDelivered
from kafka2hive.task.letter_replay import LettersTask
from kafka2hive.task.part import TablePart, TaskEnvironment, task_environment
from kafka2hive.task.table import BucketedRows, OpenEnd, TableRun
from kafka2hive.task.watchdog import Watchdog
from kafka2hive.task.write.destination import OpenSink
from kafka2hive.task.write.upload import AMBIGUOUS

log = logging.getLogger(__name__)
Output: TypeAlias = TableManifest | pa.RecordBatch
"""An output of a task: rows that a table's RowEnd passes on, or a table's manifest, which follows its rows."""
SECOND_READS = 2
_SECOND_READ_WITHIN_SECONDS = 60.0
COMMAND_STALL_SECONDS = 60.0
"""How long a command waits for Kafka before it gives up."""
_connected: dict[tuple[int, StorageOptions], FileSystem] = {}


def run_task(plan: TaskPlan, settings: TaskSettings) -> Iterator[TableManifest]:
    """Yield one manifest per table of the plan, in the order in which the tables end.

    A plan's tables all read Kafka, or all replay the letters of a dead-letter file.

    If Kafka refuses this process, the remaining tables get manifests with that failure, since a retry would not help.
    Raises ServiceUnavailable if Kafka delivers nothing for `stall_seconds`. If any other part of the task stalls for that
    long, the process ends with exit code 70. A crash leaves orphans; a second run of the plan writes files with new names.
    """
    of_letters = any(task.replay is not None for task in plan.tables)
    yield from manifests_of(run_in_worker(plan, settings, partial(LettersTask if of_letters else Task, plan)))


def run_in_worker(
    plan: TaskPlan, settings: TaskSettings, make_task: "Callable[[TaskEnvironment], Task | LettersTask]"
) -> Iterator[Output]:
    """Yield the outputs of a task that uses this process's clients, under a watchdog (see `run_task`)."""
    with rare_garbage_collection(), Watchdog(settings.stall_seconds) as watchdog:
        files, consumer = process_files(settings.storage), partial(process_consumer, settings.kafka)
        reported: set[str] = set()
        try:
            for output in make_task(task_environment(settings, files, consumer, watchdog.touch)).outputs():
                if isinstance(output, TableManifest):
                    reported.add(output.table)
                with watchdog.idle():
                    yield output
        except (AccessRefused, ConfigError) as error:
            forget_consumers(settings)
            for task in (task for task in plan.tables if task.table not in reported):
                part = TablePart(index=plan.index, task=task, settings=settings)
                yield part.failure_manifest(on_this_host(error))
        except (ServiceUnavailable, FetchBug):
            forget_consumers(settings)
            raise


def manifests_of(outputs: Iterator[Output]) -> Iterator[TableManifest]:
    """Return the manifests among the outputs."""
    return (output for output in outputs if isinstance(output, TableManifest))


class Task:
    """The read loop of all commands: it decodes and counts every record and passes its rows to the table's end."""

    def __init__(
        self,
        plan: TaskPlan,
        environment: TaskEnvironment,
        *,
        open_end: OpenEnd = BucketedRows,
        file_plan: TaskPlan | None = None,
        retried: tuple[type[Exception], ...] = (),
        open_fetch: type[Fetch] = Fetch,
    ) -> None:
        """`open_end` opens the destination of the rows; `file_plan` is as in TablePart.

        A table's error of a type in `retried` ends the task. If rows become files, a table is re-read after an ambiguous
        storage error. `open_fetch` makes the fetch; Kafka's client counts the records independently of it.
        """
        self._environment = environment
        self._parts = tuple(
            TablePart(index=plan.index, task=task, settings=environment.settings, file_plan=file_plan)
            for task in plan.tables
        )
        self._open_end = open_end
        self._retried = retried
        self._open_fetch = open_fetch
        self._runs: dict[str, TableRun] = {}
        self._reader: RangeReader | None = None
        self._closing: list[TableRun] = []
        self._to_reread: list[TablePart] = []
        most = SECOND_READS if environment.writes_files else 0
        self._second_reads = SecondReads(environment.limits.clock, most=most)

    def run(self) -> Iterator[TableManifest]:
        return manifests_of(self.outputs())

    def outputs(self) -> Iterator[Output]:
        """Read all tables. Tables whose file had an ambiguous failure are re-read as new attempts."""
        try:
            yield from self._read(self._parts)
            while self._to_reread:
                parts, self._to_reread = tuple(self._to_reread), []
                yield from self._read(parts)
        finally:
            for run in self._runs.values():
                run.abandon()  # a run is still here only after an error
            self._environment.close()

    def _read(self, parts: tuple[TablePart, ...]) -> Iterator[Output]:
        for part in parts:
            yield from self._step(part, self._begin(part))
        by_cluster: dict[str, list[str]] = {}
        for name, run in self._runs.items():
            by_cluster.setdefault(run.part.cluster, []).append(name)
        for cluster, names in sorted(by_cluster.items()):
            try:
                yield from self._read_cluster(cluster, names)
            except (ServiceUnavailable, AccessRefused) as error:
                if not self._environment.settings.clusters or not error.code.startswith("kafka."):
                    raise
                # the tables of the other clusters are read
                forget_consumer(self._environment.settings.kafka_of(cluster))
                failure = TableFailure(error.code, f"{shown_cluster(cluster)}: {error.message}", error.remedy)
                yield from self._fail(names, failure)

    def _fail(self, names: list[str], failure: TableFailure) -> Iterator[Output]:
        """Yield manifests with the failure for those of the tables that are still read."""
        self._reader = None
        for name in names:
            if (run := self._runs.pop(name, None)) is not None:
                run.abandon()
                yield run.part.failure_manifest(failure)
        self._closing = [run for run in self._closing if run.part.task.table not in names]

    def _read_cluster(self, cluster: str, names: list[str]) -> Iterator[Output]:
        environment = self._environment
        self._reader = RangeReader(
            consumer=environment.consumer(cluster),
            ranges={name: self._runs[name].part.ranges for name in names},
            stall_seconds=environment.settings.fetch_stall_seconds,
            progress=environment.progress,
            open_fetch=self._open_fetch,
        )
        start = time.perf_counter()
        for event in self._reader:
            run = self._runs[event.table]
            run.times.add("fetch", time.perf_counter() - start)
            yield from self._step(run.part, self._handle(run, event))
            del event  # frees a chunk's memory before the next delivery
            start = time.perf_counter()
        while self._closing:
            run = self._closing.pop(0)
            yield from self._step(run.part, self._manifest(run))

    def _step(self, part: TablePart, outputs: Iterator[Output]) -> Iterator[Output]:
        """Yield the outputs of one step of a table.

        After an error of the table, its files are abandoned. Then its ranges are either queued to be re-read, or the manifest
        with the failure is yielded.
        """
        table = part.task.table
        with TableErrors(self._retried) as errors:
            yield from outputs
        if errors.failure is None:
            return
        if (run := self._runs.pop(table, None)) is not None:
            run.abandon()
        if self._reader is not None:
            self._reader.drop(table)
        if isinstance(errors.error, AMBIGUOUS) and self._second_reads.may_begin(table):
            log.warning("task %d reads %s again: %s", part.index, table, errors.error)
            self._to_reread.append(part)
        else:
            yield part.failure_manifest(errors.failure)

    def _begin(self, part: TablePart) -> Iterator[Output]:
        if part.table.sql is not None:
            raise needs_spark(part.task.table)
        self._runs[part.task.table] = TableRun(part, self._environment, self._open_end)
        yield from ()

    def _handle(self, run: TableRun, event: Event) -> Iterator[Output]:
        match event:
            case Chunk():
                yield from run.take(event)
            case TableDelivered(_, delivered):
                run.complete(delivered)
                self._closing.append(run)
            case TableUnreadable(_, failure):
                raise failure.error

    def _manifest(self, run: TableRun) -> Iterator[Output]:
        manifest = run.manifest()
        del self._runs[run.part.task.table]
        yield manifest


class SecondReads:
    """The limit on re-reads in a task: at most `most` per table, begun within a minute of the task's first failure."""

    def __init__(self, clock: Clock, most: int = SECOND_READS) -> None:
        self._clock = clock
        self._most = most
        self._begun: Counter[str] = Counter()
        self._failed_at: float | None = None

    def may_begin(self, table: str) -> bool:
        """Return whether the failed table may be read once more, and count that re-read."""
        now = self._clock.monotonic()
        if self._failed_at is None:
            self._failed_at = now
        if self._begun[table] >= self._most or now - self._failed_at >= _SECOND_READ_WITHIN_SECONDS:
            return False
        self._begun[table] += 1
        return True


@dataclass(frozen=True, slots=True)
class DryRun:
    """The result of a dry run: the records that are skipped tombstones or hold no row, and the columns that stayed empty."""

    tombstones: int
    filtered: int
    columns: ColumnsSeen = field(default_factory=ColumnsSeen)

    @staticmethod
    def of(manifest: TableManifest) -> "DryRun":
        """Return the result that the manifest reports."""
        whole = sum((entry.account for entry in manifest.accounts), OffsetAccounting())
        return DryRun(whole.tombstones, whole.filtered, manifest.columns)


def dry_run(task: TableTask, settings: TaskSettings, files: FileSystem, open_sink: OpenSink) -> TableManifest:
    """Fetch, decode and bucket the task's ranges as a run would. The manifest has accounts or a failure, and no files.

    `open_sink` takes the rows. A watchdog does not guard the task, because it would end the command's process. Raises
    ServiceUnavailable if Kafka delivers nothing for `settings.stall_seconds`.
    """
    consumer = partial(process_consumer, settings.kafka)
    environment = task_environment(settings, files, consumer, other_sink=open_sink)
    with rare_garbage_collection():
        (manifest,) = Task(TaskPlan(0, (task,)), environment).run()
    return manifest


def dry_run_ranges(
    table: str,
    ranges: tuple[OffsetRange, ...],
    settings: TaskSettings,
    files: FileSystem,
    open_sink: OpenSink,
    planned_at_ms: int = 0,
    bounds: EventBounds | None = None,
) -> DryRun:
    """Return the dry run of these ranges, without reading the table's ledger. Raises TableError if the task failed."""
    task = replace(unowned_task(table, ranges, planned_at_ms), bounds=bounds)
    manifest = dry_run(task, replace(settings, stall_seconds=COMMAND_STALL_SECONDS), files, open_sink)
    if manifest.failure is not None:
        raise manifest.failure.error
    return DryRun.of(manifest)


def unowned_task(table: str, ranges: tuple[OffsetRange, ...], planned_at_ms: int) -> TableTask:
    """Return a task that carries no ledger, generation and epoch, because it commits nothing."""
    return TableTask(
        table=table, ledger_id="", generation=0, epoch=0, planned_at_ms=planned_at_ms, ranges=ranges
    )


@contextmanager
def rare_garbage_collection() -> Iterator[None]:
    """Run Python's cycle collector every 100,000 new objects instead of every 700.

    Messages hold no cycles, and scanning them repeatedly took a seventh of a task's time.
    """
    before = gc.get_threshold()
    gc.set_threshold(100_000)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def process_files(options: StorageOptions) -> FileSystem:
    """Return this process's file system. It is kept between tasks but not across a fork, which clients do not survive."""
    from kafka2hive.storage.connect import connect

    key = (os.getpid(), options)
    if key not in _connected:
        _connected[key] = connect(options)
    return _connected[key]
