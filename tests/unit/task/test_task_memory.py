"""`limits.task_memory` bounds the memory of a task, however much it reads."""

import io
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka2hive.config.keys import FileFormat, WriterOptions
from kafka2hive.config.keys.units import MIB
from kafka2hive.task.fetch.fetch import CHUNK_BYTES
from kafka2hive.task.letter_replay import stored_letters
from tests.harness.fake_consumer import FakeConsumer, FakeLog
from tests.harness.one_task import run_on
from tests.harness.task_files import (
    offsets,
    table_settings,
    task_settings,
)

LIMIT = 24 * MIB
BYTES = 64 * 1024  # of a record
FEW, MANY = 20, 1_800  # records of each of four topic partitions: a fifth of the limit, and 18 times


class MadeUp(Mapping[int, bytes]):
    """Records that are made when they are read, so that the log needs no memory."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._count))

    def __getitem__(self, offset: int) -> bytes:
        return (b"%063d\n" % offset) * (BYTES // 64)


@pytest.mark.parametrize("format", ["parquet", "orc", "text"])
def test_a_task_holds_a_few_times_its_limit_whatever_it_reads(format: FileFormat) -> None:
    few, many = peaks_of_tasks(format, FEW, MANY)
    held = many - few
    # not buffered: a chunk's messages, their values as a column, what the format encodes, what allocators keep for later
    # measured for ORC: 189 MiB with the compiled library; without it 234 to 303 MiB of 300 to 600 MiB that were read
    assert LIMIT < held < 14 * LIMIT < 4 * MANY * BYTES, f"{held / MIB:.0f} MiB"


def peaks_of_tasks(format: FileFormat, *counts: int) -> list[int]:
    """Return the peak memory of a separate process after each task: of Arrow's pool, the compiled library and Python together."""
    code = (
        f"from tests.unit.task.test_task_memory import run_task\nfor n in {counts}: run_task({format!r}, n)"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True, timeout=300)
    return [int(line) for line in done.stdout.splitlines()]


def run_task(format: FileFormat, count: int) -> None:
    consumer = FakeConsumer({("t", number): FakeLog(MadeUp(count), count) for number in range(4)}, at_once=50)
    nothing_else = WriterOptions(format=format, row_group_bytes=1024 * LIMIT, row_group_rows=1 << 30)
    settings = task_settings("", table_settings(writer=nothing_else), memory_bytes=LIMIT)
    manifest, _ = run_on(consumer, settings, [offsets("t", n, 0, count) for n in range(4)])
    assert sum(a.account.bytes for a in manifest.accounts) == 4 * count * BYTES
    assert sum(file.rows for file in manifest.files) == 4 * count
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    sys.stdout.write(f"{int(status['VmHWM'].split()[0]) * 1024}\n")


def test_letters_that_are_decoded_again_come_in_batches_of_bounded_size() -> None:
    written = io.BytesIO()
    values = pa.array([os.urandom(1 << 18) for _ in range(200)], pa.binary())
    pq.write_table(pa.table({"value": values}), written, row_group_size=150)
    batches = list(stored_letters(pq.ParquetFile(written)))
    assert pa.concat_tables(batches).column("value").combine_chunks() == values
    assert max(batch.nbytes for batch in batches) <= 1.1 * CHUNK_BYTES
    assert len(batches) < 10
