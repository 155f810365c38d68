"""Avro files: fastavro reads every value that was written, and the trailer holds rows and metadata."""

import datetime
import io
import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Literal

import fastavro
import pyarrow as pa
import pytest

from kafka2hive.config.keys import WriterOptions
from kafka2hive.formats.avro import Encode, avro_end, decode, encoder, trailer_block
from kafka2hive.formats.avro_container import AVRO_CODECS, avro_schema, blocks, decompress, read_container
from kafka2hive.formats.files import UNREADABLE, end_of, open_reader
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import FileKind
from kafka2hive.model.footer import Footer
from tests.harness.compiled_library import needs_compiled
from tests.harness.task_files import read_rows
from tests.unit.formats.written_files import FLOATS, PLAIN, plain_row, run_task, table_of, tail_of, written

CodecName = Literal["gzip", "zstd", "snappy", "none"]
CODECS: list[CodecName] = ["gzip", "zstd", "snappy", "none"]
TRAILED: list[CodecName] = ["gzip", "zstd"]
INNER = pa.struct([("at", pa.timestamp("us")), ("by", pa.map_(pa.string(), pa.list_(pa.decimal128(5, 2))))])
SCHEMA = pa.schema(
    [("N", pa.int64()), *list(PLAIN)[1:], ("whole", pa.int32()), ("deep", pa.list_(INNER)), ("one", INNER)]
)
TEXTS = ["", "Grüße", "\\N", "\n\x00", "\U0001f600" * 50]
TIMES = [
    datetime.datetime(1, 1, 1),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 1000),
    datetime.datetime(9999, 12, 31, 23, 59, 59, 999_000),
]
PRICES = [
    Decimal(text) for text in ("0E-10", "0.0000000127", "0.0000000128", "-0.0000000128", "-0.0000000129")
]
PRICES += [Decimal(f"{sign}9999999999999999999999999999.9999999999") for sign in ("", "-")]
LONGS = [0, -1, 63, 64, -65, 2**63 - 1, -(2**63)]


def row(number: int) -> dict[str, Any]:
    time, text = TIMES[number % 3], TEXTS[number % 5]
    inner = {"at": time, "by": [(text, [Decimal("-1.28"), None]), ("k", [])]}
    values = plain_row(number, time, text) | {
        "N": LONGS[number % 7],
        "price": PRICES[number % 7],
        "whole": number - 2**31,
        "deep": [None, inner, {"at": None, "by": None}][: number % 4],
        "one": inner if number % 3 else None,
    }
    return values if number % 11 else dict.fromkeys(values)


def table(count: int) -> pa.Table:
    return table_of(count, row, SCHEMA)


def options(codec: CodecName) -> WriterOptions:
    return WriterOptions(format="avro", compression=codec, timestamps="millis")


def file_of(groups: Sequence[pa.Table], codec: CodecName = "gzip", **metadata: str) -> bytes:
    return written(groups, options(codec), **metadata)


@needs_compiled
@pytest.mark.parametrize("codec", CODECS)
def test_every_value_is_read_back_whatever_the_row_groups(codec: CodecName) -> None:
    rows = table(300)
    data = file_of([rows.slice(0, 200), rows.slice(200, 1), rows.slice(201)], codec, kind="data")
    file = open_reader(data, "avro")
    assert (file.rows, file.schema, file.filled_columns()) == (300, SCHEMA, set(SCHEMA.names))
    read = pa.Table.from_batches(file.batches(SCHEMA.names, 70))
    assert read == rows
    assert "-0.0" in map(repr, read["double"].to_pylist())  # which compares equal to 0.0
    assert pa.Table.from_batches(file.batches(["price", "N"], 999)) == rows.select(["price", "N"])


