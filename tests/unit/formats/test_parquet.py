"""Options of Parquet files: how the footer shows them, and that they never change rows."""

import datetime
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka2hive.config.keys import WriterOptions
from kafka2hive.formats.contract.times import rows_not_in_millis
from kafka2hive.formats.files import UNREADABLE, end_of, open_reader
from kafka2hive.formats.parquet import leaf_paths
from kafka2hive.model.files import FileKind
from kafka2hive.plan.contract import TableManifest
from tests.harness.task_files import MemoryFiles, read_rows
from tests.unit.formats.written_files import run_task, written

INNER = pa.struct([("at", pa.timestamp("us")), ("by", pa.map_(pa.string(), pa.timestamp("us")))])
SCHEMA = pa.schema(
    [("deep", pa.list_(INNER)), ("n", pa.int64()), ("text", pa.string()), ("at", pa.timestamp("us"))]
)
TIMES = [
    datetime.datetime(1, 1, 1),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000),
    datetime.datetime(2013, 1, 1, 5, 0, 0, 123_000),
    datetime.datetime(9999, 12, 31, 23, 59, 59, 999_000),
]


def table(count: int, seed: int = 1) -> pa.Table:
    numbers = np.random.default_rng(seed).permutation(count)
    rows = []
    for number in map(int, numbers):
        at = TIMES[number % len(TIMES)]
        rows.append(
            {
                "deep": [None, {"at": at, "by": [("k", at)]}],
                "n": number if number % 7 else None,
                "text": f"t{number % 5}",
                "at": at,
            }
        )
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def footer(data: bytes) -> pq.FileMetaData:
    return pq.read_metadata(io.BytesIO(data))


def read_back(data: bytes) -> pa.Table:
    file = open_reader(data)
    assert file.schema == SCHEMA
    return pa.Table.from_batches(file.batches(SCHEMA.names, 100)).cast(SCHEMA)


def test_a_name_in_a_footer_that_is_no_text_is_damage() -> None:
    data = written([table(1)], WriterOptions()).replace(b"text", b"\xfdext")
    with pytest.raises(UNREADABLE):
        end_of("parquet", len(data), lambda count: data[-count:])
    with pytest.raises(UNREADABLE):
        open_reader(data)


@pytest.mark.parametrize("form", ["micros", "millis", "int96"])
def test_every_form_of_timestamps_reads_back_equal_at_any_depth(form: str) -> None:
    rows = table(400)
    data = written([rows], WriterOptions(timestamps=form))  # type: ignore[arg-type]  # one of the three
    assert read_back(data) == rows
    schema = footer(data).schema
    kinds = {
        (column.physical_type, column.logical_type.to_json())
        for column in map(schema.column, range(len(schema)))
        if column.path.endswith(("at", "value"))
    }
    unit = {"micros": "microseconds", "millis": "milliseconds"}.get(form, "")
    assert len(kinds) == 1
    ((physical, logical),) = kinds
    assert physical == ("INT96" if form == "int96" else "INT64")
    assert unit in logical and '"isAdjustedToUTC": true' not in logical


def test_rows_are_sorted_within_each_row_group_as_the_footer_declares() -> None:
    groups = [table(300), table(200, seed=2)]
    data = written(groups, WriterOptions(sorted_by=("text", "n")))
    file = pq.ParquetFile(io.BytesIO(data))
    leaves = leaf_paths(SCHEMA)
    for number, group in enumerate(groups):
        keys = [("text", "ascending"), ("n", "ascending")]
        assert file.read_row_group(number).cast(SCHEMA) == group.sort_by(keys)
        by = file.metadata.row_group(number).sorting_columns
        assert [(leaves[one.column_index], one.descending, one.nulls_first) for one in by] == [
            ("text", False, False),
            ("n", False, False),
        ]


def test_an_orc_file_has_its_rows_sorted_too() -> None:
    data = written([table(50)], WriterOptions(format="orc", sorted_by=("n",)))
    (batch,) = open_reader(data).batches(["n"], 100)
    assert batch.column(0).to_pylist()[:2] == [1, 2] and batch.column(0)[-1].as_py() is None


def test_the_footer_declares_no_order_by_int96() -> None:
    options = WriterOptions(timestamps="int96", sorted_by=("text", "at", "n"))
    by = footer(written([table(10)], options)).row_group(0).sorting_columns
    assert [leaf_paths(SCHEMA)[one.column_index] for one in by] == ["text"]


