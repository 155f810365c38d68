"""What a task writes to HDFS is what HiveServer2 reads back: every type, timestamps to the microsecond, dead letters."""

import datetime
import itertools
from base64 import b64encode
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from typing import Literal

import orjson
import pyarrow as pa

from kafka2hive.config.dead_letters import DEAD_LETTER_COLUMNS, DEAD_LETTER_PARTITIONS
from kafka2hive.config.keys import (
    Bucketing,
    Column,
    FileFormat,
    MetadataColumn,
    StorageOptions,
    TableSettings,
    TextOptions,
    Tombstones,
    WriterOptions,
)
from kafka2hive.decode.json import JsonExactDecoder
from kafka2hive.formats.files import encoding_of
from kafka2hive.hive.stored_as import Reader, storage_clause, unread
from kafka2hive.model.files import FileKind
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.plan.contract import TaskPlan
from kafka2hive.task import run_task
from kafka2hive.task.run import process_files
from tests.harness.task_files import offsets, table_task
from tests.integration.real_task import promote, settings_below
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.jars import IS_OLD_HIVE
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

# Hive before 4 finds no names with capital letters in ORC and JSON
MIXED, AT = ("mixed", "at") if IS_OLD_HIVE else ("Mixed", "At")
COLUMNS = (
    Column("id", "bigint"),
    Column("at", "timestamp"),
    Column("day", "date"),
    Column("price", "decimal(10,2)"),
    Column("ratio", "double"),
    Column("flag", "boolean"),
    Column("name", "string"),
    Column("tags", "array<string>"),
    Column("attrs", "map<string,int>"),
    Column("place", "struct<x:int,label:string>"),
    Column("tiny", "tinyint"),
    Column("small", "smallint"),
    Column("whole", "int"),
    Column("single", "float"),
    Column("code", "char(4)"),
    Column("short", "varchar(3)"),
    Column(MIXED, "bigint"),
    Column("deep", f"array<struct<{AT}:timestamp,amount:decimal(38,10),m:map<string,array<date>>>>"),
)
TIMES = [
    "2013-01-01T05:00:00.123456",
    "1969-12-31T23:59:59.000001",
    "1900-01-01T00:00:00",
    "2999-12-31T23:59:59.999999",
    "9999-12-31T23:59:59.999999",
    "1582-10-04T01:02:03",
    "1582-10-15T00:00:00",
    "0001-01-01T00:00:00",
    "2013-01-01T05:00:00.123",
]
NOT_IN_ORC = [1]
"""The times that Hive could not read from an ORC file: dead letters."""
NOT_IN_MILLIS = [0, 1, 3, 4]
JULIAN = "1582-10-15"
"""Of earlier days in Parquet files, and of earlier times in INT96, Hive makes others."""
CODECS: list[Literal["zstd", "snappy", "gzip", "lz4", "none"]] = ["zstd", "snappy", "gzip", "lz4", "none"]
FORMATS: tuple[FileFormat, ...] = ("parquet", "orc")
WRITERS = {
    f"{format}_{codec}": WriterOptions(format=format, compression=codec)
    for format, codec in itertools.product(FORMATS, CODECS)
} | {
    "json_gzip": WriterOptions(format="json", compression="gzip", level=9),
    "json_none": WriterOptions(format="json", compression="none"),
    "parquet_int96": WriterOptions(timestamps="int96"),
    "parquet_millis": WriterOptions(timestamps="millis"),
    "parquet_options": WriterOptions(
        level=9,
        sorted_by=("name", "id"),
        dictionary=(("name", False), ("place", True)),
        page_index=True,
        bloom_filter=("id", "name", "price", "at", "day", "tiny", "ratio", "k_key"),
    ),
}
"""By the end of the table's name."""
if IS_OLD_HIVE:  # what `validate --online` does not warn of must be read
    int96 = {
        name: replace(writer, timestamps="int96") if writer.format == "parquet" else writer
        for name, writer in WRITERS.items()
    }
    old = Reader(is_old=True, shifts_int96=False)
    WRITERS = {name: writer for name, writer in int96.items() if unread(old, writer, COLUMNS) is None}


