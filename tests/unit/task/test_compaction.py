"""Units of compaction: the rows of many files in few, for every format; what cannot be read back is never returned."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafka2hive.config.keys import WriterOptions
from kafka2hive.formats.lines.reader import PlainLines
from kafka2hive.formats.readers import end_of, open_reader
from kafka2hive.model.errors import Kafka2HiveError, TableError
from kafka2hive.model.files import FileKind, HivePartition
from kafka2hive.model.paths.data_file import extension_of
from kafka2hive.task import compaction
from kafka2hive.task.compaction import UnitOrder, UnitWriter
from kafka2hive.task.rows import schema_in_files
from kafka2hive.task.write.destination import Destination
from kafka2hive.task.write.limits import TaskLimits
from kafka2hive.task.write.table_writer import TableWriter
from tests.harness.task_files import LEDGER, MemoryFiles, table_settings

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


def unit(sources: list[str]) -> UnitOrder:
    return UnitOrder(
        sources=sources, home=HOME, table_location=TABLE, ledger_id=LEDGER, generation=1, epoch=9, task=0,
        planned_at_ms=0,
    )  # fmt: skip


FORMATS = [
    WriterOptions(format="parquet"),
    WriterOptions(format="parquet", sorted_by=("name",)),
    WriterOptions(format="orc"),
    WriterOptions(format="avro"),
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
    written = UnitWriter(files, settings, 1 << 26, 1 << 26).write(unit(sources))
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


def test_a_unit_ends_where_the_columns_of_its_sources_change() -> None:
    files, writer = MemoryFiles(), WriterOptions(format="parquet")
    settings = table_settings(columns=COLUMNS, writer=writer)
    schema = schema_in_files(settings)
    old = pa.schema([field for field in schema if field.name != "ok"])
    sources = [early(files, writer, n, old if n < 2 else schema) for n in range(4)]
    units = UnitWriter(files, settings, 1 << 26, 1 << 26)
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
    with pytest.raises(TableError, match=r"would be lost|does not have") as refused:
        UnitWriter(files, fewer, 1 << 26, 1 << 26).write(unit(sources))
    assert refused.value.code == "compact.source"


def test_a_damaged_source_is_named() -> None:
    files, writer = MemoryFiles(), WriterOptions(format="parquet")
    settings = table_settings(columns=COLUMNS, writer=writer)
    sources = [early(files, writer, n, schema_in_files(settings)) for n in range(2)]
    files.content[sources[1]] = files.content[sources[1]][:-40]
    with pytest.raises(TableError) as refused:
        UnitWriter(files, settings, 1 << 26, 1 << 26).write(unit(sources))
    assert refused.value.code == "compact.source"
    assert sources[1] in refused.value.message


def test_a_row_that_is_not_read_back_ends_the_unit() -> None:
    class Losing(MemoryFiles):
        """A storage that gives back another whole file than the one that was staged."""

        other = b""

        def read(self, path: str) -> bytes:
            return self.other if "-e000009-" in path else super().read(path)

    files, writer = Losing(), WriterOptions(format="parquet")
    settings = table_settings(columns=COLUMNS, writer=writer)
    sources = [early(files, writer, n, schema_in_files(settings)) for n in range(2)]
    Losing.other = files.content[sources[0]]
    with pytest.raises(Kafka2HiveError) as refused:
        UnitWriter(files, settings, 1 << 26, 1 << 26).write(unit(sources))
    assert refused.value.code == "compact.rows"


def test_two_sums_differ_if_one_value_does() -> None:
    one = pa.RecordBatch.from_pylist([{"a": 1, "b": "x"}, {"a": 2, "b": None}])
    other = pa.RecordBatch.from_pylist([{"a": 1, "b": "x"}, {"a": 2, "b": ""}])
    assert compaction.RowSum().plus(one) != compaction.RowSum().plus(other)
    assert compaction.RowSum().plus(one) == compaction.RowSum().plus(one.slice(1)).plus(one.slice(0, 1))