@needs_compiled
@pytest.mark.parametrize("codec", ["gzip", "none"])  # for the others fastavro needs further packages
def test_fastavro_reads_a_whole_file_and_hive_finds_its_calendar(codec: CodecName) -> None:
    data = file_of([table(100)], codec)
    reader = fastavro.reader(io.BytesIO(data))
    found = list(reader)
    assert len(found) == 100
    for number, one in enumerate(found):
        wanted = row(number)
        assert list(one) == [name.lower() for name in SCHEMA.names]
        assert (one["n"], one["at"], one["day"]) == (wanted["N"], wanted["at"], wanted["day"])
        assert (one["price"], one["raw"], one["text"]) == (wanted["price"], wanted["raw"], wanted["text"])
        assert repr((one["double"], one["ratio"])) == repr((wanted["double"], wanted["ratio"]))
        inner = wanted["one"] and wanted["one"] | {"by": dict(wanted["one"]["by"])}
        assert one["one"] == inner
    wanted_pairs = {"writer.proleptic": "true", "writer.time.zone": "UTC", "avro.codec": reader.codec}
    assert wanted_pairs.items() <= reader.metadata.items()


def all_blocks(encode: Encode, batch: pa.RecordBatch, enough: int) -> list[tuple[int, bytes]]:
    found, start = [], 0
    while start < len(batch):
        found.append(encode(batch, start, enough))
        start += found[-1][0]
    assert encode(batch, start, enough) == (0, b"")
    return found


def by_fastavro(data: bytes, rows: int, parsed: Any) -> list[Any]:
    stream = io.BytesIO(data)
    found = [fastavro.schemaless_reader(stream, parsed, None) for _ in range(rows)]
    assert not stream.read()
    return found


@needs_compiled
def test_fastavro_reads_any_slice_of_any_rows() -> None:
    dice = random.Random(7)
    for _ in range(200):
        made = _Maker(dice)
        schema = pa.schema([(f"C{number}", made.type(0)) for number in range(dice.randint(1, 5))])
        count = dice.randint(1, 12)
        columns = [pa.array([made.value(f.type) for _ in range(count)], f.type) for f in schema]
        start = dice.randrange(count)
        batch = pa.record_batch(columns, schema).slice(start, dice.randint(0, count - start))
        enough = dice.choice((1, 30, 10_000))
        written = all_blocks(encoder(), batch, enough)
        parsed = fastavro.parse_schema(avro_schema(schema))
        theirs = [row for rows, data in written for row in by_fastavro(data, rows, parsed)]
        wanted = batch.to_pylist(maps_as_pydicts="strict")
        lower_case_spelling = [{name.lower(): value for name, value in row.items()} for row in wanted]
        assert repr(theirs) == repr(lower_case_spelling), schema  # -0.0 is equal to 0.0, NaN not to itself
        ours = [row for rows, data in written for row in decode(data, rows, schema)]
        assert repr(ours) == repr(batch.to_pylist()), schema


