"""Writing rows into files by bucket: contents, row groups, limits, and the state after an error."""

import ctypes
import io
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka2hive.config.keys import FileFormat, WriterOptions
from kafka2hive.formats.files import encoding_of
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.paths.path import base_name
from kafka2hive.model.paths.table_directory import DataFileName
from kafka2hive.storage.port import Denied, NoRoom, OutcomeUnknown, StorageError, Unavailable
from kafka2hive.task.write.bucket_split import split_by_bucket
from kafka2hive.task.write.destination import Destination
from kafka2hive.task.write.limits import OPEN_FILE_BYTES, WIDTH, TaskLimits
from kafka2hive.task.write.table_writer import TableWriter
from kafka2hive.task.write.upload import StagedFile, UploadPlace
from tests.harness.task_files import LEDGER, MemoryFiles, offsets, read_file
from tests.simulation.clock import SimulatedClock

SCHEMA = pa.schema([("n", pa.int64()), ("t", pa.string())])
STAGING = "file:///w/db.t/_tmp"


def destination(table: str = "db.t") -> Destination:
    location = f"file:///w/{table}"
    ranges = (offsets("topic", 0, 5, 105),)
    return Destination(
        kind=FileKind.DATA,
        table=table,
        hive_table=table,
        location=location,
        staging=f"{location}/_tmp",
        ledger_id=LEDGER,
        generation=3,
        epoch=7,
        task=2,
        ranges=ranges,
        attempt="a" * 32,
        planned_at_ms=0,
    )


def limits(memory: int = 1 << 28, open_files: int = 64, file_bytes: int = 1 << 28) -> TaskLimits:
    return TaskLimits(memory, open_files, file_bytes, SimulatedClock())


def writer(
    files: MemoryFiles, shared: TaskLimits, options: WriterOptions | None = None, table: str = "db.t"
) -> TableWriter:
    return TableWriter(destination(table), files, SCHEMA, options or WriterOptions(), shared)


def batch(numbers: list[int], text: str = "x") -> pa.RecordBatch:
    return pa.record_batch([pa.array(numbers, pa.int64()), pa.array([text] * len(numbers))], schema=SCHEMA)


def add(
    table: TableWriter,
    rows: pa.RecordBatch,
    buckets: list[int],
    paths: list[str],
    sources: list[int] | None = None,
) -> None:
    """Add rows; without `sources` all are of one topic partition."""
    table.add(rows, np.array(buckets, np.int32), paths, np.array(sources or [0] * len(rows), np.int32))


def written(files: MemoryFiles, result: list[DataFile]) -> dict[str, list[int]]:
    """Return the sorted numbers by Hive partition path."""
    numbers: dict[str, list[int]] = {}
    for file in result:
        numbers.setdefault(file.hive_partition.path, []).extend(read_file(files, file)["n"].to_pylist())
    return {path: sorted(values) for path, values in numbers.items()}


@given(
    st.lists(st.lists(st.integers(0, 9), max_size=40), max_size=12),
    st.sampled_from([1, 400, 1 << 28]),
    st.sampled_from([1, 3, 64]),
    st.sampled_from([1, 2_000, 1 << 28]),
    st.sampled_from([7, 1_000_000]),
    st.sampled_from(["parquet", "parquet", "orc"]),
)
def test_every_row_is_in_a_file_of_its_bucket_whatever_the_bounds(
    stream: list[list[int]],
    memory: int,
    open_files: int,
    file_bytes: int,
    row_group_rows: int,
    format: FileFormat,
) -> None:
    files = MemoryFiles()
    shared = limits(memory, open_files, file_bytes)
    table = writer(files, shared, WriterOptions(format=format, row_group_rows=row_group_rows))
    paths = [f"dt={n}" for n in range(10)]
    expected: dict[str, list[int]] = {}
    number = 0
    for buckets in stream:
        numbers = list(range(number, number + len(buckets)))
        number += len(buckets)
        add(table, batch(numbers), buckets, paths)
        assert table.buffered_bytes <= memory
        for n, bucket in zip(numbers, buckets, strict=True):
            expected.setdefault(paths[bucket], []).append(n)
    table.finish()
    result = table.results()
    shared.closer.stop()
    assert written(files, result) == expected
    assert set(files.content) == {file.staged for file in result}
    assert table.buffered_bytes == 0
    assert files.most_open <= open_files + 32  # the closer's queue


