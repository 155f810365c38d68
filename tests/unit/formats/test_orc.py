"""ORC files: reading rows back with pyarrow, the tail, and times that are refused."""

import datetime
import io
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pytest

from kafka2hive.config.keys import WriterOptions
from kafka2hive.formats.files import UNREADABLE, encoding_of, end_of, open_reader
from kafka2hive.formats.orc import unwritable_rows
from kafka2hive.formats.orc_tail import Codec, from_chunks, parse_tail, tail_length, to_chunks
from kafka2hive.model.files import FileKind
from kafka2hive.model.footer import Footer
from kafka2hive.plan.contract import TableManifest
from kafka2hive.service.verify.row_sources import Reduction
from kafka2hive.service.verify.row_sources import read_rows as file_rows
from kafka2hive.service.verify.rows import Paths, Span
from tests.harness.task_files import MemoryFiles, offsets, read_rows
from tests.unit.formats.written_files import PLAIN, plain_row, run_task, table_of, tail_of, written

CodecName = Literal["zstd", "snappy", "gzip", "lz4", "none"]
CODECS: list[CodecName] = ["zstd", "snappy", "gzip", "lz4", "none"]
KIND = pa.struct([("At", pa.timestamp("us")), ("by", pa.map_(pa.string(), pa.list_(pa.int8())))])
SCHEMA = pa.schema(
    [
        *PLAIN,
        ("deep", pa.list_(KIND)),
        ("never", pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))])),
    ]
)
TIMES = [
    datetime.datetime(2013, 1, 1, 5, 0, 0, 123456),
    datetime.datetime(1900, 1, 1),
    datetime.datetime(1970, 1, 1, 0, 0, 0, 1),
    datetime.datetime(2262, 4, 11, 23, 47, 16, 854775),
]


def row(number: int) -> dict[str, Any]:
    time = TIMES[number % len(TIMES)]
    values = plain_row(number, time, f"Grüße {number % 97}") | {
        "deep": [None, {"At": time, "by": [("k", [number % 100, None])]}],
        "never": {"a": None, "b": [None]} if number % 2 else None,
    }
    return values if number % 11 else dict.fromkeys(values)


def table(count: int) -> pa.Table:
    return table_of(count, row, SCHEMA)


def file_of(groups: Sequence[pa.Table], codec: CodecName = "zstd", **metadata: str) -> bytes:
    return written(groups, WriterOptions(format="orc", compression=codec), **metadata)


@pytest.mark.parametrize("codec", CODECS)
def test_every_row_group_is_a_stripe_and_every_value_is_read_back(codec: CodecName) -> None:
    rows = table(5_000)
    groups = [rows.slice(0, 3_000), rows.slice(3_000, 1), rows.slice(3_001)]
    data = file_of(groups, codec, kind="data", long="é" * 200_000)
    theirs = orc.ORCFile(io.BytesIO(data))
    assert [len(theirs.read_stripe(n)) for n in range(theirs.nstripes)] == [3_000, 1, 1_999]
    assert theirs.read().cast(SCHEMA) == rows
    assert theirs.metadata == {b"kind": b"data", b"long": ("é" * 200_000).encode()}
    assert theirs.compression == {"none": "UNCOMPRESSED", "gzip": "ZLIB"}.get(codec, codec.upper())
    ours = open_reader(data)
    assert (ours.rows, ours.schema) == (5_000, SCHEMA)
    batches = list(ours.batches(["deep", "n"], 1_000))
    assert max(map(len, batches)) == 1_000
    assert pa.Table.from_batches(batches).select(["deep", "n"]) == rows.select(["deep", "n"])


def test_slices_of_rows_are_written_correctly() -> None:
    generator, whole = random.Random(1), table(400)
    for _ in range(60):
        slices = [
            whole.slice(generator.randrange(400), generator.randrange(1, 60))
            for _ in range(generator.randrange(1, 5))
        ]
        rows = pa.concat_tables(slices)
        assert orc.ORCFile(io.BytesIO(file_of([rows], "none"))).read().cast(SCHEMA) == rows


INNER = pa.struct([("r", pa.int64()), ("s", pa.list_(pa.struct([("t", pa.struct([("u", pa.string())]))])))])
HIDDEN: dict[str, tuple[pa.DataType, Callable[[Any], Any]]] = {
    "struct": (pa.struct([("q", INNER)]), lambda inner: {"q": inner}),
    "array": (pa.list_(pa.struct([("q", INNER)])), lambda inner: [{"q": inner}, {"q": None}]),
    "map": (pa.map_(pa.string(), pa.struct([("q", INNER)])), lambda inner: [("k", {"q": inner})]),
    "deeper": (pa.struct([("p", pa.struct([("q", INNER)]))]), lambda inner: {"p": {"q": inner}}),
}


