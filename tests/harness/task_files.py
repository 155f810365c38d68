"""What tests of a task need: a file system in memory behind the port, with faults as values, and small settings."""

import io
import threading
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from kafka2hive.config.keys import (
    Bucketing,
    Column,
    MetadataColumn,
    StorageOptions,
    TableSettings,
    Tombstones,
    WriterOptions,
)
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.offsets import OffsetRange, RangeAccounting, TopicPartition
from kafka2hive.plan.contract import NEVER, ClientCounts, TableManifest, TableTask, TaskPlan, TaskSettings
from kafka2hive.storage.port import (
    AlreadyExists,
    Clock,
    FileStatus,
    FileSystem,
    NotFound,
    ParentMissing,
    StorageError,
)
from kafka2hive.storage.stored_file import StoredFile
from kafka2hive.task.fetch.consumer import ConsumerPort, TaskConsumer
from kafka2hive.task.part import TaskEnvironment, task_environment
from kafka2hive.task.run import Task
from kafka2hive.task.watchdog import Watchdog
from kafka2hive.task.write.destination import OpenSink
from tests.harness.kafka_clients import CLIENT
from tests.harness.stored import stored

Fault = Callable[[str, str], StorageError | None]
"""Asked before every operation with its name and path; an error it gives is raised."""


def no_fault(operation: str, path: str) -> StorageError | None:
    return None


@dataclass
class MemoryFiles:
    """`content` by full path; an abandoned file stays under its in-progress name, as the port promises."""

    directories: set[str] = field(default_factory=set)
    content: dict[str, bytes] = field(default_factory=dict)
    fault: Fault = no_fault
    log: list[tuple[str, str]] = field(default_factory=list)
    open_now: set[str] = field(default_factory=set)
    most_open: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def step(self, operation: str, path: str) -> None:
        with self._lock:
            self.log.append((operation, path))
        error = self.fault(operation, path)
        if error is not None:
            raise error

    def create(self, path: str) -> "MemoryWriter":
        self.step("create", path)
        if path.rsplit("/", 1)[0] not in self.directories:
            raise ParentMissing(path)
        if path in self.content:
            raise AlreadyExists(path)
        with self._lock:
            self.content[path] = b""
            self.open_now.add(path)
            self.most_open = max(self.most_open, len(self.open_now))
        return MemoryWriter(self, path)

    def rename(self, source: str, target: str) -> None:
        self.step("rename", source)
        if source not in self.content:
            raise NotFound(source)
        if target in self.content:
            raise AlreadyExists(target)
        self.content[target] = self.content.pop(source)

    def read(self, path: str) -> bytes:
        self.stat(path)
        return self.content[path]

    def open(self, path: str) -> StoredFile:
        return stored(self.read(path))

    def tail(self, path: str, most: int) -> bytes:
        return self.content[path][-most:]

    def stat(self, path: str) -> FileStatus:
        if path not in self.content:
            raise NotFound(path)
        return FileStatus(path, len(self.content[path]), False)

    def list(self, path: str) -> tuple[FileStatus, ...]:
        return tuple(self.stat(p) for p in sorted(self.content) if p.rsplit("/", 1)[0] == path)

    def delete(self, path: str) -> bool:
        return self.content.pop(path, None) is not None

    def mkdirs(self, path: str) -> None:
        self.step("mkdirs", path)
        self.directories.add(path)


@dataclass
class MemoryWriter:
    files: MemoryFiles
    path: str
    parts: list[bytes] = field(default_factory=list)

    def write(self, data: bytes | memoryview) -> None:
        self.files.step("write", self.path)
        self.parts.append(bytes(data))

    def close(self) -> None:
        self.files.step("close", self.path)
        self.files.content[self.path] = b"".join(self.parts)
        self.files.open_now.discard(self.path)

    def abandon(self) -> None:
        self.files.log.append(("abandon", self.path))
        self.files.open_now.discard(self.path)


LEDGER = "ab" * 16
PLANNED_AT_MS = 1_700_000_000_000  # 2023-11-14T22:13:20Z


def table_settings(
    table: str = "db.t",
    format: Literal["json", "raw"] = "raw",
    columns: Iterable[tuple[str, str]] = (("value", "binary"),),
    metadata: Iterable[tuple[MetadataColumn, str]] = (),
    bucketing: Bucketing = Bucketing(""),  # noqa: B008  a frozen value
    zone: str = "UTC",
    tombstones: Tombstones = Tombstones.SKIP,
    writer: WriterOptions = WriterOptions(),  # noqa: B008  a frozen value
) -> TableSettings:
    return TableSettings(
        table=table,
        format=format,
        columns=tuple(Column(name, type) for name, type in columns),
        metadata=tuple(metadata),
        bucketing=bucketing,
        zone=zone,
        tombstones=tombstones,
        writer=writer,
        location=f"file:///warehouse/{table}",
    )