def not_held(writer: WriterOptions) -> list[int]:
    if writer.format == "orc":
        return NOT_IN_ORC
    return NOT_IN_MILLIS if writer.timestamps == "millis" else []


def record(number: int, time: str) -> dict[str, object]:
    return {
        "id": number,
        "at": time,
        "day": time[:10],
        "price": 12345678.25,
        "ratio": 0.1,
        "flag": number % 2 == 0,
        "name": "Grüße",
        "tags": ["a", None, "ä"],
        "attrs": {"k": number},
        "place": {"x": number, "label": None},
        "tiny": -128,
        "small": 32767,
        "whole": -(2**31),
        "single": 0.5,
        "code": "ab",
        "short": "xyz",
        MIXED: 2**63 - 1,
        "deep": [
            None,
            {AT: time, "amount": "1234567890123456789012345678.0123456789", "m": {"d": [time[:10], None]}},
        ],
    }


def create(
    hive: HiveServer,
    table: str,
    columns: tuple[Column, ...],
    levels: tuple[str, ...],
    where: str,
    format: FileFormat = "parquet",
) -> None:
    names = ", ".join(f"`{column.name}` {column.type}" for column in columns)
    by = ", ".join(f"`{level}` string" for level in levels)
    hive.query(
        f"create external table {table} ({names}) partitioned by ({by}) {storage_clause(format, TextOptions())}"
        f" location '{where}'"
    )
    hive.query(f"msck repair table {table}")


IN_A_JOB = "set hive.fetch.task.conversion=none"
NESTED = (
    Column("id", "bigint"),
    Column("nest", "struct<q:struct<r:bigint,s:array<struct<t:struct<u:string>>>>>"),
    Column("named", "map<string,struct<q:struct<r:bigint>>>"),
)


def nested_row(number: int) -> dict[str, object]:
    """No outer struct is NULL, while many inner ones are."""
    texts = [{"t": None}, {"t": {"u": f"u{number}"}}]
    inner = None if number % 5 == 0 else {"r": number, "s": None if number % 7 == 0 else texts}
    return {
        "id": number,
        "nest": {"q": inner},
        "named": {"k": {"q": None if number % 3 == 0 else {"r": -number}}} if number % 4 else {},
    }


def test_hive_reads_nested_nulls_fetched_and_in_a_job(
    hdfs: Hdfs, hive: HiveServer, hive_database: str
) -> None:
    """Of records of which the exact decoder made the rows: their arrays hold values beneath NULLs."""
    base = f"{hdfs.namenode_url}/{hive_database}"
    files = process_files(
        StorageOptions(hdfs.namenode_url, base, base, tuple(hdfs.client_properties.items()))
    )
    schema = pa.schema([(column.name, parse_hive_type(column.type)) for column in NESTED])
    decoder = JsonExactDecoder(schema, "UTC")
    outcomes = [decoder.decode(orjson.dumps(nested_row(number))) for number in range(1_000)]
    decoded = [row for row in outcomes if isinstance(row, list)]
    assert len(decoded) == 1_000
    arrays = [pa.array([row[n] for row in decoded], field.type) for n, field in enumerate(schema)]
    rows = pa.Table.from_arrays(arrays, schema=schema)
    wanted = []
    for number in range(1_000):
        inner = number if number % 5 else None
        text = f"u{number}" if number % 5 and number % 7 else None
        named = -number if number % 4 and number % 3 else None
        wanted.append((number, inner, text, named))
    for format in ("orc", "parquet", "json"):
        sink, table = pa.BufferOutputStream(), f"{hive_database}.nested_{format}"
        options = WriterOptions(format=format, compression="none")
        encoder = encoding_of(options).open(sink, rows)
        encoder.write(rows.slice(0, 400))
        encoder.write(rows.slice(400))
        encoder.end({})
        files.mkdirs(f"{base}/{format}/dt=x")
        with closing(files.create(f"{base}/{format}/dt=x/rows.{format}.final")) as file:
            file.write(sink.getvalue().to_pybytes())
        create(hive, table, NESTED, ("dt",), f"{base}/{format}", format)
        query = f"select id, nest.q.r, nest.q.s[1].t.u, named['k'].q.r from {table}"
        for found in (hive.query(query), hive.query(IN_A_JOB, query)):
            assert sorted(found) == wanted
        counted = (
            f"select count(nest.q.r), sum(nest.q.r), count(nest.q.s[1].t.u), sum(named['k'].q.r) from {table}"
        )
        assert hive.query(IN_A_JOB, counted) == [
            (
                sum(row[1] is not None for row in wanted),
                sum(row[1] or 0 for row in wanted),
                sum(row[2] is not None for row in wanted),
                sum(row[3] or 0 for row in wanted),
            )
        ]