class _Maker:
    """Makes types and values near the edges, the same ones for the same dice."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    def type(self, depth: int) -> pa.DataType:
        plain = [f.type for f in SCHEMA if not pa.types.is_nested(f.type)] + [
            pa.int8(),
            pa.int16(),
            pa.decimal128(3, 3),
        ]
        match self._dice.randrange(10) if depth < 3 else 9:
            case 0:
                return pa.list_(self.type(depth + 1))
            case 1:
                return pa.map_(pa.string(), self.type(depth + 1))
            case 2:
                return pa.struct([(f"f{n}", self.type(depth + 1)) for n in range(self._dice.randint(1, 3))])
            case _:
                return self._dice.choice(plain)

    def value(self, kind: pa.DataType) -> Any:
        dice = self._dice
        if dice.random() < 0.2:
            return None
        if pa.types.is_map(kind):
            return [(f"k{n}", self.value(kind.item_type)) for n in range(dice.randrange(4))]
        if pa.types.is_list(kind):
            return [self.value(kind.value_type) for _ in range(dice.randrange(4))]
        if pa.types.is_struct(kind):
            return {field.name: self.value(field.type) for field in kind}
        if pa.types.is_decimal(kind):
            digits = dice.randrange(10 ** dice.randint(1, kind.precision)) * dice.choice((1, -1))
            return (
                Decimal(digits).scaleb(-kind.scale, context=None)
                if kind.precision < 28
                else Decimal(f"{digits}E-{kind.scale}")
            )
        if pa.types.is_integer(kind):
            most = 2 ** (kind.bit_width - 1)
            return dice.choice((0, most - 1, -most, dice.randrange(-most, most)))
        if pa.types.is_floating(kind):
            return dice.choice([*FLOATS, float("nan")])
        if pa.types.is_binary(kind):
            return dice.randbytes(dice.randrange(70))
        if pa.types.is_timestamp(kind):
            return dice.choice(TIMES)
        if pa.types.is_date(kind):
            return dice.choice(TIMES).date()
        return dice.choice((True, False)) if pa.types.is_boolean(kind) else dice.choice(TEXTS)


@needs_compiled
def test_parts_of_milliseconds_and_types_that_avro_lacks_are_never_written() -> None:
    rows = pa.record_batch({"at": pa.array([0, 1_000, 1_001], pa.timestamp("us"))})
    encode = encoder()
    assert encode(rows.slice(0, 2), 0, 100)[0] == 2
    with pytest.raises(ValueError, match=r"[Mm]illisecond"):
        encode(rows.slice(2), 0, 100)
    with pytest.raises(pa.ArrowException, match=r"[Mm]illisecond"):
        file_of([pa.Table.from_batches([rows])])
    for kind in (pa.timestamp("ns"), pa.map_(pa.int32(), pa.int32()), pa.uint64(), pa.large_string()):
        with pytest.raises(UNREADABLE, match="Avro files have no"):
            avro_schema(pa.schema([("x", kind)]))
    with pytest.raises(TypeError, match="rows of type U"):
        encode(pa.record_batch({"x": pa.array(["a"], pa.large_string())}), 0, 10)
    with pytest.raises(TypeError, match="rows with a dictionary"):
        encode(pa.record_batch({"x": pa.array(["a"]).dictionary_encode()}), 0, 10)


@needs_compiled
def test_blocks_are_small_enough_for_a_readers_memory() -> None:
    rows = pa.table({"text": ["x" * 1_000] * 6_000})
    found = read_container(file_of([rows], "none")).blocks
    assert sum(block.rows for block in found) == 6_000
    assert 20 < len(found) < 40 and max(len(block.data) for block in found) < 300_000


@needs_compiled
@pytest.mark.parametrize("codec", TRAILED)
def test_the_end_of_a_file_holds_its_rows_and_metadata_of_any_length(codec: CodecName) -> None:
    for pairs in ({"kind": "data"}, {"kind": "data", "long": "é" * 200_000}):
        data = file_of([table(30)], codec, **pairs)
        end = end_of("avro", len(data), tail_of(data))
        assert end is not None and end.rows == 30
        assert end.metadata == {key.encode(): value.encode() for key, value in pairs.items()}
        *_, last = blocks(data, data[-16:], data.index(data[-16:]) + 16)
        assert last.rows == 0 and decompress(last.data, AVRO_CODECS[codec]) == b""
        if codec == "gzip":
            assert len(list(fastavro.reader(io.BytesIO(data)))) == 30


@needs_compiled
@pytest.mark.parametrize("codec", ["snappy", "none"])
def test_a_file_whose_codec_has_no_room_for_a_trailer_has_no_end(codec: CodecName) -> None:
    data = file_of([table(30)], codec, kind="data")
    with pytest.raises(UNREADABLE, match="no trailer"):
        end_of("avro", len(data), tail_of(data))
    assert open_reader(data).rows == 30


@pytest.mark.parametrize("codec", TRAILED)
def test_a_cut_or_changed_trailer_is_read_or_unreadable(codec: str) -> None:
    data = trailer_block(codec, b'{"rows": 3, "metadata": {"kind": "data"}}', bytes(range(16)))
    assert avro_end(len(data), tail_of(data)).rows == 3
    for cut in range(len(data)):
        with pytest.raises(UNREADABLE):
            avro_end(cut, tail_of(data[:cut]))
    for at in range(len(data)):
        for change in (1, 64, 255):
            broken = bytearray(data)
            broken[at] ^= change
            try:
                avro_end(len(data), tail_of(bytes(broken)))
            except UNREADABLE:
                continue


@needs_compiled
@pytest.mark.parametrize("codec", CODECS)
def test_a_damaged_file_is_read_or_unreadable(codec: CodecName) -> None:
    data, dice = file_of([table(20)], codec), random.Random(3)
    for _ in range(400):
        broken = bytearray(data)
        for _ in range(dice.randint(1, 3)):
            broken[dice.randrange(len(data))] = dice.randrange(256)
        part = bytes(broken[: dice.choice((len(data), dice.randrange(len(data))))])
        try:
            file = open_reader(part, "avro")
            list(file.batches(file.schema.names, 50))
        except UNREADABLE:
            continue


@needs_compiled
@pytest.mark.parametrize("codec", TRAILED)
def test_a_file_that_lost_a_block_is_unreadable(codec: CodecName) -> None:
    rows = pa.table({"n": pa.array(range(200_000), pa.int64())})
    data = file_of([rows], codec)
    mark = data[-16:]
    first = data.index(mark) + 16
    lost = data[:first] + data[data.index(mark, first) + 16 :]
    assert sum(block.rows for block in blocks(lost, mark, first)) < 200_000
    with pytest.raises(UNREADABLE, match="by the trailer"):
        open_reader(lost)


@needs_compiled
def test_a_file_whose_columns_differ_from_its_avro_schema_is_unreadable() -> None:
    data = file_of([table(5)]).replace(b'"whole"', b'"whale"')
    assert open_reader(data).rows == 5
    with pytest.raises(UNREADABLE, match="Avro's schema differs"):
        list(open_reader(data).batches(["N"], 10))


@needs_compiled
def test_a_file_without_rows_is_read() -> None:
    for codec in CODECS:
        file = open_reader(file_of([table(5).slice(0, 0)], codec), "avro")
        assert (file.rows, file.schema, list(file.batches(["N"], 10))) == (0, SCHEMA, [])


@needs_compiled
@pytest.mark.parametrize("codec", TRAILED)
def test_a_task_writes_avro_with_its_footer_and_finer_times_as_dead_letters(codec: CodecName) -> None:
    values = [
        b'{"n": 1, "at": "2013-01-01T05:00:00.123"}',
        b'{"n": 2, "at": "2013-01-01T05:00:00.1234"}',
        b'{"n": 3, "at": null}',
    ]
    columns = (("n", "int"), ("at", "timestamp"))
    files, manifest = run_task(options(codec), columns, values)
    (file,) = (file for file in manifest.files if file.kind is FileKind.DATA)
    assert file.staged.endswith(".avro.pending") and file.final.endswith(".avro.final")
    (letter,) = read_rows(files, manifest, FileKind.DEAD_LETTER)
    assert (letter["offset"], letter["reason"]) == (1, "avro.timestamp")
    assert letter["detail"] == "column at is not a whole number of milliseconds"
    data = files.read(file.staged)
    end = end_of("avro", len(data), tail_of(data))
    footer = Footer.parse(end.metadata) if end else None
    assert footer is not None and footer.rows == 2 and footer.accounts is not None
    (batch,) = open_reader(data).batches(["n"], 9)
    assert batch["n"].to_pylist() == [1, 3]


def test_an_executor_without_the_library_sets_the_table_aside() -> None:
    with pytest.raises(TableError, match=r"on .*: Avro files are written by the compiled library") as caught:
        encoder(library=None)
    assert caught.value.code == "native.missing"
