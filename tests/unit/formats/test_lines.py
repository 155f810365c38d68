"""Files of lines, JSON and delimited text: their content, reading it back, and the trailer."""

import base64
import csv
import datetime
import gzip
import io
import json
import random
from decimal import Decimal
from typing import Any, Literal

import pyarrow as pa
import pytest

from kafka2hive.config.keys import FileFormat, TextOptions, WriterOptions
from kafka2hive.formats.contract.trailer import SCHEMA_KEY, payload_of, schema_text
from kafka2hive.formats.files import UNREADABLE, end_of, open_reader
from kafka2hive.formats.lines.codec import gzip_trailer, line_codec, read_trailer, zstd_trailer
from kafka2hive.formats.lines.delimited import null_texts
from kafka2hive.formats.lines.files import FORMAT_KEY, LinesEncoder, PlainLines
from kafka2hive.formats.lines.json import json_lines
from kafka2hive.formats.lines.texts import base64_texts
from kafka2hive.model.files import FileKind
from kafka2hive.model.footer import Footer
from kafka2hive.plan.contract import TableManifest
from tests.harness.task_files import MemoryFiles, read_rows
from tests.unit.formats.written_files import PLAIN, plain_row, run_task, table_of, tail_of, written

CodecName = Literal["gzip", "zstd", "none"]
CODECS: list[CodecName] = ["gzip", "zstd", "none"]
INNER = pa.struct([("At", pa.timestamp("us")), ("by", pa.map_(pa.string(), pa.list_(pa.int8())))])
DEEP = pa.schema([*PLAIN, ("deep", pa.list_(INNER)), ("days", pa.map_(pa.date32(), pa.binary()))])
SCHEMAS: dict[FileFormat, pa.Schema] = {"json": DEEP, "text": PLAIN}
FORMATS: list[FileFormat] = ["json", "text"]
TEXTS = ["", "Grüße", "\\N", "a,b", 'q"\\', "\n\r\n", "\\n", "\t\x00\x1f", "null", "\u2028", " ", "\\", ","]
TIMES = [
    datetime.datetime(1, 1, 1),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 1),
    datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999),
]


def row(number: int) -> dict[str, Any]:
    time, text = TIMES[number % len(TIMES)], TEXTS[number % len(TEXTS)]
    values = plain_row(number, time, text)
    values |= {
        "deep": [None, {"At": time, "by": [(text, [number % 100, None])]}, {"At": None, "by": None}],
        "days": [(time.date(), values["raw"]), (datetime.date(2000, 2, 29), None)],
    }
    return values if number % 11 else dict.fromkeys(values)


def table(count: int, schema: pa.Schema = DEEP) -> pa.Table:
    return table_of(count, row, DEEP).select(schema.names)


def lines_of(data: bytes, codec: CodecName) -> list[str]:
    """Decompress a file with other readers than ours: Python's gzip, Arrow's zstd."""
    if codec == "gzip":
        data = gzip.decompress(data)
    elif codec == "zstd":
        data = pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()
    assert data.endswith(b"\n")
    return data.decode().split("\n")[:-1]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("format", FORMATS)
def test_every_value_is_read_back_whatever_the_row_groups(format: FileFormat, codec: CodecName) -> None:
    schema = SCHEMAS[format]
    rows = table(1_000, schema)
    options = WriterOptions(format=format, compression=codec)
    data = written([rows.slice(0, 700), rows.slice(700, 1), rows.slice(701)], options, kind="data")
    ours = open_reader(data, format, PlainLines(schema, options))
    assert (ours.rows, ours.schema) == (1_000, schema)
    read = pa.Table.from_batches(ours.batches(schema.names, 300))
    assert read == rows
    assert "-0.0" in map(repr, read["double"].to_pylist())  # which compares equal to 0.0
    names = ["price", "n"]
    assert pa.Table.from_batches(ours.batches(names, 999)) == rows.select(names)
    assert len(lines_of(data, codec)) == 1_000