def hidden(kind: str) -> pa.Table:
    """No outer struct is NULL, but inner ones are, and pyarrow's arrays hold values beneath them."""
    dtype, around = HIDDEN[kind]
    deep = [{"r": n, "s": [{"t": None}, {"t": {"u": f"u{n}"}}] if n % 7 else None} for n in range(20_000)]
    return pa.table({"c": pa.array([around(None if n % 10 == 3 else deep[n]) for n in range(20_000)], dtype)})


@pytest.mark.parametrize("kind", HIDDEN)
def test_values_beneath_a_null_are_not_written(kind: str) -> None:
    rows = hidden(kind)
    for given in (rows, rows.slice(17), pa.concat_tables([rows.slice(9_000), rows.slice(0, 9_000)])):
        found = orc.ORCFile(io.BytesIO(file_of([given], "none"))).read()
        assert found.cast(given.schema) == given


def test_an_audit_of_rows_finds_values_that_an_orc_writer_damaged() -> None:
    """The fault is that of pyarrow 26. Only `--deep` finds it, because the count of rows and the checksum are right."""
    rows, span = hidden("struct").slice(0, 500), Span([offsets("t", 0, 0, 1)])
    sink = pa.BufferOutputStream()
    orc.write_table(rows, sink)
    hashes = [
        file_rows(open_reader(data), Reduction({"c": "c"}, None, span, Paths()), 0, 0).whole().hashes
        for data in (file_of([rows]), sink.getvalue().to_pybytes())
    ]
    assert len(hashes[0]) == len(hashes[1]) == 500
    assert (hashes[0] != hashes[1]).sum() > 400


def test_the_end_of_a_file_holds_its_rows_and_metadata_of_any_length() -> None:
    data = file_of([table(10), table(20)], long="x" * 100_000)
    end = end_of("orc", len(data), tail_of(data))
    assert end is not None and end.rows == 30
    assert end.metadata == {b"long": b"x" * 100_000}
    assert end_of("json", len(data), tail_of(data)) is None


def test_no_chunk_of_a_tail_is_longer_than_a_readers_block() -> None:
    stream = to_chunks(b"x" * 600_000, Codec.ZSTD, 262_144)
    at, lengths = 0, []
    while at < len(stream):
        lengths.append(int.from_bytes(stream[at : at + 3], "little") >> 1)
        at += 3 + lengths[-1]
    assert lengths == [262_144, 262_144, 75_712]
    assert from_chunks(stream, Codec.ZSTD) == b"x" * 600_000


def test_rows_equal_those_of_a_parquet_file() -> None:
    rows, columns = table(500), {name: name for name in SCHEMA.names}
    sink = pa.BufferOutputStream()
    parquet = encoding_of(WriterOptions()).open(sink, rows)
    parquet.write(rows)
    parquet.end({})
    span = Span([offsets("t", 0, 0, 1)])
    hashes = [
        file_rows(open_reader(data), Reduction(columns, None, span, Paths()), 0, 0).whole().hashes.tolist()
        for data in (file_of([rows.slice(0, 200), rows.slice(200)]), bytes(sink.getvalue()))
    ]
    assert len(hashes[0]) == 500 and hashes[0] == hashes[1]


def test_days_are_marked_as_gregorian() -> None:
    data = file_of([table(3)], "none")
    assert data.count(bytes([11 << 3, 2]), len(data) - tail_length(data)) == 1


def test_statistics_of_several_stripes_count_all_values() -> None:
    data = file_of([table(100), table(100)])
    assert open_reader(data).filled_columns() == set(SCHEMA.names) - {"never"}
    nothing = pa.table({"a": pa.nulls(5, pa.int64()), "b": pa.nulls(5, KIND), "c": [[]] * 5})
    some = pa.table({"a": pa.array([1] * 5, pa.int64()), "b": nothing["b"], "c": nothing["c"]})
    nothing = nothing.cast(pa.schema([("a", pa.int64()), ("b", KIND), ("c", pa.list_(pa.int32()))]))
    assert open_reader(file_of([nothing, nothing])).filled_columns() == set()
    assert open_reader(file_of([nothing, some.cast(nothing.schema)])).filled_columns() == {"a"}


