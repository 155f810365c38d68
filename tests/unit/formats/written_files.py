"""Files of any format in memory: of tables, and of a whole task."""

from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from kafka2hive.config.keys import WriterOptions
from kafka2hive.formats.encoding import encoding_of
from kafka2hive.plan.contract import TableManifest, TaskPlan
from kafka2hive.task.watchdog import Watchdog
from tests.harness.fake_consumer import FakeConsumer, FakeLog
from tests.harness.task_files import (
    MemoryFiles,
    offsets,
    table_settings,
    table_task,
    task_of,
    task_settings,
)


def written(groups: Sequence[pa.Table], options: WriterOptions, **metadata: str) -> bytes:
    """A file with a row group of each table."""
    sink = pa.BufferOutputStream()
    file = encoding_of(options).open(sink, groups[0])
    for group in groups:
        file.write(group)
    assert file.end(metadata) == sum(map(len, groups))
    return bytes(sink.getvalue())


def tail_of(data: bytes) -> Callable[[int], bytes]:
    return lambda count: data[-count:]


def run_task(
    options: WriterOptions, columns: Iterable[tuple[str, str]], values: list[bytes]
) -> tuple[MemoryFiles, TableManifest]:
    """A task that reads these records as JSON; its table did not fail."""
    log = FakeLog(dict(enumerate(values)), len(values))
    settings = table_settings("db.t", "json", columns, writer=options)
    files, plan = MemoryFiles(), TaskPlan(0, (table_task("db.t", offsets("t", 0, 0, len(values))),))
    with Watchdog(30.0) as watchdog:
        task = task_of(plan, task_settings("", settings), files, FakeConsumer({("t", 0): log}), watchdog)
        (manifest,) = task.run()
    assert manifest.failure is None, manifest.failure
    return files, manifest
