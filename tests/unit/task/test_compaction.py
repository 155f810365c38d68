"""Units of compaction: the rows of many files in few, for every format; what cannot be read back is never returned."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from kafka2hive.config.keys import TextOptions, WriterOptions
from kafka2hive.formats.files import end_of, open_reader
from kafka2hive.formats.lines.files import PlainLines
from kafka2hive.model.errors import Kafka2HiveError, TableError
from kafka2hive.model.files import FileKind, HivePartition
from kafka2hive.model.paths.table_directory import extension_of
from kafka2hive.plan.contract import UnitAssignment
from kafka2hive.service.compaction.command import UnitsHere
from kafka2hive.task import compaction
from kafka2hive.task.compaction import UnitWriter
from kafka2hive.task.rows import schema_in_files
from kafka2hive.task.write.destination import Destination
from kafka2hive.task.write.limits import TaskLimits
from kafka2hive.task.write.table_writer import TableWriter
from tests.harness.compiled_library import needs_compiled
from tests.harness.seen_progress import SeenProgress
from tests.harness.task_files import LEDGER, MemoryFiles, table_settings, task_settings

TABLE = "file:///warehouse/db.t"
HOME = HivePartition("db.t", "dt=2026-01-29", f"{TABLE}/dt=2026-01-29")
COLUMNS = (
    ("id", "bigint"),
    ("name", "string"),
    ("ratio", "double"),
    ("at", "timestamp"),
    ("price", "decimal(10,2)"),
    ("ok", "boolean"),
)
ROWS_PER_FILE = 400


def batch(number: int, schema: pa.Schema) -> pa.RecordBatch:
    rows: list[dict[str, Any]] = [
        {
            "id": number * ROWS_PER_FILE + n,
            "name": None if n % 7 == 0 else f"name {n % 13}",
            "ratio": n / 8,
            "at": datetime(2026, 1, 29, n % 24, n % 60, tzinfo=UTC).replace(tzinfo=None),
            "price": None if n % 5 == 0 else Decimal(n).scaleb(-2),
            "ok": n % 3 == 0,
        }
        for n in range(ROWS_PER_FILE)
    ]
    return pa.RecordBatch.from_pylist(rows, schema)


def early(files: MemoryFiles, writer: WriterOptions, number: int, schema: pa.Schema) -> str:
    """Write one early file and return its path."""
    destination = Destination(
        kind=FileKind.DATA, ledger_id=LEDGER, table="db.t", generation=1, epoch=number, task=0,
        attempt="0" * 32, planned_at_ms=0, ranges=(), hive_table="db.t", location=TABLE, staging=f"{TABLE}/_tmp",
    )  # fmt: skip
    limits = TaskLimits(1 << 26, 4, 1 << 28)
    sink = TableWriter(destination, files, schema, writer, limits)
    zeros = np.zeros(ROWS_PER_FILE, np.int32)
    sink.add(batch(number, schema), zeros, [HOME.path], zeros)
    sink.finish()
    (file,) = sink.results()
    limits.closer.stop()
    return file.staged


def unit(sources: list[str]) -> UnitAssignment:
    return UnitAssignment(
        sources=sources, home=HOME, table_location=TABLE, ledger_id=LEDGER, generation=1, epoch=9, task=0,
        planned_at_ms=0, target_bytes=1 << 26,
    )  # fmt: skip


FORMATS = [
    WriterOptions(format="parquet"),
    WriterOptions(format="parquet", sorted_by=("name",)),
    WriterOptions(format="orc"),
    pytest.param(WriterOptions(format="avro"), marks=needs_compiled),
    WriterOptions(format="json"),
    WriterOptions(format="json", compression="none"),
    WriterOptions(format="text"),
    WriterOptions(format="text", compression="none"),
]


@pytest.mark.parametrize("writer", FORMATS, ids=lambda w: f"{w.format}-{w.compression}-{len(w.sorted_by)}")
def test_a_unit_gives_back_the_rows_of_its_sources(writer: WriterOptions) -> None:
    files = MemoryFiles()
    settings = table_settings(columns=COLUMNS, writer=writer)
    schema = schema_in_files(settings)
    sources = [early(files, writer, number, schema) for number in range(6)]
    written = UnitWriter(files, settings, 1 << 26).write(unit(sources))
    assert (written.sources, written.rows) == (6, 6 * ROWS_PER_FILE)
    (file,) = written.files
    assert file.kind is FileKind.COMPACTED
    assert file.final.startswith(HOME.location + "/")
    reader = open_reader(files.content[file.staged], extension_of(file.staged), PlainLines(schema, writer))
    ids = [v for b in reader.batches(["id"], 1000) for v in b.column("id").to_pylist()]
    assert sorted(ids) == list(range(6 * ROWS_PER_FILE))
    assert file.length <= sum(len(files.content[path]) for path in sources)
    end = end_of(extension_of(file.staged), file.length, lambda n: files.tail(file.staged, n))
    assert end is None or end.metadata[b"kafka2hive.kind"] == b"compacted"


@pytest.mark.parametrize("writer", FORMATS, ids=lambda w: f"{w.format}-{w.compression}-{len(w.sorted_by)}")
def test_a_lost_file_of_a_unit_is_written_again_without_the_rows_of_its_other_files(
    writer: WriterOptions,
) -> None:
    files, settings = MemoryFiles(), table_settings(columns=COLUMNS, writer=writer)
    schema = schema_in_files(settings)
    sources = [early(files, writer, number, schema) for number in (0, 1, 1)]  # equal rows, too
    left = early(files, writer, 1, schema)
    new = UnitWriter(files, settings, 1 << 26).write_again(unit(sources), [left])
    rows = Counter(
        v
        for file in new
        for b in open_reader(
            files.content[file.staged], extension_of(file.staged), PlainLines(schema, writer)
        ).batches(["id"], 1000)
        for v in b.column("id").to_pylist()
    )
    assert rows == Counter(range(2 * ROWS_PER_FILE))
    assert all(file.kind is FileKind.COMPACTED for file in new)


def test_a_lost_file_is_written_again_though_the_columns_of_its_sources_differ() -> None:
    files, writer = MemoryFiles(), WriterOptions(format="parquet")
    settings = table_settings(columns=COLUMNS, writer=writer)
    schema = schema_in_files(settings)
    old = pa.schema([field for field in schema if field.name != "ok"])
    sources = [early(files, writer, n, old if n < 2 else schema) for n in range(4)]
    new = UnitWriter(files, settings, 1 << 26).write_again(unit(sources), [])
    assert [file.rows for file in new] == [2 * ROWS_PER_FILE] * 2


def test_what_a_unit_writes_is_progress_for_the_watchdog() -> None:
    files, writer = MemoryFiles(), WriterOptions(format="parquet")
    settings = table_settings(columns=COLUMNS, writer=writer)
    source = early(files, writer, 0, schema_in_files(settings))
    staged_at: list[bool] = []
    before = set(files.content)
    UnitWriter(files, settings, 1 << 26, lambda: staged_at.append(set(files.content) > before)).write(
        unit([source])
    )
    read_back = 1
    assert sum(staged_at) > read_back, "closing and renaming the file, before it is read back"


def test_a_command_that_writes_units_reports_their_files_and_rows() -> None:
    files, writer, progress = MemoryFiles(), WriterOptions(format="parquet"), SeenProgress()
    settings = table_settings(columns=COLUMNS, writer=writer)
    sources = [early(files, writer, number, schema_in_files(settings)) for number in range(3)]
    with progress.work("compact") as advance:
        runner = UnitsHere(task_settings("", replace(settings, table="db.t")), files, advance)
        runner.begin([unit(sources[:2]), unit(sources[2:])])
    assert runner.take()
    assert progress.done["compact"] == {"files": 3, "rows": 3 * ROWS_PER_FILE}


def test_a_unit_ends_where_the_columns_of_its_sources_change() -> None:
    files, writer = MemoryFiles(), WriterOptions(format="parquet")
    settings = table_settings(columns=COLUMNS, writer=writer)
    schema = schema_in_files(settings)
    old = pa.schema([field for field in schema if field.name != "ok"])
    sources = [early(files, writer, n, old if n < 2 else schema) for n in range(4)]
    units = UnitWriter(files, settings, 1 << 26)
    first = units.write(unit(sources))
    assert (first.sources, first.rows) == (2, 2 * ROWS_PER_FILE)
    second = units.write(unit(sources[2:]))
    assert (second.sources, second.rows) == (2, 2 * ROWS_PER_FILE)


@pytest.mark.parametrize("form", ["json", "text"])
def test_lines_with_columns_that_the_map_no_longer_has_are_not_written_without_them(form: str) -> None:
    files, writer = MemoryFiles(), WriterOptions(format=form, compression="none")  # type: ignore[arg-type]
    whole = schema_in_files(table_settings(columns=COLUMNS, writer=writer))
    sources = [early(files, writer, n, whole) for n in range(2)]
    fewer = table_settings(columns=COLUMNS[:-1], writer=writer)
    with pytest.raises(TableError, match=r"a copy would lose|does not have") as refused:
        UnitWriter(files, fewer, 1 << 26).write(unit(sources))
    assert refused.value.code == "compact.source"


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize(("before", "after"), [("none", "gzip"), ("gzip", "none"), ("zstd", "gzip")])
def test_a_changed_codec_is_written_from_then_on(form: str, before: str, after: str) -> None:
    files = MemoryFiles()
    old, new = (WriterOptions(format=form, compression=codec) for codec in (before, after))  # type: ignore[arg-type]
    schema = schema_in_files(table_settings(columns=COLUMNS, writer=old))
    sources = [early(files, old, n, schema) for n in range(2)]
    written = UnitWriter(files, table_settings(columns=COLUMNS, writer=new), 1 << 26).write(unit(sources))
    assert (written.sources, written.rows) == (2, 2 * ROWS_PER_FILE)


def test_plain_json_may_have_its_columns_in_another_order_than_the_map() -> None:
    files, writer = MemoryFiles(), WriterOptions(format="json", compression="none")
    sources = [
        early(files, writer, n, schema_in_files(table_settings(columns=COLUMNS, writer=writer)))
        for n in (0, 1)
    ]
    turned = table_settings(columns=COLUMNS[::-1], writer=writer)
    (file,) = UnitWriter(files, turned, 1 << 26).write(unit(sources)).files
    assert files.content[file.staged] == b"".join(files.content[path] for path in sources)


OTHER_SETTINGS = [
    pytest.param(
        WriterOptions(format="text"), WriterOptions(format="text", text=TextOptions(delimiter="|")), id="text"
    ),
    pytest.param(WriterOptions(format="json"), WriterOptions(format="orc"), id="format"),
]


@pytest.mark.parametrize(("before", "after"), OTHER_SETTINGS)
def test_files_are_not_written_otherwise_than_their_hive_partition_reads_them(
    before: WriterOptions, after: WriterOptions
) -> None:
    files = MemoryFiles()
    schema = schema_in_files(table_settings(columns=COLUMNS, writer=before))
    sources = [early(files, before, n, schema) for n in range(2)]
    with pytest.raises(TableError, match="cannot be compacted") as refused:
        UnitWriter(files, table_settings(columns=COLUMNS, writer=after), 1 << 26).write(unit(sources))
    assert refused.value.code == "compact.source"


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_files_without_a_column_that_rows_are_now_sorted_by_are_sorted_by_those_before_it(form: str) -> None:
    files, writer = MemoryFiles(), WriterOptions(format=form, sorted_by=("price", "ok", "id"))  # type: ignore[arg-type]
    settings = table_settings(columns=COLUMNS, writer=writer)
    old = pa.schema([field for field in schema_in_files(settings) if field.name != "ok"])
    sources = [early(files, WriterOptions(format=form), n, old) for n in range(2)]  # type: ignore[arg-type]
    (file,) = UnitWriter(files, settings, 1 << 26).write(unit(sources)).files
    reader = open_reader(files.content[file.staged], extension_of(file.staged))
    prices = [
        v for b in reader.batches(["price"], 1000) for v in b.column("price").to_pylist() if v is not None
    ]
    assert prices == sorted(prices)


def test_values_that_the_present_settings_would_cut_are_refused() -> None:
    files, writer = MemoryFiles(), WriterOptions(format="parquet")
    settings = table_settings(columns=COLUMNS, writer=writer)
    schema = schema_in_files(settings)
    at = schema.get_field_index("at")
    exact = schema.set(at, schema.field("at").with_type(pa.timestamp("us")))
    cut = replace(writer, timestamps="millis")
    path = early(files, writer, 0, exact)
    content = pa.BufferReader(files.content[path])
    rows = pq.read_table(content)
    moved = pc.add(rows["at"], pa.scalar(1, pa.duration("us")))
    sink = pa.BufferOutputStream()
    pq.write_table(rows.set_column(at, exact.field("at"), moved), sink)
    files.content[path] = sink.getvalue().to_pybytes()
    with pytest.raises(TableError) as refused:
        UnitWriter(files, table_settings(columns=COLUMNS, writer=cut), 1 << 26).write(unit([path]))
    assert refused.value.code == "compact.source"


def test_plain_json_of_before_a_struct_got_a_field_is_read_with_null_and_not_compacted() -> None:
    files, writer = MemoryFiles(), WriterOptions(format="json", compression="none")
    path = f"{TABLE}/a.json"
    files.content[path] = b'{"id":1,"place":{"x":1}}\n'
    columns = (("id", "bigint"), ("place", "struct<x:bigint,y:bigint>"))
    settings = table_settings(columns=columns, writer=writer)
    reader = open_reader(files.content[path], "json", PlainLines(schema_in_files(settings), writer))
    assert [b.to_pylist() for b in reader.batches(["place"], 10)] == [[{"place": {"x": 1, "y": None}}]]
    with pytest.raises(TableError) as refused:
        UnitWriter(files, settings, 1 << 26).write(unit([path]))
    assert refused.value.code == "compact.source"


def test_a_damaged_source_is_named() -> None:
    files, writer = MemoryFiles(), WriterOptions(format="parquet")
    settings = table_settings(columns=COLUMNS, writer=writer)
    sources = [early(files, writer, n, schema_in_files(settings)) for n in range(2)]
    files.content[sources[1]] = files.content[sources[1]][:-40]
    with pytest.raises(TableError) as refused:
        UnitWriter(files, settings, 1 << 26).write(unit(sources))
    assert refused.value.code == "compact.source"
    assert sources[1] in refused.value.message


@pytest.mark.parametrize(("sources", "given_back"), [((0, 1), 0), ((0,), 1)], ids=["fewer", "others"])
def test_a_row_that_is_not_read_back_ends_the_unit(sources: tuple[int, ...], given_back: int) -> None:
    class Losing(MemoryFiles):
        """A storage that gives back another whole file than the one that was staged."""

        other = b""

        def read(self, path: str) -> bytes:
            return self.other if "-e000009-" in path else super().read(path)

    files, writer = Losing(), WriterOptions(format="parquet")
    settings = table_settings(columns=COLUMNS, writer=writer)
    paths = [early(files, writer, n, schema_in_files(settings)) for n in range(2)]
    Losing.other = files.content[paths[given_back]]
    with pytest.raises(Kafka2HiveError) as refused:
        UnitWriter(files, settings, 1 << 26).write(unit([paths[n] for n in sources]))
    assert refused.value.code == "compact.rows"


def test_two_sums_differ_if_one_value_does() -> None:
    one = pa.RecordBatch.from_pylist([{"a": 1, "b": "x"}, {"a": 2, "b": None}])
    other = pa.RecordBatch.from_pylist([{"a": 1, "b": "x"}, {"a": 2, "b": ""}])
    assert compaction.RowSum().plus(one) != compaction.RowSum().plus(other)
    assert compaction.RowSum().plus(one) == compaction.RowSum().plus(one.slice(1)).plus(one.slice(0, 1))