def task_settings(
    bootstrap: str,
    *tables: TableSettings,
    file_bytes: int = 1 << 28,
    open_files: int = 64,
    memory_bytes: int = 1 << 28,
    stall_seconds: float = 120.0,
) -> TaskSettings:
    return TaskSettings(
        kafka=(("bootstrap.servers", bootstrap),),
        storage=StorageOptions("file:///", "file:///ledger", "file:///warehouse"),
        tables={table.table: table for table in tables},
        dead_letter_table="db.dead",
        dead_letter_location="file:///warehouse/db.dead",
        file_bytes=file_bytes,
        open_files=open_files,
        memory_bytes=memory_bytes,
        stall_seconds=stall_seconds,
    )


def offsets(topic: str, number: int, start: int, end: int) -> OffsetRange:
    return OffsetRange(TopicPartition(topic, number), start, end)


def table_task(table: str, *ranges: OffsetRange, only_bucket: str | None = None) -> TableTask:
    return TableTask(
        table=table,
        ledger_id=LEDGER,
        generation=3,
        epoch=7,
        planned_at_ms=PLANNED_AT_MS,
        ranges=ranges,
        only_bucket=only_bucket,
    )


def delivered_as(accounts: Iterable[RangeAccounting]) -> tuple[ClientCounts, ...]:
    """What a client says that delivered exactly what these accounts hold."""
    return tuple(
        ClientCounts(
            range=a.range,
            begun=a.range.start,
            records=a.account.read,
            absent=a.account.absent,
            position=a.range.end,
            log_end=NEVER,
        )
        for a in accounts
        if len(a.range)
    )


def task_of(
    plan: TaskPlan,
    settings: TaskSettings,
    files: FileSystem,
    consumer: ConsumerPort,
    watchdog: Watchdog,
    *,
    open_sink: OpenSink | None = None,
    clock: Clock | None = None,
    **options: Any,
) -> Task:
    """A task in this process. `options`: see Task."""
    environment = environment_of(settings, files, consumer, watchdog, open_sink=open_sink, clock=clock)
    return Task(plan, environment, **options)


def environment_of(
    settings: TaskSettings,
    files: FileSystem,
    consumer: ConsumerPort,
    watchdog: Watchdog,
    *,
    open_sink: OpenSink | None = None,
    clock: Clock | None = None,
) -> TaskEnvironment:
    return task_environment(
        settings, files, lambda: consumer, watchdog.touch, other_sink=open_sink, clock=clock
    )


def run_here(
    settings: TaskSettings,
    files: FileSystem,
    *tables: TableTask,
    clock: Clock | None = None,
    consumer: TaskConsumer | None = None,
) -> dict[str, TableManifest]:
    """The manifests of one task, by table. With its own consumer, or one of an earlier task."""
    own = TaskConsumer(settings.kafka, CLIENT.get()) if consumer is None else consumer
    try:
        with Watchdog(240.0) as watchdog:
            task = task_of(TaskPlan(0, tables), settings, files, own, watchdog, clock=clock)
            manifests = list(task.run())
    finally:
        if consumer is None:
            own.close()
    assert len({m.table for m in manifests}) == len(manifests) == len(tables)
    return {manifest.table: manifest for manifest in manifests}


def read_file(files: FileSystem, file: DataFile) -> pa.Table:
    """The rows of a staged file, after looking at all that its manifest claims."""
    content = files.read(file.staged)
    assert len(content) == file.length
    assert f"crc32:{zlib.crc32(content):08x}" == file.checksum
    is_orc = file.staged.endswith(".orc.pending")
    rows = orc.ORCFile(io.BytesIO(content)).read() if is_orc else pq.ParquetFile(io.BytesIO(content)).read()
    assert len(rows) == file.rows
    return rows


def read_rows(
    files: FileSystem, manifest: TableManifest, kind: FileKind = FileKind.DATA
) -> list[dict[str, Any]]:
    """All rows of one kind of a manifest's files, with their Hive partition path under `_path`."""
    return [
        {**row, "_path": file.hive_partition.path}
        for file in manifest.files
        if file.kind is kind
        for row in read_file(files, file).to_pylist()
    ]
