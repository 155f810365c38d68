"""A task from plan to manifests: fetch, decode, bucket, write, all in this process, one manifest per table.

Runs in a Spark Python worker, or in any process. What concerns one table becomes a manifest with a failure while the
other tables continue; an error that belongs to no table is raised, and Spark tries the task again.
"""

import gc
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from kafka2hive.config.values import StorageOptions
from kafka2hive.model.errors import AccessRefused, ConfigError, ServiceUnavailable
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.pipeline.delivered import Delivered
from kafka2hive.pipeline.task.chunk import Chunk
from kafka2hive.pipeline.task.chunk_decoder import ChunkDecoder
from kafka2hive.pipeline.task.fetch.consumer import ConsumerPort, forget_consumer, process_consumer
from kafka2hive.pipeline.task.fetch.counted import CountedConsumer, FetchBug
from kafka2hive.pipeline.task.fetch.fetch import Fetch, TableRead, TableUnreadable
from kafka2hive.pipeline.task.fetch.requests import RangeRequest, waves
from kafka2hive.pipeline.task.refused.failures import TABLE_ERRORS, as_failure, needs_spark, on_this_host
from kafka2hive.pipeline.task.sink import OpenSink, RowSink
from kafka2hive.pipeline.task.table import TableRun, failed_manifest
from kafka2hive.pipeline.task.watchdog import Watchdog
from kafka2hive.pipeline.task.write.destination import Destination
from kafka2hive.pipeline.task.write.limits import TaskLimits
from kafka2hive.pipeline.task.write.tries import SECOND_READS, SecondReads
from kafka2hive.pipeline.task.write.upload import AMBIGUOUS
from kafka2hive.pipeline.task.write.write import TableWriter
from kafka2hive.pipeline.task.writer_schemas import key_writers_of, writers_of
from kafka2hive.pipeline.values import TableManifest, TableTask, TaskPlan, TaskSettings
from kafka2hive.storage.port import (
    Clock,
    FileSystem,
)

log = logging.getLogger(__name__)

_connected: dict[tuple[int, StorageOptions], FileSystem] = {}


def run_task(plan: TaskPlan, settings: TaskSettings) -> Iterator[TableManifest]:
    """One manifest per table of the plan, in the order in which the tables end.

    Tables that are not read because Kafka refuses this process have manifests that say why: no other try would help.
    Raises ServiceUnavailable when Kafka gives nothing for `stall_seconds`; ends the process (exit 70) when anything
    else makes no progress for as long. A second run of the same plan writes other files under other names.
    """
    with seldom_collected(), Watchdog(settings.stall_seconds) as watchdog:
        files = process_files(settings.storage)
        told: set[str] = set()
        try:
            consumer = process_consumer(settings.kafka)
            for manifest in Task(plan, settings, files, consumer, watchdog).run():
                told.add(manifest.table)
                with watchdog.idle():
                    yield manifest
        except (AccessRefused, ConfigError) as error:
            forget_consumer(settings.kafka)
            for task in (task for task in plan.tables if task.table not in told):
                yield failed_manifest(plan.index, task, on_this_host(error))
        except (ServiceUnavailable, FetchBug):
            forget_consumer(settings.kafka)
            raise


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Python looks for cycles after 100,000 new objects instead of 700: messages hold none, and looking through them
    again and again took a seventh of a task.
    """
    before = gc.get_threshold()
    gc.set_threshold(100_000)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def process_files(options: StorageOptions) -> FileSystem:
    """This process's file system: clients do not survive a fork, and connecting costs time."""
    from kafka2hive.storage.connect import connect

    key = (os.getpid(), options)
    if key not in _connected:
        _connected[key] = connect(options)
    return _connected[key]