def test_names_addresses_and_footer_say_where_a_file_belongs() -> None:
    files, shared = MemoryFiles(), limits()
    table = writer(files, shared)
    add(table, batch([1, 2]), [0, 0], ["dt=2013-01-01/c=a%2Fb"])
    table.finish()
    (file,) = table.results()
    parsed = DataFileName.parse(base_name(file.staged))
    assert parsed is not None
    name, state = parsed
    assert state == "pending"
    assert (name.ledger, name.generation, name.epoch, name.task) == (LEDGER[:8], 3, 7, 2)
    assert file.staged == f"{STAGING}/{name.in_state('pending')}"
    assert file.final == f"file:///w/db.t/dt=2013-01-01/c=a%2Fb/{name.in_state('final')}"
    assert file.hive_partition.location == "file:///w/db.t/dt=2013-01-01/c=a%2Fb"
    footer = pq.ParquetFile(io.BytesIO(files.content[file.staged])).metadata.metadata
    assert footer[b"kafka2hive.rows"] == b"2"
    assert footer[b"kafka2hive.ranges"] == b'[["topic",0,5,105]]'
    assert footer[b"kafka2hive.ledger_id"] == LEDGER.encode()
    assert b"ARROW:schema" not in footer


def test_row_groups_are_as_large_as_asked_for_however_small_the_batches() -> None:
    files, shared = MemoryFiles(), limits()
    table = writer(files, shared, WriterOptions(row_group_rows=1_000))
    for start in range(0, 5_000, 50):
        add(table, batch(list(range(start, start + 50))), [0] * 50, [""])
    table.finish()
    (file,) = table.results()
    metadata = pq.ParquetFile(io.BytesIO(files.content[file.staged])).metadata
    groups = [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]
    assert sum(groups) == 5_000
    assert max(groups) <= 1_500
    assert len(groups) <= 5


def test_memory_and_open_files_stay_within_their_bounds_with_hundreds_of_open_buckets() -> None:
    files, bound = MemoryFiles(), 1024 * 1024
    shared = limits(memory=bound, open_files=10)
    table = writer(files, shared)
    paths = [f"b={n}" for n in range(300)]
    chance = random.Random(1)
    before = pa.total_allocated_bytes()
    highest = 0
    for start in range(0, 60_000, 10_000):
        buckets = [chance.randrange(300) for _ in range(10_000)]
        add(table, batch(list(range(start, start + 10_000)), "y" * 40), buckets, paths)
        assert table.buffered_bytes <= bound
        highest = max(highest, pa.total_allocated_bytes() - before)
    # Parquet's own buffers of open files come on top; buffers that pin foreign rows would hold 2.9 times the bound
    assert highest < 2 * bound
    table.finish()
    assert sum(file.rows for file in table.results()) == 60_000
    shared.closer.stop()
    # ten that are written, one that waits to carry the accounts, two closings for each thread
    assert files.most_open <= 10 + 1 + 2 * WIDTH


def test_arrays_of_a_few_rows_are_counted_with_what_they_need_besides_their_values() -> None:
    schema = pa.schema([(f"c{n}", pa.int64()) for n in range(20)])
    shared = limits(memory=64 * 1024 * 1024)
    table = TableWriter(destination(), MemoryFiles(), schema, WriterOptions(), shared)
    paths = [f"b={n}" for n in range(1_000)]
    rows = pa.record_batch([pa.array(range(2_000), pa.int64())] * 20, schema=schema)
    buckets, sources = np.arange(2_000, dtype=np.int32) % 1_000, np.zeros(2_000, np.int32)
    before = in_use()
    while table.buffered_bytes < 40 * 1024 * 1024:  # nothing is written yet
        table.add(rows, buckets, paths, sources)
    grown = in_use() - before
    table.abandon()
    shared.closer.stop()
    assert table.rows * 20 * 8 < grown / 1.5, "their values are most of it: the test shows nothing"
    assert grown < 1.2 * 40 * 1024 * 1024


def test_open_files_count_within_the_memory_and_leave_half_of_it_for_rows() -> None:
    bound = 64 * OPEN_FILE_BYTES
    shared = limits(memory=bound, open_files=100)
    table = writer(MemoryFiles(), shared)
    paths = [f"b={n}" for n in range(100)]
    buffered = []
    for start in range(0, 400_000, 4_000):
        numbers = range(start, start + 4_000)
        add(table, batch(list(numbers), "y" * 40), [number % 100 for number in numbers], paths)
        buffered.append(table.buffered_bytes)
    assert max(buffered) > 0.8 * bound, "before files are open, rows may take all of it"
    assert 0.3 * bound < max(buffered[-20:]) <= bound // 2
    table.finish()
    assert sum(file.rows for file in table.results()) == 400_000
    shared.closer.stop()


