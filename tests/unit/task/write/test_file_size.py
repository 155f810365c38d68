"""Small files: rows of a topic partition are adjacent, and only columns that profit have a dictionary."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka2hive.config.keys import Bucketing, MetadataColumn, WriterOptions
from kafka2hive.formats.parquet import DictionaryColumns, parquet_writer
from kafka2hive.task.write.bucket_split import split_by_bucket
from tests.harness.fake_consumer import FakeConsumer, FakeLog
from tests.harness.one_task import run_on
from tests.harness.task_files import (
    offsets,
    read_file,
    table_settings,
    task_settings,
)

ENOUGH = 300  # rows of one bucket and topic partition in a row, so that they are told apart
RUNS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([1, 2, 5, ENOUGH])), min_size=1
)


@given(st.lists(RUNS, min_size=1, max_size=4))
def test_pieces_hold_every_row_once_in_its_bucket_and_in_order(
    stream: list[list[tuple[int, int, int]]],
) -> None:
    batches, ids, sources = [], [], []
    expected: dict[tuple[int, int], list[int]] = {}
    number = 0
    for runs in stream:
        buckets = np.repeat([b for b, _, _ in runs], [n for _, _, n in runs]).astype(np.int32)
        whence = np.repeat([s for _, s, _ in runs], [n for _, _, n in runs]).astype(np.int32)
        numbers = np.arange(number, number + len(buckets))
        number += len(buckets)
        batches.append(pa.record_batch({"n": pa.array(numbers), "s": pa.array(whence)}))
        ids.append(buckets)
        sources.append(whence)
        for n, b, s in zip(numbers.tolist(), buckets.tolist(), whence.tolist(), strict=True):
            expected.setdefault((b, s), []).append(n)
    found: dict[tuple[int, int], list[int]] = {}
    for piece in split_by_bucket(batches, ids, sources):
        rows = pa.Table.from_batches(piece.batches)
        for n, s in zip(rows["n"].to_pylist(), rows["s"].to_pylist(), strict=True):
            found.setdefault((piece.bucket, s), []).append(n)
    assert found == expected


@pytest.mark.parametrize("buckets", [1, 3, 200])
def test_a_piece_is_of_one_source_where_each_has_rows_enough(buckets: int) -> None:
    rows = 4 * ENOUGH * buckets
    ids = (np.arange(rows) % buckets).astype(np.int32)  # in no order of time: rows are sorted apart
    if buckets == 3:
        ids = np.sort(ids)  # in order of time: they are sliced
    sources = np.repeat(np.arange(4, dtype=np.int32), rows // 4)
    batch = pa.record_batch({"s": pa.array(sources)})
    for piece in split_by_bucket([batch], [ids], [sources]):
        held = pa.Table.from_batches(piece.batches)["s"].to_pylist()
        assert set(held) == {piece.source}


def test_a_file_holds_the_rows_of_each_topic_partition_together_and_in_the_order_of_offsets() -> None:
    log = FakeLog({n: b'{"n": %d}' % n for n in range(2_000)}, 2_000)
    consumer = FakeConsumer({("t", number): log for number in (0, 1, 2)}, at_once=500)
    ranges = [offsets("t", number, 0, 2_000) for number in (2, 0, 1)]
    metadata = ((MetadataColumn.PARTITION, "number"), (MetadataColumn.OFFSET, "offset"))
    table = table_settings("db.t", "json", (("n", "bigint"),), metadata, Bucketing(""))
    manifest, files = run_on(consumer, task_settings("", table), ranges)
    (file,) = manifest.files
    rows = read_file(files, file)
    places = list(zip(rows["number"].to_pylist(), rows["offset"].to_pylist(), strict=True))
    assert places == [(number, offset) for number in (0, 1, 2) for offset in range(2_000)]


def rows_of_both_kinds(count: int) -> pa.Table:
    """Return a column with distinct values, one with few long values, and both within a struct."""
    new = pa.array(np.arange(count, dtype=np.int64) * 2_654_435_761)
    few = pa.array([f"{n * n % 7:064d}" for n in range(count)])
    inner = pa.StructArray.from_arrays([new, few], names=["new", "few"])
    return pa.table({"new": new, "few": few, "inner": inner})


def columns_with_a_dictionary(rows: pa.Table, dictionary: bool | list[str]) -> set[str]:
    sink = pa.BufferOutputStream()
    with parquet_writer(sink, rows.schema, WriterOptions(), dictionary, []) as file:
        file.write_table(rows)
    group = pq.ParquetFile(io.BytesIO(sink.getvalue())).metadata.row_group(0)
    columns = map(group.column, range(group.num_columns))
    return {column.path_in_schema for column in columns if column.has_dictionary_page}


def test_a_column_has_a_dictionary_where_it_makes_the_file_smaller() -> None:
    rows = rows_of_both_kinds(20_000)
    chosen = DictionaryColumns(WriterOptions()).of_rows(rows)
    assert columns_with_a_dictionary(rows, chosen) == {"few", "inner.few"}


def test_the_first_row_group_with_rows_enough_decides_for_all_that_follow() -> None:
    choice = DictionaryColumns(WriterOptions())
    assert choice.of_rows(rows_of_both_kinds(10)) is True
    decided = choice.of_rows(rows_of_both_kinds(20_000))
    assert choice.of_rows(rows_of_both_kinds(10)) == decided
    other = pa.table({name: pa.nulls(20_000, t) for name, t in zip("abc", [pa.int64()] * 3, strict=True)})
    assert choice.of_rows(other) == decided