def test_hive_finds_columns_of_orc_with_capital_letters(
    hdfs: Hdfs, hive: HiveServer, hive_database: str
) -> None:
    """Hive before 4 if it is told so, fetched and in a job, in files that were there before."""
    base, table = f"{hdfs.namenode_url}/{hive_database}", f"{hive_database}.mixed"
    files = process_files(
        StorageOptions(hdfs.namenode_url, base, base, tuple(hdfs.client_properties.items()))
    )
    columns = (Column("id", "bigint"), Column("Mixed", "bigint"), Column("p", "struct<At:bigint>"))
    schema = pa.schema([(column.name, parse_hive_type(column.type)) for column in columns])
    sink = pa.BufferOutputStream()
    rows = pa.Table.from_pylist([{"id": 1, "Mixed": 2, "p": {"At": 3}}], schema=schema)
    encoder = encoding_of(WriterOptions(format="orc", compression="none")).open(sink, rows)
    encoder.write(rows)
    encoder.end({})
    files.mkdirs(f"{base}/mixed/dt=x")
    with closing(files.create(f"{base}/mixed/dt=x/rows.orc.final")) as file:
        file.write(sink.getvalue().to_pybytes())
    create(hive, table, columns, ("dt",), f"{base}/mixed", "orc")
    query = f"select id, mixed, p.at from {table} where mixed = 2 or mixed is null"
    assert hive.query(query) == [(1, None if IS_OLD_HIVE else 2, 3)]
    told = "set orc.schema.evolution.case.sensitive=false"
    assert [hive.query(told, query), hive.query(told, IN_A_JOB, query)] == [[(1, 2, 3)]] * 2
    hive.query("set orc.schema.evolution.case.sensitive=true")


