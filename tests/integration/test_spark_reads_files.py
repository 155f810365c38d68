"""Spark's own readers on files of every format: the rows that were written, value by value."""

import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from kafka2hive.config.keys import SparkOptions, WriterOptions
from kafka2hive.formats.files import encoding_of
from kafka2hive.spark.jvm import launched
from kafka2hive.spark.session import start_session

FLAT = pa.schema(
    [
        ("n", pa.int64()),
        ("text", pa.string()),
        ("at", pa.timestamp("us")),
        ("day", pa.date32()),
        ("price", pa.decimal128(20, 4)),
        ("ratio", pa.float64()),
        ("flag", pa.bool_()),
    ]
)
DEEP = pa.schema(
    [*FLAT, ("raw", pa.binary()), ("deep", pa.list_(pa.struct([("a", pa.int32()), ("b", pa.string())])))]
)
COUNT = 500
PARQUET = {
    "micros": WriterOptions(),
    "millis": WriterOptions(timestamps="millis"),
    "int96": WriterOptions(timestamps="int96"),
    "options": WriterOptions(
        sorted_by=("text", "n"),
        page_index=True,
        bloom_filter=("n", "text", "at"),
        dictionary=(("text", False),),
        compression="snappy",
    ),
}
HIVE_TYPES = (
    "n bigint, text string, at timestamp_ntz, day date, price decimal(20,4), ratio double, flag boolean"
)


def row(number: int) -> dict[str, Any]:
    time = datetime.datetime(2013, 1, 1, 5, 0, 0, 123_000) + datetime.timedelta(hours=number)
    values = {
        "n": number,
        "text": ["", "Grüße", 'a,"b"\\', "\n", "\t"][number % 5],
        "at": time,
        "day": time.date(),
        "price": Decimal(f"{number}.0001"),
        "ratio": number / 7,
        "flag": number % 2 == 0,
        "raw": bytes([number % 256]),
        "deep": [None, {"a": number, "b": None}],
    }
    return values if number % 11 else dict.fromkeys(values) | {"n": number}


ROWS = pa.Table.from_pylist([row(number) for number in range(COUNT)], schema=DEEP)


def write(path: Path, rows: pa.Table, options: WriterOptions) -> str:
    encoding = encoding_of(options)
    _, _, codec = encoding.extension.partition(".")
    name = f"x.{options.format}.final{codec and '.'}{codec}"
    with pa.OSFile(str(path / name), "wb") as stream:
        file = encoding.open(stream, rows)
        file.write(rows.slice(0, COUNT // 2))
        file.write(rows.slice(COUNT // 2))
        assert file.end({"kafka2hive.kind": "data"}) == COUNT
    return f"file://{path / name}"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    options = SparkOptions(master="local[1]")
    with launched(options, "files-test") as jvm:
        session = start_session(options, "files-test", tmp_path_factory.mktemp("spark"), jvm.connect())
    session.conf.set("spark.sql.session.timeZone", "UTC")
    yield session
    session.stop()


def assert_rows(found: DataFrame, wanted: pa.Table) -> None:
    collected = [one.asDict(recursive=True) for one in found.orderBy("n").collect()]
    for one in collected:
        for name, value in one.items():
            if isinstance(value, bytearray):
                one[name] = bytes(value)
            if isinstance(value, datetime.datetime):
                one[name] = value.replace(tzinfo=None)
    assert collected == wanted.to_pylist()


@pytest.mark.parametrize("name", PARQUET)
def test_spark_reads_parquet(spark: SparkSession, tmp_path: Path, name: str) -> None:
    found = spark.read.parquet(write(tmp_path, ROWS, PARQUET[name]))
    kinds = dict(found.dtypes)
    assert kinds["at"] == ("timestamp" if name == "int96" else "timestamp_ntz")
    assert_rows(found, ROWS)
    assert found.where("n = 17").count() == 1 and found.where("n = -1").count() == 0


def test_spark_reads_orc(spark: SparkSession, tmp_path: Path) -> None:
    assert_rows(spark.read.orc(write(tmp_path, ROWS, WriterOptions(format="orc"))), ROWS)


@pytest.mark.parametrize("compression", ["gzip", "none"])
def test_spark_reads_json_lines(spark: SparkSession, tmp_path: Path, compression: str) -> None:
    options = WriterOptions(format="json", compression=compression)  # type: ignore[arg-type]  # one of them
    types = f"{HIVE_TYPES}, raw binary, deep array<struct<a:int,b:string>>"
    reader = spark.read.schema(types).option("timestampNTZFormat", "yyyy-MM-dd HH:mm:ss.SSSSSS")
    assert_rows(reader.json(write(tmp_path, ROWS, options)), ROWS)
