"""Random nested rows through every decoder and every writer, read by what is not the writer: the records' own values.

Parquet and ORC are read by Arrow's readers (Spark's and Hive's: tests/integration), Avro by fastavro, lines by Python.
"""

import base64
import datetime
import gzip
import io
import itertools
import json
import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from kafka2hive.config.keys import WriterOptions
from kafka2hive.formats.files import encoding_of
from tests.contract.decode_ways import WAYS
from tests.contract.file_rows import FileRows, as_message
from tests.harness.compiled_library import needs_compiled

Rows = list[dict[str, Any]]

ROWS = 150
WRITERS = {
    "parquet": WriterOptions(),
    "parquet_int96": WriterOptions(timestamps="int96", compression="snappy"),
    "orc": WriterOptions(format="orc"),
    "avro": WriterOptions(format="avro", compression="gzip", timestamps="millis"),
    "json": WriterOptions(format="json", compression="gzip"),
    "text": WriterOptions(format="text", compression="none"),
}


def of_avro(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {field.name: of_avro(value[field.name], field.type) for field in kind}
    if pa.types.is_map(kind):
        return [(key, of_avro(item, kind.item_type)) for key, item in value.items()]
    if pa.types.is_list(kind):
        return [of_avro(item, kind.value_type) for item in value]
    return value


def of_text(value: str, kind: pa.DataType) -> Any:
    if pa.types.is_integer(kind):
        return int(value)
    if pa.types.is_floating(kind):
        return float(value)
    if pa.types.is_boolean(kind):
        return {"true": True, "false": False}[value]
    if pa.types.is_binary(kind):
        return base64.b64decode(value)
    if pa.types.is_decimal(kind):
        return Decimal(value)
    if pa.types.is_date(kind):
        return datetime.date.fromisoformat(value)
    return datetime.datetime.fromisoformat(value) if pa.types.is_timestamp(kind) else value


def of_json(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {field.name: of_json(value[field.name], field.type) for field in kind}
    if pa.types.is_map(kind):
        return [(key, of_json(item, kind.item_type)) for key, item in value.items()]
    if pa.types.is_list(kind):
        return [of_json(item, kind.value_type) for item in value]
    if pa.types.is_floating(kind):
        return float(value)
    return of_text(value, kind) if isinstance(value, str) else value


def fields_of(line: str) -> Iterator[str | None]:
    """The fields of a line of text, by the rules of LazySimpleSerDe; None for NULL."""
    raw, plain, characters = "", "", iter(line)
    for character in characters:
        if character == ",":
            yield None if raw == "\\N" else plain
            raw = plain = ""
        elif character == "\\":
            other = next(characters)
            raw, plain = raw + character + other, plain + {"n": "\n", "r": "\r"}.get(other, other)
        else:
            raw, plain = raw + character, plain + character
    yield None if raw == "\\N" else plain


def read(data: bytes, format: str, schema: pa.Schema) -> Rows:
    match format:
        case "parquet":
            file = pq.ParquetFile(io.BytesIO(data), coerce_int96_timestamp_unit="us")
            return list(file.read().cast(schema).to_pylist())
        case "orc":
            return list(orc.ORCFile(io.BytesIO(data)).read().cast(schema).to_pylist())
        case "avro":
            last = [row for row in fastavro.reader(io.BytesIO(data)) if isinstance(row, dict)]
            return [{f.name: of_avro(row[f.name.lower()], f.type) for f in schema} for row in last]
        case "json":
            lines = gzip.decompress(data).splitlines()
            return [{f.name: of_json(row[f.name], f.type) for f in schema} for row in map(json.loads, lines)]
    texts = [list(fields_of(line)) for line in data.decode().split("\n")[:-1]]
    return [
        {f.name: None if text is None else of_text(text, f.type) for f, text in zip(schema, row, strict=True)}
        for row in texts
    ]


def decode(way: str, schema: pa.Schema, messages: list[bytes]) -> pa.RecordBatch:
    decoded = WAYS[way](schema, "UTC").decode(pa.array(messages, pa.binary()))
    assert not len(decoded.reasons), decoded.reasons
    return decoded.rows


def file_of(tables: list[pa.Table], options: WriterOptions) -> bytes:
    """A row group of each table."""
    sink = pa.BufferOutputStream()
    file = encoding_of(options).open(sink, tables[0])
    for rows in tables:
        file.write(rows)
    assert file.end({"kafka2hive.kind": "data"}) == sum(map(len, tables))
    return bytes(sink.getvalue())


def in_slices(rows: pa.RecordBatch, dice: random.Random) -> list[pa.Table]:
    """The same rows as two row groups of several batches, most of which begin in the middle of their memory."""
    cuts = sorted({0, len(rows), *(dice.randrange(len(rows)) for _ in range(5))})
    batches = [rows.slice(a, b - a) for a, b in itertools.pairwise(cuts)]
    return [pa.Table.from_batches(part) for part in (batches[:2], batches[2:]) if part]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "writer", [pytest.param(name, marks=needs_compiled if name == "avro" else ()) for name in WRITERS]
)
@pytest.mark.parametrize("seed", range(15))
def test_readers_find_the_values_of_the_records(seed: int, writer: str, way: str) -> None:
    dice = random.Random(f"{seed} {writer}")
    made = FileRows(dice, nested=0 if writer == "text" else 4)
    rows, schema = made.rows(ROWS), made.schema
    decoded = decode(way, schema, [as_message(row, schema, dice) for row in rows])
    found = read(file_of(in_slices(decoded, dice), WRITERS[writer]), WRITERS[writer].format, schema)
    for one, wanted in zip(found, rows, strict=True):
        assert repr(one) == repr(wanted)  # -0.0 is not 0.0