class _Used(ctypes.Structure):
    """The result of glibc's mallinfo2."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "free", "fast", "mappings", "mapped", "most", "freed", "used", "left", "top")
    ]


def in_use() -> int:
    """Return the bytes that this process has allocated: by Arrow's pool and by all other code."""
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = _Used
    told = mallinfo()
    return int(pa.total_allocated_bytes() + told.used + told.mapped)


def test_a_bucket_that_was_written_keeps_nothing_alive_of_the_pool_it_came_from() -> None:
    files, size = MemoryFiles(), 1 << 20
    shared = limits(memory=8 * size)  # a pool of one MB
    table = writer(files, shared, WriterOptions(row_group_rows=700))
    paths = [f"b={n}" for n in range(6)]
    sources = [0] * 724 + [1] * 300  # the first source alone fills a row group
    before = pa.total_allocated_bytes()
    for bucket in range(6):
        add(table, batch(list(range(1_024)), "y" * 1_024), [bucket] * 1_024, paths, sources)
    # less than one pool: six would be alive if each bucket kept the last rows of its own
    assert pa.total_allocated_bytes() - before - table.buffered_bytes < 2 * size
    table.finish()
    assert sum(file.rows for file in table.results()) == 6 * 1_024
    shared.closer.stop()


def test_buckets_that_wait_keep_no_more_alive_than_is_counted() -> None:
    files, size = MemoryFiles(), 1 << 20
    shared = limits(memory=16 * size)  # a pool of two MB
    table = writer(files, shared)
    paths = ["b=0", "b=1", "b=2"]
    before = pa.total_allocated_bytes()
    for drain in range(4):  # one bucket, several sources: slices of the pool itself
        add(table, batch(list(range(2_048)), "y" * 1_024), [0] * 2_048, paths, [drain] * 1_024 + [9] * 1_024)
    assert pa.total_allocated_bytes() - before < table.buffered_bytes + size
    table.finish()
    shared.closer.stop()


def test_a_bucket_shares_no_memory_with_another_one_of_its_pool() -> None:
    before = pa.total_allocated_bytes()
    rows = batch(list(range(4_096)), "y" * 1_024)
    ids, sources = np.array([0] * 3_840 + [1] * 256, np.int32), np.zeros(4_096, np.int32)
    pieces = {piece.bucket: piece for piece in split_by_bucket([rows], [ids], [sources])}
    assert pieces.keys() == {0, 1}
    del rows, pieces[0]
    assert pa.total_allocated_bytes() - before < 2 * sum(part.nbytes for part in pieces[1].batches)


def test_held_files_and_buffered_rows_stay_within_one_bound() -> None:
    files, bound = MemoryFiles(), 4 * 1024 * 1024
    shared = limits(memory=bound)
    table = writer(files, shared, WriterOptions(compression="none"))
    paths = [f"b={n}" for n in range(50)]
    chance, most = random.Random(1), 0
    for start in range(0, 200_000, 2_000):
        buckets = [chance.randrange(50) for _ in range(2_000)]
        numbers = list(range(start, start + 2_000))
        texts = [f"{chance.getrandbits(160):040x}" for _ in numbers]
        rows = pa.record_batch([pa.array(numbers, pa.int64()), pa.array(texts)], schema=SCHEMA)
        add(table, rows, buckets, paths)
        assert table.buffered_bytes + shared.held.total <= bound
        most = max(most, shared.held.total)
    assert most > bound // 16, "nothing was held: the test shows nothing"
    table.finish()
    assert sum(file.rows for file in table.results()) == 200_000
    shared.closer.stop()
    assert shared.held.total == 0


def test_a_file_is_ended_at_its_size_and_the_bucket_goes_on_in_a_new_one() -> None:
    files, shared = MemoryFiles(), limits(file_bytes=20_000)
    table = writer(files, shared, WriterOptions(compression="none", row_group_rows=500))
    for start in range(0, 20_000, 500):
        add(table, batch(list(range(start, start + 500))), [0] * 500, [""])
        table.relieve()
    table.finish()
    result = table.results()
    assert len(result) > 3
    assert max(file.length for file in result) < 40_000
    assert written(files, result) == {"": list(range(20_000))}


