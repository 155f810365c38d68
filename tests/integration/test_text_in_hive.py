"""Delimited text that a task writes to HDFS is what HiveServer2 reads back, whatever stands in the strings."""

import datetime
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import orjson

from kafka2hive.config.keys import (
    Bucketing,
    Column,
    HiveOptions,
    TableSettings,
    TextOptions,
    Tombstones,
    WriterOptions,
)
from kafka2hive.hive.check import check_table
from kafka2hive.hive.session import HiveSession
from kafka2hive.hive.session_tables import SessionTables
from kafka2hive.hive.tables import TableSpec, create_statement
from kafka2hive.plan.contract import TaskPlan
from kafka2hive.task import run_task
from kafka2hive.task.run import process_files
from tests.harness.task_files import offsets, table_task
from tests.integration.real_task import promote, settings_below
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

COLUMNS = (
    Column("id", "bigint"),
    Column("name", "string"),
    Column("at", "timestamp"),
    Column("day", "date"),
    Column("price", "decimal(38,10)"),
    Column("ratio", "double"),
    Column("single", "float"),
    Column("flag", "boolean"),
    Column("tiny", "tinyint"),
    Column("code", "char(4)"),
    Column("raw", "binary"),
    Column("last", "string"),
)
NAMES = [
    "",
    "Grüße, \u2028 \U0001f600",
    "\\N",
    "a,b|c\x01d",
    "\n",
    "\r\n",
    "\\n\\",
    "\t\x00\x1f",
    "NULL",
    '"quoted"',
    "~,~~n",
    " blanks ",
]
TIMES = ["0001-01-01T00:00:00", "1969-12-31T23:59:59.000001", "9999-12-31T23:59:59.999999"]
WRITERS = {
    "gzip": WriterOptions(format="text", compression="gzip"),
    "plain": WriterOptions(format="text", compression="none"),
    "control": WriterOptions(format="text", compression="gzip", text=TextOptions("\x01", "~", "NULL")),
    "tab": WriterOptions(format="text", compression="none", text=TextOptions("\t", "\\", "")),
}


def record(number: int) -> dict[str, object]:
    time = TIMES[number % len(TIMES)]
    return {
        "id": number,
        "name": NAMES[number],
        "at": time,
        "day": time[:10],
        "price": "-1234567890123456789012345678.0123456789",
        "ratio": [0.1, -0.0, 5e-324][number % 3],
        "single": 1e-45,
        "flag": number % 2 == 0,
        "tiny": -128,
        "code": "ab",
        "raw": "/2tl/eQ=",
        "last": NAMES[-1 - number],
    }


def test_hive_reads_every_field_of_text_files_back(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    topic, base = hive_database, f"{hdfs.namenode_url}/{hive_database}"
    kafka.create_topic(topic)
    nothing = dict.fromkeys(record(0)) | {"id": len(NAMES)}
    values = [orjson.dumps(record(number)) for number in range(len(NAMES))] + [orjson.dumps(nothing)]
    produce(kafka.bootstrap, topic, values, 1)
    tables = {
        f"{hive_database}.{name}": TableSettings(
            table=f"{hive_database}.{name}",
            format="json",
            columns=COLUMNS,
            metadata=(),
            bucketing=Bucketing(""),
            zone="UTC",
            tombstones=Tombstones.SKIP,
            writer=writer,
            location=f"{base}/{name}",
        )
        for name, writer in WRITERS.items()
    }
    settings = settings_below(base, kafka, hdfs, hive_database, tables)
    plan = TaskPlan(0, tuple(table_task(table, offsets(topic, 0, 0, len(values))) for table in tables))
    files = process_files(settings.storage)
    for manifest in run_task(plan, settings):
        promote(files, manifest)
    options = HiveOptions("127.0.0.1", hive.port, "me", None, "NONE", 60.0)
    with closing(HiveSession(options)) as session:
        for name, writer in WRITERS.items():
            table = f"{hive_database}.{name}"
            spec = TableSpec(table, COLUMNS, (), f"{base}/{name}", format="text", text=writer.text)
            hive.query(create_statement(spec, "ledger"))
            found = SessionTables(session).describe(table)
            assert found is not None
            check_table(spec, found)
            rows = hive.query(
                "select id, name, cast(at as string), cast(day as string), price, ratio, single, flag, tiny, code,"
                f" hex(raw), last from {table} order by id"
            )
            null = writer.text.null_text
            dead = [n for n, text in enumerate(NAMES) if null != "\\N" and null in (text, NAMES[-1 - n])]
            held = [number for number in range(len(NAMES)) if number not in dead]
            assert [row[0] for row in rows] == [*held, len(NAMES)]
            assert rows[-1][1:] == (None,) * 11
            for row in rows[:-1]:
                wanted = record(row[0])
                assert (row[1], row[11]) == (wanted["name"], wanted["last"]), (name, row)
                assert datetime.datetime.fromisoformat(row[2]) == datetime.datetime.fromisoformat(
                    str(wanted["at"])
                )
                assert row[3:5] == (wanted["day"], Decimal(str(wanted["price"])))
                assert repr(row[5]) == repr(wanted["ratio"])
                assert row[6:11] == (1.4e-45, wanted["flag"], -128, "ab  ", "FF6B65FDE4")
