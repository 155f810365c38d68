"""`limits.task_memory`: what a task holds at most, however much it reads."""

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pytest

from kafka2hive.config.values.units import MIB
from kafka2hive.pipeline.task.fetch.fetch import CHUNK_BYTES
from kafka2hive.pipeline.task.run import Task
from kafka2hive.pipeline.task.watchdog import Watchdog
from kafka2hive.pipeline.values import TaskPlan
from tests.harness.fake_consumer import FakeConsumer, FakeLog
from tests.harness.task_files import MemoryFiles, offsets, table_settings, table_task, task_settings

LIMIT = 24 * MIB
RECORDS, BYTES = 1_000, 64 * 1024  # of each of four topic partitions: ten times the limit


class MadeUp(Mapping[int, bytes]):
    """Records that are made when they are read, so that the log itself needs no memory."""

    def __len__(self) -> int:
        return RECORDS

    def __iter__(self) -> Iterator[int]:
        return iter(range(RECORDS))

    def __getitem__(self, offset: int) -> bytes:
        return (b"%063d\n" % offset) * (BYTES // 64)


@pytest.fixture
def watched_pool() -> Iterator[pa.MemoryPool]:
    """Arrow's pool, counting from now on."""
    before = pa.default_memory_pool()
    watched = pa.proxy_memory_pool(before)
    pa.set_memory_pool(watched)
    yield watched
    pa.set_memory_pool(before)


def test_a_task_holds_its_limit_and_a_chunk_whatever_it_reads(watched_pool: pa.MemoryPool) -> None:
    consumer = FakeConsumer({("t", number): FakeLog(MadeUp(), RECORDS) for number in range(4)}, at_once=50)
    plan = TaskPlan(0, (table_task("db.t", *(offsets("t", n, 0, RECORDS) for n in range(4))),))
    settings = task_settings("", table_settings(), memory_bytes=LIMIT)
    with Watchdog(60.0) as watchdog:
        (manifest,) = Task(plan, settings, MemoryFiles(), consumer, watchdog).run()
    assert sum(a.account.bytes for a in manifest.accounts) == 4 * RECORDS * BYTES > 10 * LIMIT
    assert sum(file.rows for file in manifest.files) == 4 * RECORDS
    # the chunk that is being decoded, and that Parquet encodes, are not buffered
    assert LIMIT // 2 < watched_pool.max_memory() < LIMIT + 2 * CHUNK_BYTES