def failing(operation: str, error: type[StorageError], after: int = 0) -> MemoryFiles:
    left = [after]

    def fault(asked: str, path: str) -> StorageError | None:
        if asked != operation:
            return None
        left[0] -= 1
        return error(path, "as told") if left[0] < 0 else None

    return MemoryFiles(fault=fault)


@pytest.mark.parametrize("operation", ["create", "mkdirs", "write", "close", "rename"])
@pytest.mark.parametrize("error", [Denied, NoRoom, Unavailable])
def test_an_error_of_storage_comes_through_as_it_is_and_no_file_stays_open(
    operation: str, error: type[StorageError]
) -> None:
    files, shared = failing(operation, error), limits()
    table = writer(files, shared)
    with pytest.raises(error):
        add(table, batch(list(range(100))), [n % 5 for n in range(100)], [f"b={n}" for n in range(5)])
        table.finish()
        table.results()
    table.abandon()
    shared.closer.stop()
    assert files.open_now == set()
    assert not [path for path in files.content if path.endswith(".pending")]


def test_a_rename_without_an_answer_that_happened_counts_as_done() -> None:
    files = MemoryFiles()
    lost: list[str] = []

    def fault(operation: str, path: str) -> StorageError | None:
        if operation == "rename" and not lost:
            lost.append(path)
            files.content[path.replace(".in-progress", ".pending")] = files.content.pop(path)
            return OutcomeUnknown(path, "connection lost")
        return None

    files.fault = fault
    table = writer(files, limits())
    add(table, batch([1, 2, 3]), [0, 0, 0], [""])
    table.finish()
    assert written(files, table.results()) == {"": [1, 2, 3]}
    assert lost


def test_a_rename_without_an_answer_that_did_not_happen_is_an_error() -> None:
    files, shared = failing("rename", OutcomeUnknown), limits()
    table = writer(files, shared)
    add(table, batch([1]), [0], [""])
    table.finish()
    with pytest.raises(OutcomeUnknown):
        table.results()


def test_an_error_that_comes_up_while_another_table_writes_belongs_to_its_own_table() -> None:
    def fault(operation: str, path: str) -> StorageError | None:
        return NoRoom(path, "quota") if operation == "write" and "/db.full/" in path else None

    files = MemoryFiles(fault=fault)
    shared = limits(memory=100_000)
    full, fine = writer(files, shared, table="db.full"), writer(files, shared, table="db.fine")
    add(full, batch(list(range(4_000))), [0] * 4_000, [""])
    add(fine, batch(list(range(3_000))), [0] * 3_000, [""])  # over the bound: the larger buffer is written
    fine.finish()
    assert written(files, fine.results()) == {"": list(range(3_000))}
    with pytest.raises(NoRoom):
        full.finish()
    shared.closer.stop()
    assert files.open_now == set()


def test_abandoned_files_are_never_published() -> None:
    files, shared = MemoryFiles(), limits(memory=1)
    table = writer(files, shared)
    add(table, batch([1, 2, 3]), [0, 1, 2], ["a=1", "a=2", "a=3"])
    table.abandon()
    table.abandon()
    shared.closer.stop()
    assert files.open_now == set()
    assert not [path for path in files.content if path.endswith(".pending")]


def test_rows_that_are_in_no_file_are_missed_when_the_files_are_closed() -> None:
    files, shared = MemoryFiles(), limits()
    table = writer(files, shared)
    add(table, batch([1, 2]), [0, 0], [""])
    table.rows += 1
    table.finish()
    with pytest.raises(pa.ArrowInvalid, match="the writer took 3 rows, but its files hold 2"):
        table.results()
    shared.closer.stop()


def test_the_rows_of_a_file_are_those_that_its_footer_holds() -> None:
    files, shared = MemoryFiles(directories={STAGING}), limits()
    place = UploadPlace(files, STAGING, shared.held, shared.clock)
    rows, encoding = pa.Table.from_batches([batch([1, 2, 3])]), encoding_of(WriterOptions())
    file = StagedFile(place, lambda: destination().new_name("", "x"), lambda to: encoding.open(to, rows))
    file.write(rows)
    file.rows += 4
    file.end({})
    assert file.publish().rows == 3