def test_page_index_and_bloom_filters_are_written_on_request() -> None:
    def seen(options: WriterOptions) -> tuple[set[str], set[str]]:
        group = footer(written([table(500)], options)).row_group(0)
        columns = list(map(group.column, range(group.num_columns)))
        return (
            {column.path_in_schema for column in columns if column.has_column_index},
            {column.path_in_schema for column in columns if column.bloom_filter_offset is not None},
        )

    assert seen(WriterOptions()) == (set(), set())
    assert seen(WriterOptions(page_index=True, bloom_filter=("n", "text"))) == (
        set(leaf_paths(SCHEMA)),
        {"n", "text"},
    )


def test_a_bloom_filter_is_as_large_as_the_distinct_values_need() -> None:
    group = footer(written([table(5_000)], WriterOptions(bloom_filter=("n", "text")))).row_group(0)
    sizes = {
        column.path_in_schema: column.bloom_filter_length
        for column in map(group.column, range(group.num_columns))
    }
    assert sizes["text"] < 128 < 5_000 < sizes["n"] < 20_000


@pytest.mark.parametrize("count", [100, 20_000])
def test_the_maps_choice_of_dictionaries_holds_before_and_after_the_sample(count: int) -> None:
    new = pa.array(np.arange(count, dtype=np.int64) * 2_654_435_761)
    few = pa.array([f"{n % 7:064d}" for n in range(count)])
    inner = pa.StructArray.from_arrays([new, few], names=["new", "few"])
    rows = pa.table({"new": new, "few": few, "inner": inner, "other": few})
    options = WriterOptions(dictionary=(("new", True), ("few", False), ("inner", False)))
    group = footer(written([rows], options)).row_group(0)
    columns = map(group.column, range(group.num_columns))
    assert {column.path_in_schema for column in columns if column.has_dictionary_page} == {"new", "other"}


def test_a_part_of_a_millisecond_is_found_at_any_depth() -> None:
    whole, part = datetime.datetime(1969, 1, 1, 0, 0, 0, 5_000), datetime.datetime(1969, 1, 1, 0, 0, 0, 5)
    times = pa.array([whole, part, None], pa.timestamp("us"))
    assert rows_not_in_millis(times).tolist() == [False, True, False]  # type: ignore[union-attr]  # some are
    deep = pa.array([[], [{"at": whole, "by": [("k", part)]}], None], pa.list_(INNER))
    assert rows_not_in_millis(deep).tolist() == [False, True, False]  # type: ignore[union-attr]  # some are
    assert rows_not_in_millis(pa.array([whole, None], pa.timestamp("us"))) is None


def run(writer: WriterOptions) -> tuple[MemoryFiles, TableManifest]:
    values = [
        b'{"n": 2, "at": "2013-01-01T00:00:00.001"}',
        b'{"n": 1, "at": "2013-01-01T00:00:00.000001"}',
        b"x",
    ]
    return run_task(writer, (("n", "int"), ("at", "timestamp")), values)


def test_a_time_that_milliseconds_cannot_hold_is_a_dead_letter() -> None:
    files, manifest = run(WriterOptions(timestamps="millis"))
    assert [row["n"] for row in read_rows(files, manifest, FileKind.DATA)] == [2]
    letters = sorted(read_rows(files, manifest, FileKind.DEAD_LETTER), key=lambda row: row["offset"])
    assert [(r["offset"], r["reason"]) for r in letters] == [(1, "parquet.timestamp"), (2, "json.syntax")]
    assert letters[0]["detail"] == "column at is not a whole number of milliseconds"


def test_dead_letters_have_the_tables_form_of_timestamps_and_none_of_its_columns() -> None:
    options = WriterOptions(
        timestamps="int96", sorted_by=("n",), bloom_filter=("n",), dictionary=(("n", False),)
    )
    files, manifest = run(options)
    (letters,) = (file for file in manifest.files if file.kind is FileKind.DEAD_LETTER)
    schema = footer(files.content[letters.staged]).schema
    types = {column.path: column.physical_type for column in map(schema.column, range(len(schema)))}
    assert types["timestamp"] == "INT96"
    assert [row["n"] for row in read_rows(files, manifest, FileKind.DATA)] == [1, 2]
