"""One table's part of a task, and the environment that all parts of a task share."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from uuid import uuid4

import pyarrow as pa

from kafka2hive.config.keys import TableSettings
from kafka2hive.model.files import FileKind
from kafka2hive.model.offsets import OffsetRange, cluster_of
from kafka2hive.model.paths.table_directory import staging_directory
from kafka2hive.plan.contract import TableFailure, TableManifest, TableTask, TaskPlan, TaskSettings
from kafka2hive.storage.port import Clock, FileSystem
from kafka2hive.task.chunk_decoder import ChunkDecoder
from kafka2hive.task.fetch.consumer import ConsumerPort, process_consumer
from kafka2hive.task.write.destination import Destination, OpenSink, RowSink
from kafka2hive.task.write.limits import TaskLimits
from kafka2hive.task.write.table_writer import TableWriter
from kafka2hive.task.writer_schemas import key_writers_of, writers_of


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePart:
    """One table in one task: its ranges, its settings, and the destinations of its rows.

    `index` is the task's number. File names and footers are made from `file_plan`, by default from the plan of this task. After
    a shuffle, `file_plan` is the plan of all tasks together, because a file then holds rows from all of them.
    """

    index: int
    task: TableTask
    settings: TaskSettings
    file_plan: TaskPlan | None = None

    @property
    def table(self) -> TableSettings:
        return self.settings.tables[self.task.table]

    @property
    def ranges(self) -> tuple[OffsetRange, ...]:
        return self.task.ranges

    @property
    def cluster(self) -> str:
        """The cluster of the ranges, which all belong to one; "" without ranges."""
        return next((cluster_of(r.topic_partition.topic) for r in self.ranges), "")

    def data(self, attempt: str) -> Destination:
        """Return the destination of the table's rows."""
        return self._destination(FileKind.DATA, attempt, self.task.table, self.table.location)

    def dead_letters(self, attempt: str) -> Destination:
        """Return the destination of the dead letters, which are staged with the table's files."""
        settings = self.settings
        return self._destination(
            FileKind.DEAD_LETTER, attempt, settings.dead_letter_table, settings.dead_letter_location
        )

    def failure_manifest(self, failure: TableFailure) -> TableManifest:
        """Return the manifest of a part that failed: it names no files."""
        task = self.task
        return TableManifest(
            table=task.table,
            task=self.index,
            generation=task.generation,
            epoch=task.epoch,
            failure=failure,
        )

    def _destination(self, kind: FileKind, attempt: str, hive_table: str, location: str) -> Destination:
        plan = TaskPlan(self.index, (self.task,)) if self.file_plan is None else self.file_plan
        (task,) = plan.tables
        return Destination(
            kind=kind,
            hive_table=hive_table,
            location=location,
            staging=staging_directory(self.table.location),
            table=task.table,
            ledger_id=task.ledger_id,
            generation=task.generation,
            epoch=task.epoch,
            task=plan.index,
            ranges=tuple(r for r in task.ranges if len(r)),
            attempt=attempt,
            planned_at_ms=task.planned_at_ms,
            replay=task.replay is not None,
        )


def only_part(plan: TaskPlan, settings: TaskSettings, file_plan: TaskPlan | None = None) -> TablePart:
    """Return the only part of a plan with exactly one table."""
    (task,) = plan.tables
    return TablePart(index=plan.index, task=task, settings=settings, file_plan=file_plan)


def new_attempt() -> str:
    """Return a new name for one attempt of a table's part; the footers of its files contain this name."""
    return uuid4().hex


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEnvironment:
    """The settings, clients and limits that all parts of a task share. `close` waits for the threads that close files.

    `consumer` is called only when records are read; it gets the name of the cluster, "" for the map's `kafka`. `progress` is
    called after every read and write. If `other_sink` is set, it takes the rows, and the task writes no files.
    """

    settings: TaskSettings
    files: FileSystem
    consumer: Callable[[str], ConsumerPort]
    progress: Callable[[], None]
    limits: TaskLimits
    other_sink: OpenSink | None = None

    @property
    def writes_files(self) -> bool:
        return self.other_sink is None

    def open_sink(self, table: TableSettings, destination: Destination, schema: pa.Schema) -> RowSink:
        if self.other_sink is not None:
            return self.other_sink(destination, schema)
        options = table.writer
        if destination.kind is FileKind.DEAD_LETTER:
            options = options.of_dead_letters(self.settings.dead_letter_timestamps)
        return TableWriter(
            destination=destination,
            files=self.files,
            schema=schema,
            options=options,
            limits=self.limits,
            progress=self.progress,
        )

    def decoder(self, table: TableSettings) -> ChunkDecoder:
        """Return the decoder of the table's chunks. Raises TableError if its format cannot fill its columns."""
        value_writers = writers_of(table, self.settings, self.files, keeps=self.writes_files)
        key_writers = key_writers_of(table, self.settings, self.files, keeps=self.writes_files)
        return ChunkDecoder(table, value_writers, key_writers, self.settings.mask_keys)

    def close(self) -> None:
        self.limits.closer.stop()


def task_environment(
    settings: TaskSettings,
    files: FileSystem,
    consumer: Callable[[], ConsumerPort],
    progress: Callable[[], None] = lambda: None,
    *,
    other_sink: OpenSink | None = None,
    clock: Clock | None = None,
) -> TaskEnvironment:
    """Return an environment with new limits. `consumer` returns the consumer of the map's `kafka`.

    `clock` times the retries of files; None: the system clock.
    """
    limits = TaskLimits(settings.memory_bytes, settings.open_files, settings.file_bytes, clock)
    further = dict(settings.clusters)

    def of_cluster(name: str) -> ConsumerPort:
        return process_consumer(further[name]) if name else consumer()

    return TaskEnvironment(
        settings=settings,
        files=files,
        consumer=of_cluster,
        progress=progress,
        limits=limits,
        other_sink=other_sink,
    )


@dataclass(slots=True)
class PhaseTimes:
    """The seconds that a table's part spends in each phase: fetch, decode, bucket, write, close."""

    _seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, phase: str, seconds: float) -> None:
        self._seconds[phase] += seconds

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        start = perf_counter()
        try:
            yield
        finally:
            self._seconds[phase] += perf_counter() - start

    def by_phase(self) -> tuple[tuple[str, float], ...]:
        return tuple(self._seconds.items())