def test_a_file_without_rows_has_a_schema() -> None:
    sink = pa.BufferOutputStream()
    assert encoding_of(WriterOptions(format="orc")).open(sink, table(5)).end({"a": "b"}) == 0
    data = bytes(sink.getvalue())
    assert (open_reader(data).rows, open_reader(data).schema) == (0, SCHEMA)
    assert end_of("orc", len(data), tail_of(data)) is not None


def test_a_cut_or_changed_end_is_read_or_unreadable() -> None:
    data = file_of([table(50)], "none", kind="data")
    start = len(data) - tail_length(data)
    for cut in range(start, len(data), 7):
        with pytest.raises(UNREADABLE):
            end_of("orc", cut, tail_of(data[:cut]))
    generator = np.random.default_rng(5)
    for at in range(start, len(data)):
        broken = bytearray(data)
        broken[at] ^= int(generator.integers(1, 256))
        try:
            end_of("orc", len(data), tail_of(bytes(broken)))
        except UNREADABLE:
            continue


def test_a_footer_has_the_rows_that_the_writer_counted() -> None:
    data = file_of([table(7), table(9)])
    tail = parse_tail(data[-tail_length(data) :])
    assert [stripe.rows for stripe in tail.stripes] == [7, 9]
    assert tail.rows == 16


BEFORE = datetime.datetime(1969, 12, 31, 23, 59, 59, 5)
WHOLE = datetime.datetime(1969, 12, 31, 23, 59, 59)


@pytest.mark.parametrize(
    ("kind", "values", "bad"),
    [
        (pa.timestamp("us"), [BEFORE, WHOLE, None, TIMES[0]], [0]),
        (pa.timestamp("us"), [WHOLE, None], []),
        (pa.list_(pa.timestamp("us")), [[], None, [WHOLE, None], [WHOLE, BEFORE], [BEFORE]], [3, 4]),
        (pa.map_(pa.string(), pa.timestamp("us")), [[("k", WHOLE)], None, [("k", BEFORE)]], [2]),
        (pa.struct([("a", pa.int8()), ("b", pa.list_(KIND))]), [None, {"a": 1, "b": [{"At": BEFORE}]}], [1]),
        (pa.list_(pa.string()), [["x"], None], []),
    ],
)
def test_times_that_hive_cannot_read_from_orc_are_found_at_any_depth(
    kind: pa.DataType, values: list[Any], bad: list[int]
) -> None:
    for column in (pa.array(values, kind), pa.array([values[0], *values], kind).slice(1)):
        found = unwritable_rows(column)
        assert bad == ([] if found is None else np.flatnonzero(found).tolist())


def run(format: Literal["parquet", "orc"], values: list[bytes]) -> tuple[MemoryFiles, TableManifest]:
    return run_task(WriterOptions(format=format), (("n", "int"), ("at", "timestamp")), values)


def test_a_task_writes_orc_with_its_footer_and_dead_letters_as_parquet() -> None:
    values = [b'{"n": %d, "at": "2013-01-01T00:00:00.5"}' % n for n in range(20)]
    values[3] = b'{"n": "x"}'
    values[5] = b'{"n": 5, "at": "1969-12-31T23:59:59.5"}'
    values[7] = b'{"n": 7, "at": "1969-12-31T23:59:59"}'
    files, manifest = run("orc", values)
    rows, letters = (read_rows(files, manifest, kind) for kind in (FileKind.DATA, FileKind.DEAD_LETTER))
    assert [r["n"] for r in rows] == [n for n in range(20) if n not in (3, 5)]
    assert [(r["offset"], r["reason"]) for r in letters] == [(3, "json.type"), (5, "orc.timestamp")]
    assert [r["detail"] for r in letters][1] == "column at is before 1970 with a fraction of a second"
    extensions = {file.kind: file.staged.split(".")[-2] for file in manifest.files}
    assert extensions == {FileKind.DATA: "orc", FileKind.DEAD_LETTER: "parquet"}
    footers = []
    for file in manifest.files:
        data = files.read(file.staged)
        end = end_of(extensions[file.kind], len(data), tail_of(data))
        assert end is not None
        footer = Footer.parse(end.metadata)
        assert footer is not None and footer.rows == end.rows == file.rows
        footers.append(replace(footer, kind=FileKind.DATA, rows=0, partition=file.hive_partition))
    assert footers[0].accounts is not None and footers[0].accounts[0].written == 18
    parquet, theirs = run("parquet", values)
    assert len(read_rows(parquet, theirs)) == 19