class Task:
    def __init__(
        self,
        plan: TaskPlan,
        settings: TaskSettings,
        files: FileSystem,
        consumer: ConsumerPort,
        watchdog: Watchdog,
        open_sink: OpenSink | None = None,
        open_fetch: type[Fetch] = Fetch,
        clock: Clock | None = None,
    ) -> None:
        """`open_sink` None: rows become files on `files`, and a table may be read once more. Other sinks get each row once.

        What `open_fetch` reads is compared with what was delivered. `clock` times what is tried again (the real one where
        none is given).
        """
        self._plan = plan
        self._settings = settings
        self._files = files
        self._writes_files = open_sink is None
        self._open_sink = open_sink or self._writer
        self._consumer = CountedConsumer(consumer)
        self._open_fetch = open_fetch
        self._watchdog = watchdog
        self._limits = TaskLimits(settings.memory_bytes, settings.open_files, settings.file_bytes, clock)
        self._running: dict[str, TableRun] = {}
        self._delivered: dict[str, tuple[Delivered, ...]] = {}
        self._closing: list[TableRun] = []
        self._again: list[TableTask] = []
        self._second_reads = SecondReads(self._limits.clock, most=SECOND_READS if self._writes_files else 0)

    def run(self) -> Iterator[TableManifest]:
        """Read all tables; those that a file failed for without a clear answer are read once more, as new attempts."""
        try:
            yield from self._read_tables(self._plan.tables)
            while self._again:
                again, self._again = tuple(self._again), []
                yield from self._read_tables(again)
        finally:
            for run in (*self._running.values(), *self._closing):
                run.abandon()  # nothing where all went well
            self._limits.closer.stop()

    def _read_tables(self, tables: tuple[TableTask, ...]) -> Iterator[TableManifest]:
        for table in tables:
            yield from self._begin(table)
        left = dict.fromkeys(self._running, 0)
        planned = waves(
            [RangeRequest(name, r) for name, run in self._running.items() for r in run.task.ranges]
        )
        for wave in planned:
            for name in {item.table for item in wave}:
                left[name] += 1
        for name in [name for name, count in left.items() if count == 0]:
            yield from self._complete(name)
        for wave in planned:
            yield from self._read([item for item in wave if item.table in self._running], left)
        while self._closing:
            yield from self._manifest(self._closing.pop(0))

    def _begin(self, task: TableTask) -> Iterator[TableManifest]:
        table = self._settings.tables[task.table]
        try:
            if table.sql is not None:
                raise needs_spark(task.table)
            writers = writers_of(table, self._settings, self._files, keeps=self._writes_files)
            of_keys = key_writers_of(table, self._settings, self._files, keeps=self._writes_files)
            decoder, touch = ChunkDecoder(table, writers, of_keys), self._watchdog.touch
            self._running[task.table] = TableRun(
                self._plan.index, task, table, self._settings, decoder, self._open_sink, touch
            )
        except TABLE_ERRORS as error:
            yield failed_manifest(self._plan.index, task, as_failure(error))

    def _writer(self, destination: Destination, schema: pa.Schema) -> RowSink:
        options = self._settings.tables[destination.table].writer_of(destination.kind)
        return TableWriter(destination, self._files, schema, options, self._limits, self._watchdog.touch)

    def _read(self, wave: list[RangeRequest], left: dict[str, int]) -> Iterator[TableManifest]:
        ranges: dict[str, list[OffsetRange]] = {}
        for item in wave:
            ranges.setdefault(item.table, []).append(item.range)
        self._consumer.expect([item.range for item in wave])
        fetch = self._open_fetch(self._consumer, wave, self._settings.stall_seconds, self._watchdog.touch)
        asked = time.perf_counter()
        for event in fetch:
            run = self._running.get(event.table)
            if run is None:
                continue
            run.waited(time.perf_counter() - asked)
            match event:
                case Chunk():
                    try:
                        run.take(event)
                    except TABLE_ERRORS as error:
                        fetch.drop(event.table)
                        yield from self._fail(self._running.pop(event.table), error)
                case TableUnreadable(table, failure):
                    yield self._running.pop(table).fail(failure)
                case TableRead(table):
                    read = self._consumer.delivered(ranges[table])
                    self._delivered[table] = (*self._delivered.get(table, ()), *read)
                    left[table] -= 1
                    if left[table] == 0:
                        yield from self._complete(table)
            asked = time.perf_counter()

    def _complete(self, name: str) -> Iterator[TableManifest]:
        """Begin to close the table's files; its manifest comes when they are closed."""
        try:
            self._running[name].complete(self._delivered.get(name, ()))
        except TABLE_ERRORS as error:
            yield from self._fail(self._running.pop(name), error)
        else:
            self._closing.append(self._running.pop(name))

    def _manifest(self, run: TableRun) -> Iterator[TableManifest]:
        try:
            manifest = run.manifest()
        except TABLE_ERRORS as error:
            yield from self._fail(run, error)
        else:
            yield manifest

    def _fail(self, run: TableRun, error: Exception) -> Iterator[TableManifest]:
        """Give the table's files up; nothing is told yet when its ranges are to be read once more."""
        failed = run.fail(as_failure(error))
        self._delivered.pop(run.task.table, None)
        if isinstance(error, AMBIGUOUS) and self._second_reads.may_begin(run.task.table):
            log.warning("%s is read once more by task %d: %s", run.task.table, self._plan.index, error)
            self._again.append(run.task)
        else:
            yield failed