def test_pythons_json_reader_reads_the_lines() -> None:
    lines = lines_of(written([table(100)], WriterOptions(format="json", compression="gzip")), "gzip")
    for number, line in enumerate(lines):
        found, wanted = json.loads(line), row(number)
        assert list(found) == DEEP.names
        assert found["text"] == wanted["text"] and found["n"] == wanted["n"]
        if wanted["n"] is None:
            assert set(found.values()) == {None}
            continue
        assert Decimal(found["price"]) == wanted["price"] and isinstance(found["price"], str)
        assert base64.b64decode(found["raw"]) == wanted["raw"]
        assert datetime.datetime.fromisoformat(found["at"]) == wanted["at"]
        assert float(found["double"]) == wanted["double"]
        assert list(found["deep"][1]["by"]) == [wanted["text"]]
        assert found["deep"][0] is None and found["deep"][2] == {"At": None, "by": None}
        assert list(found["days"]) == [wanted["day"].isoformat(), "2000-02-29"]


def test_numbers_that_json_lacks_are_texts() -> None:
    column = pa.array([float("nan"), float("-inf"), None, 1.5])
    (lines,) = [json_lines(pa.schema([("x", pa.float64())]))(pa.record_batch({"x": column}))]
    assert lines.to_pylist() == ['{"x":"NaN"}\n', '{"x":"-Infinity"}\n', '{"x":null}\n', '{"x":1.5}\n']


def test_slices_of_nested_columns_are_written_correctly() -> None:
    generator, whole = random.Random(1), table(200)
    encode = json_lines(DEEP)
    every = encode(whole.combine_chunks().to_batches()[0]).to_pylist()
    for _ in range(40):
        start, count = generator.randrange(200), generator.randrange(1, 60)
        (batch,) = whole.slice(start, count).to_batches()
        assert encode(batch).to_pylist() == every[start : start + count]


def test_pythons_csv_reads_delimited_text_without_escapes() -> None:
    rows = pa.table({"a": ["x", "", None], "b": pa.array([1, None, 3]), "c": [True, False, None]})
    (data,) = [written([rows], WriterOptions(format="text", compression="none"))]
    read = list(csv.reader(io.StringIO(data.decode()), quoting=csv.QUOTE_NONE))
    assert read == [["x", "1", "true"], ["", r"\N", "false"], [r"\N", "3", r"\N"]]


