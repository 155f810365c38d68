"""Avro files of a task are what HiveServer2 reads back: every value, fetched and in a job, also when a column is added."""

import datetime
from contextlib import closing
from dataclasses import replace
from decimal import Decimal

import orjson

from kafka2hive.config.keys import (
    Bucketing,
    Column,
    HiveOptions,
    MetadataColumn,
    TableSettings,
    Tombstones,
    WriterOptions,
)
from kafka2hive.config.keys.columns import METADATA_TYPES
from kafka2hive.config.keys.writer import Compression
from kafka2hive.hive.check import alter_statements, alterations, check_table
from kafka2hive.hive.session import HiveSession
from kafka2hive.hive.session_tables import SessionTables
from kafka2hive.hive.tables import TableSpec, create_statement
from kafka2hive.plan.contract import TaskPlan
from kafka2hive.task import run_task
from kafka2hive.task.run import process_files
from tests.harness.compiled_library import needs_compiled
from tests.harness.task_files import offsets, table_task
from tests.integration.real_task import promote, settings_below
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.jars import IS_OLD_HIVE
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

COLUMNS = (
    Column("id", "bigint"),
    Column("At", "timestamp"),
    Column("day", "date"),
    Column("price", "decimal(38,10)"),
    Column("small", "decimal(5,2)"),
    Column("ratio", "double"),
    Column("single", "float"),
    Column("flag", "boolean"),
    Column("whole", "int"),
    Column("name", "string"),
    Column("raw", "binary"),
    Column("tags", "array<string>"),
    Column("attrs", "map<string,int>"),
    Column("place", "struct<x:int,label:string,end:struct<y:date>>"),
    Column("deep", "array<struct<at:timestamp,amount:decimal(38,10),m:map<string,array<date>>>>"),
)
METADATA = ((MetadataColumn.HEADERS, "k_headers"), (MetadataColumn.TIMESTAMP, "k_time"))
TIMES = [
    "0001-01-01T00:00:00",
    "1582-10-04T01:02:03",
    "1900-01-01T00:00:00",
    "1969-12-31T23:59:59.001",
    "2013-01-01T05:00:00.123",
    "9999-12-31T23:59:59.999",
]
FINER = "2013-01-01T05:00:00.123456"
"""Its record is a dead letter."""
NAMES = ["", "Grüße, \u2028 \U0001f600", "\\N", "\n\r\n\x00", "NULL", "  "]
DOUBLES = [0.1, -0.0, 5e-324, 1.7976931348623157e308, -1.5, 1e21]
ALL_CODECS: tuple[Compression, ...] = ("gzip", "zstd", "snappy", "none")
CODECS = [codec for codec in ALL_CODECS if not IS_OLD_HIVE or codec != "zstd"]
IN_A_JOB = "set hive.fetch.task.conversion=none"


def record(number: int, time: str) -> dict[str, object]:
    amount = ["-1234567890123456789012345678.0123456789", "0.0000000128", "-0.0000000128"][number % 3]
    return {
        "id": 2**62 + number,
        "At": time,
        "day": time[:10],
        "price": amount,
        "small": "-123.45",
        "ratio": DOUBLES[number % 6],
        "single": [1e-45, 3.4028234663852886e38, -0.0][number % 3],
        "flag": number % 2 == 0,
        "whole": -(2**31) + number,
        "name": NAMES[number % 6],
        "raw": "/2tl/eQ=",
        "tags": [NAMES[number % 6], None],
        "attrs": {"k": number, "": None},
        "place": {"x": number, "label": None, "end": {"y": time[:10]}},
        "deep": [None, {"at": time, "amount": amount, "m": {"d": [time[:10], None], "e": []}}],
    }