def test_hive_reads_back_what_was_in_kafka(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str
) -> None:
    topic, base = hive_database, f"{hdfs.namenode_url}/{hive_database}"
    kafka.create_topic(topic)
    values = [orjson.dumps(record(n, time)) for n, time in enumerate(TIMES)]
    began = datetime.datetime.now(datetime.UTC)
    produce(
        kafka.bootstrap,
        topic,
        [*values, b'{"id": "poison"}', b"\x00\xff"],
        1,
        [b"\xffkey"] * (len(TIMES) + 2),
    )
    ended = datetime.datetime.now(datetime.UTC)
    tables = {
        f"{hive_database}.{name}": TableSettings(
            table=f"{hive_database}.{name}",
            format="json",
            columns=COLUMNS,
            metadata=(
                (MetadataColumn.KEY, "k_key"),
                (MetadataColumn.HEADERS, "k_headers"),
                (MetadataColumn.OFFSET, "k_offset"),
            ),
            bucketing=Bucketing("dt=%Y-%m-%d", field="at"),
            zone="UTC",
            tombstones=Tombstones.SKIP,
            writer=writer,
            location=f"{base}/{name}",
        )
        for name, writer in WRITERS.items()
    }
    settings = settings_below(base, kafka, hdfs, hive_database, tables)
    if IS_OLD_HIVE:
        settings = replace(settings, dead_letter_timestamps="int96")
    plan = TaskPlan(0, tuple(table_task(table, offsets(topic, 0, 0, len(TIMES) + 2)) for table in tables))
    manifests = {manifest.table: manifest for manifest in run_task(plan, settings)}
    files = process_files(settings.storage)
    metadata = (
        Column("k_key", "binary"),
        Column("k_headers", DEAD_LETTER_COLUMNS[8].type),
        Column("k_offset", "bigint"),
    )
    for name, writer in WRITERS.items():
        table, format = f"{hive_database}.{name}", writer.format
        held = sorted({*range(len(TIMES))} - {*not_held(writer)})
        in_files = [f for f in manifests[table].files if f.kind is FileKind.DATA]
        assert len(in_files) == len({TIMES[number][:10] for number in held})
        suffix = ".gz" if name == "json_gzip" else ""
        assert all(f.staged.endswith(f".{format}.pending{suffix}") for f in in_files)
        promote(files, manifests[table])
        create(hive, table, (*COLUMNS, *metadata), ("dt",), f"{base}/{name}", format)
        is_encoded = IS_OLD_HIVE and format == "json"  # it does not decode base64
        key = (b64encode(b"\xffkey") if is_encoded else b"\xffkey").hex().upper()
        rows = hive.query(
            f"select id, cast(at as string), cast(day as string), price, ratio, flag, name, tags[0], tags[1], size(tags),"
            f" attrs['k'], place.x, place.label, hex(k_key), k_headers, k_offset, dt,"
            " tiny, small, whole, single, code, short, mixed, deep[0],"
            f" cast(deep[1].at as string), deep[1].amount, cast(deep[1].m['d'][0] as string), size(deep[1].m['d']) from {table}"
        )
        assert sorted(row[0] for row in rows) == list(held)
        for row in rows:
            time = TIMES[row[0]]
            if writer.timestamps != "int96" or time >= JULIAN:
                assert datetime.datetime.fromisoformat(row[1]) == datetime.datetime.fromisoformat(time)
            assert row[16] == time[:10]
            if format != "parquet" or time >= JULIAN:
                assert row[2] == row[27] == time[:10]
            assert row[3] == Decimal("12345678.25")
            assert row[4:10] == (0.1, row[0] % 2 == 0, "Grüße", "a", None, 3)
            assert row[10:16] == (row[0], row[0], None, key, None, row[0])
            assert row[17:25] == (-128, 32767, -(2**31), 0.5, "ab  ", "xyz", 2**63 - 1, None)
            assert row[25:27] == (row[1], Decimal("1234567890123456789012345678.0123456789"))
            assert row[28] == 2
        found = hive.query(f"select id from {table} where id = {held[0]} and name = 'Grüße'")
        assert found == [(held[0],)]
    create(
        hive,
        f"{hive_database}.dead",
        DEAD_LETTER_COLUMNS,
        tuple(c.name for c in DEAD_LETTER_PARTITIONS),
        f"{base}/dead",
    )
    letters = hive.query(
        "select source_table, `offset`, hex(value), hex(key), epoch, dt, reason, cast(`timestamp` as string)"
        f" from {hive_database}.dead"
    )
    assert sorted(letter[:6] for letter in letters) == sorted(
        (table, offset, value, "FF6B6579", 7, "2023-11-14")
        for name, writer in WRITERS.items()
        for table in [f"{hive_database}.{name}"]
        for offset, value in (
            *((number, values[number].hex().upper()) for number in not_held(writer)),
            (len(TIMES), b'{"id": "poison"}'.hex().upper()),
            (len(TIMES) + 1, "00FF"),
        )
    )
    assert all(letter[6] for letter in letters)
    times = {datetime.datetime.fromisoformat(f"{letter[7]}+00:00") for letter in letters}
    millisecond = datetime.timedelta(milliseconds=1)  # Kafka's timestamps have no finer part
    assert began - millisecond < min(times) <= max(times) <= ended