def test_what_would_end_a_field_or_a_line_is_escaped() -> None:
    rows = pa.table({"a": ["a,b\\", "\n\r", "\\N"], "b": ["", "|", "x"]})
    options = WriterOptions(format="text", compression="none")
    assert written([rows], options) == b"a\\,b\\\\,\n\\n\\r,|\n\\\\N,x\n"
    other = WriterOptions(format="text", compression="none", text=TextOptions(delimiter="|", escape="~"))
    assert written([rows], other) == b"a,b\\|\n~n~r|~|\n\\N|x\n"


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
@pytest.mark.parametrize("format", FORMATS)
def test_the_end_of_a_file_holds_its_rows_and_metadata_of_any_length(
    format: FileFormat, codec: CodecName
) -> None:
    rows = table(30, SCHEMAS[format])
    pairs = {"kind": "data", "long": "é" * 200_000}
    data = written([rows], WriterOptions(format=format, compression=codec), **pairs)
    suffix = {"gzip": "gz", "zstd": "zst"}[codec]
    end = end_of(f"{format}.{suffix}", len(data), tail_of(data))
    assert end is not None and end.rows == 30
    assert pairs.items() <= {key.decode(): value.decode() for key, value in end.metadata.items()}.items()
    assert end_of(format, len(data), tail_of(data)) is None
    assert len(lines_of(data, codec)) == 30


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_cut_or_changed_trailer_is_read_or_unreadable(
    codec: CodecName,
) -> None:
    make = gzip_trailer if codec == "gzip" else zstd_trailer
    data = make(b'{"rows": 3, "metadata": {"kind": "data"}}')
    assert read_trailer(codec, len(data), tail_of(data)).rows == 3
    for cut in range(len(data)):
        with pytest.raises(UNREADABLE):
            read_trailer(codec, cut, tail_of(data[:cut]))
    for at in range(len(data)):
        for change in (1, 64, 255):
            broken = bytearray(data)
            broken[at] ^= change
            try:
                read_trailer(codec, len(data), tail_of(bytes(broken)))
            except UNREADABLE:
                continue


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_file_that_lost_or_gained_lines_is_unreadable(codec: CodecName) -> None:
    rows = table(50, PLAIN)
    options = WriterOptions(format="text", compression=codec)
    one, other = written([rows], options), written([rows.slice(0, 20)], options)
    for joined in (one + other, other + one):
        with pytest.raises(UNREADABLE, match="by the trailer"):
            open_reader(joined)
    with pytest.raises(UNREADABLE):
        open_reader(one[: len(one) // 2])


@pytest.mark.parametrize("name", [b"text", b"At"])
def test_a_file_with_a_damaged_name_in_its_schema_is_unreadable(name: bytes) -> None:
    pairs = {FORMAT_KEY: "json", SCHEMA_KEY: schema_text(DEEP)}
    data = gzip.compress(b"{}\n") + gzip_trailer(payload_of(1, pairs))
    assert open_reader(data).schema == DEEP
    damaged = bytes(DEEP.serialize()).replace(name, b"\xff" * len(name))
    pairs[SCHEMA_KEY] = base64.b64encode(damaged).decode()
    with pytest.raises(UNREADABLE, match="the trailer does not say the columns"):
        open_reader(gzip.compress(b"{}\n") + gzip_trailer(payload_of(1, pairs)))


def test_a_file_without_compression_has_columns_only_from_its_table() -> None:
    for format in FORMATS:
        schema = SCHEMAS[format]
        options = WriterOptions(format=format, compression="none")
        data = written([table(5, schema)], options)
        assert open_reader(data, format).rows == 5
        with pytest.raises(UNREADABLE, match="does not say its columns"):
            _ = open_reader(data, format).schema
        later = pa.schema([*schema, ("added", pa.string())])
        assert open_reader(data, format, PlainLines(later, options)).schema == schema
        with pytest.raises(UNREADABLE, match="has no end"):
            open_reader(data[:-1], format)


@pytest.mark.parametrize("codec", CODECS)
def test_a_file_without_rows_is_read(codec: CodecName) -> None:
    options = WriterOptions(format="json", compression=codec)
    data = written([table(5).slice(0, 0)], options)
    file = open_reader(data, "json", PlainLines(DEEP, options))
    assert (file.rows, file.schema, list(file.batches(["n"], 10))) == (0, DEEP, [])


def test_base64_of_a_column_is_that_of_each_value() -> None:
    generator = random.Random(2)
    for _ in range(200):
        values = [
            None if generator.random() < 0.2 else generator.randbytes(generator.randrange(8))
            for _ in range(generator.randrange(9))
        ]
        column = pa.array([b"before", *values, b"after"], pa.binary()).slice(1, len(values))
        wanted = [None if value is None else base64.b64encode(value).decode() for value in values]
        assert base64_texts(column).to_pylist() == wanted


def run(options: WriterOptions, values: list[bytes]) -> tuple[MemoryFiles, TableManifest]:
    return run_task(options, (("n", "int"), ("s", "string")), values)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("format", FORMATS)
def test_a_task_stages_lines_under_names_that_end_with_their_codec(
    format: FileFormat, codec: CodecName
) -> None:
    files, manifest = run(
        WriterOptions(format=format, compression=codec), [b'{"n": 1, "s": "a"}', b"x", b'{"n": 2}']
    )
    (file,) = (file for file in manifest.files if file.kind is FileKind.DATA)
    suffix = {"gzip": ".gz", "zstd": ".zst", "none": ""}[codec]
    assert file.staged.endswith(f".{format}.pending{suffix}")
    assert file.final.endswith(f".{format}.final{suffix}")
    assert file.rows == 2
    assert len(read_rows(files, manifest, FileKind.DEAD_LETTER)) == 1
    data = files.read(file.staged)
    end = end_of(f"{format}{suffix}", len(data), tail_of(data))
    if codec == "none":
        assert end is None
        return
    assert end is not None
    footer = Footer.parse(end.metadata)
    assert footer is not None and footer.rows == end.rows == 2 and footer.table == "db.t"


def test_a_value_with_the_text_of_null_is_a_dead_letter() -> None:
    options = WriterOptions(format="text", compression="gzip", text=TextOptions(null_text="NULL"))
    values = [b'{"n": 1, "s": "NULL"}', b'{"n": 2, "s": "null"}', b'{"n": null, "s": null}']
    files, manifest = run(options, values)
    (letter,) = read_rows(files, manifest, FileKind.DEAD_LETTER)
    assert (letter["offset"], letter["reason"], letter["detail"]) == (
        0,
        "text.null",
        "column s has the text that stands for NULL",
    )
    (file,) = (file for file in manifest.files if file.kind is FileKind.DATA)
    assert gzip.decompress(files.read(file.staged)) == b"2,null\nNULL,NULL\n"


def test_any_texts_with_any_delimiter_escape_and_null_are_read_back_or_refused() -> None:
    generator, refused = random.Random(5), 0
    letters = "aé\\\n\r\t,|~^!\"'Nnr\x01\x00 \U0001f600"
    for _ in range(600):
        options = _any_text_options(generator)
        columns = range(generator.randrange(1, 4))
        count = generator.randrange(1, 6)
        rows = pa.table({f"c{number}": _any_texts(generator, letters, count) for number in columns})
        bad = [null_texts(column.combine_chunks(), options) for column in rows.columns]
        kept = [not any(one is not None and one[number] for one in bad) for number in range(count)]
        refused += count - sum(kept)
        rows = rows.filter(pa.array(kept))
        written_as = WriterOptions(format="text", compression=generator.choice(CODECS), text=options)
        for form in (written_as, WriterOptions(format="json", compression="none")):
            file = open_reader(written([rows], form), form.format, PlainLines(rows.schema, form))
            assert pa.Table.from_batches(file.batches(rows.column_names, 3), rows.schema) == rows, options
    assert refused > 50


def _any_text_options(generator: random.Random) -> TextOptions:
    """Return a form that `validate` accepts."""
    while True:
        delimiter, escape = generator.choice(",;|~^\t\x01"), generator.choice("\\!\"'^~")
        null = generator.choice(
            ["\\N", "", "NULL", "n", "aN", f"{escape}N", f"{escape}{escape}a", f"{escape}n"]
        )
        if delimiter != escape and delimiter not in null and not null.endswith(escape):
            return TextOptions(delimiter, escape, null)


def _any_texts(generator: random.Random, letters: str, count: int) -> pa.Array:
    texts = [
        None
        if generator.random() < 0.15
        else "".join(generator.choice(letters) for _ in range(generator.randrange(6)))
        for _ in range(count)
    ]
    return pa.array(texts, pa.string())


@pytest.mark.parametrize("lines", [["a\n", "b\nc\n"], ["a\n", "b"]])
def test_rows_are_counted_by_the_line_ends_in_the_file(lines: list[str]) -> None:
    """A row with more or fewer line ends is another number of rows for a reader, so the counts must differ."""
    rows = pa.table({"n": pa.array([1, 2])})
    sink = pa.BufferOutputStream()
    encoder = LinesEncoder(sink, rows.schema, lambda batch: pa.array(lines), line_codec("none", None), {})
    encoder.write(rows)
    assert encoder.end({}) == "".join(lines).count("\n") != len(rows)