@needs_compiled
def test_hive_reads_every_value_of_avro_files_back(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str
) -> None:
    topic, base = hive_database, f"{hdfs.namenode_url}/{hive_database}"
    kafka.create_topic(topic)
    nothing = dict.fromkeys(record(0, TIMES[0])) | {"id": 0}
    records = [*(record(n, time) for n, time in enumerate(TIMES)), nothing, record(9, FINER)]
    produce(kafka.bootstrap, topic, [orjson.dumps(one) for one in records], 1)
    tables = {
        f"{hive_database}.{codec}_": TableSettings(
            table=f"{hive_database}.{codec}_",
            format="json",
            columns=COLUMNS,
            metadata=METADATA,
            bucketing=Bucketing(""),
            zone="UTC",
            tombstones=Tombstones.SKIP,
            writer=WriterOptions(format="avro", compression=codec, timestamps="millis"),
            location=f"{base}/{codec}",
        )
        for codec in CODECS
    }
    settings = settings_below(base, kafka, hdfs, hive_database, tables)
    plan = TaskPlan(0, tuple(table_task(table, offsets(topic, 0, 0, len(records))) for table in tables))
    files = process_files(settings.storage)
    for manifest in run_task(plan, settings):
        (account,) = manifest.accounts
        assert (account.account.written, account.account.dead_lettered) == (len(TIMES) + 1, 1)
        promote(files, manifest)
    in_hive = (*COLUMNS, *(Column(name, METADATA_TYPES[kind]) for kind, name in METADATA))
    options = HiveOptions("127.0.0.1", hive.port, "me", None, "NONE", 60.0)
    with closing(HiveSession(options)) as session:
        for codec, table in zip(CODECS, tables, strict=True):
            spec = TableSpec(table, in_hive, (), f"{base}/{codec}", format="avro")
            hive.query(create_statement(spec, "ledger"))
            found = SessionTables(session).describe(table)
            assert found is not None
            check_table(spec, found)
            query = (
                "select id, cast(at as string), cast(day as string), price, small, ratio, single, flag, whole, name,"
                " hex(raw), tags[0], size(tags), attrs['k'], attrs[''], place.x, place.label,"
                " cast(place.`end`.y as string), deep[0], cast(deep[1].at as string), deep[1].amount,"
                " cast(deep[1].m['d'][0] as string), size(deep[1].m['d']), size(deep[1].m['e']), k_headers, k_time"
                f" from {table}"
            )
            for rows in (hive.query(query), hive.query(IN_A_JOB, query)):
                _assert_equal(rows, records)
            counted = f"select count(*), sum(whole), cast(min(at) as string), max(price) from {table}"
            assert hive.query(IN_A_JOB, counted)[0] == (
                len(TIMES) + 1,
                sum(-(2**31) + n for n in range(len(TIMES))),
                "0001-01-01 00:00:00",
                Decimal("0.0000000128"),
            )
        # the last table gets a column, and one more file, which has it
        later = (*COLUMNS, Column("later", "struct<x:decimal(9,3),at:timestamp>"))
        settings = replace(settings, tables={table: replace(tables[table], columns=later)})
        spec = replace(spec, columns=(*in_hive, later[-1]))
        found = SessionTables(session).describe(table)
        assert found is not None
        for statement in alter_statements(spec, alterations(spec, found)):
            session.run(statement)
        found = SessionTables(session).describe(table)
        assert found is not None
        check_table(spec, found)
        produce(kafka.bootstrap, topic, [b'{"id": 7, "later": {"x": 1.5, "at": "1582-10-04T01:02:03"}}'], 1)
        end = len(records) + 1
        for manifest in run_task(
            TaskPlan(1, (table_task(table, offsets(topic, 0, end - 1, end)),)), settings
        ):
            promote(files, manifest)
        query = f"select id, name, later.x, cast(later.at as string) from {table}"
        for rows in (hive.query(query), hive.query(IN_A_JOB, query)):
            assert len(rows) == len(TIMES) + 2
            assert [row for row in rows if row[0] == 7] == [
                (7, None, Decimal("1.500"), "1582-10-04 01:02:03")
            ]
            assert all(row[2:] == (None, None) for row in rows if row[0] != 7)


def _assert_equal(rows: list[tuple[object, ...]], records: list[dict[str, object]]) -> None:
    rows = sorted(rows, key=lambda row: str(row[0]))
    assert rows[0][1:12] == (None,) * 11
    assert [row[0] for row in rows[1:]] == [2**62 + n for n in range(len(TIMES))]
    for number, row in enumerate(rows[1:]):
        wanted, time = records[number], TIMES[number]
        for found in (row[1], row[19]):
            assert datetime.datetime.fromisoformat(str(found)) == datetime.datetime.fromisoformat(time)
        assert row[2] == row[17] == row[21] == time[:10]
        assert row[3] == row[20] == Decimal(str(wanted["price"])) and row[4] == Decimal("-123.45")
        assert repr(row[5]) == repr(wanted["ratio"])
        assert repr(row[6]) == repr([1.4e-45, 3.4028235e38, -0.0][number % 3])
        assert row[7:11] == (wanted["flag"], wanted["whole"], wanted["name"], "FF6B65FDE4")
        assert row[11:17] == (wanted["name"], 2, number, None, number, None)
        assert row[18] is None and row[22:25] == (2, 0, None) and row[25] is not None
