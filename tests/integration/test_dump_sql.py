"""Tables with SQL beside one without: Spark's SELECT between our two ends, read back through HiveServer2."""

import io
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.drills.spark_workers import kill_all_workers_at
from tests.harness.program import Running, command, run_once
from tests.harness.service_map import PLACE, flights_table, ledger_root, location, write_map
from tests.oracle.data_files import visible_rows
from tests.oracle.exact import ends_of
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import Place, produce

RECORDS, TOPIC_PARTITIONS = 600, 2
TEXT_WRITERS = {
    "as_json": {"format": "json"},
    "as_text": {"format": "text"},
}
SHAPED = """
SELECT upper(trim(name)) AS name, id * 2 AS twice, CAST(price AS decimal(10,2)) AS price, CAST(day AS timestamp) AS at,
       k_topic, k_partition, k_offset
FROM (SELECT * FROM records WHERE id % 3 <> 0) AS r
WHERE name IS NOT NULL -- a comment
"""


def _record(i: int) -> bytes | None:
    if i % 50 == 7:
        return None
    if i % 50 == 9:
        return b'{"id": "no number"}'
    return orjson.dumps({"id": i, "name": _name(i), "price": f"{i}.25", "day": f"2013-01-0{1 + i % 3}"})


def _name(i: int) -> str | None:
    return None if i % 10 == 1 else f" n{i} "


def _is_read(i: int) -> bool:
    return i % 50 not in (7, 9)


def _is_shaped(i: int) -> bool:
    return _is_read(i) and i % 3 != 0 and i % 10 != 1


def _entries(database: str, topic: str) -> list[dict[str, Any]]:
    columns = {"id": "bigint", "name": "string", "price": "string", "day": "date"}
    every = {"topics": [topic], "start": "earliest", "metadata": PLACE, "flush": {"interval": "1s"}}
    return [
        {
            **every,
            "table": f"{database}.shaped",
            "zone": "Asia/Tokyo",
            "columns": {"name": "string", "twice": "bigint", "price": "decimal(10,2)", "at": "timestamp"},
            "bucket": {"field": "at", "path": "dt=%Y-%m-%d"},
            "records": columns,
            "sql": SHAPED,
        },
        {
            **every,
            "table": f"{database}.few",
            "columns": columns,
            "bucket": {"path": "dt={day}"},
            "writer": {"format": "orc"},
            "sql": "SELECT * FROM records WHERE id < 100",
        },
        {**every, "table": f"{database}.plain", "columns": columns, "bucket": {"path": "dt={day}"}},
        *(
            {
                **every,
                "table": f"{database}.{name}",
                "records": columns,
                "columns": {"id": "bigint", "name": "string", "price": "decimal(10,2)", "day": "date"},
                "bucket": {"path": ""},
                "writer": writer,
                "sql": "SELECT * EXCEPT (price), CAST(price AS decimal(10,2)) AS price FROM records WHERE id < 100",
            }
            for name, writer in TEXT_WRITERS.items()
        ),
    ]


def _accounts(ledger: LedgerText) -> dict[str, int]:
    found = [account for snapshot in ledger.history() for account in snapshot["account"]]
    return {
        key: sum(a[key] for a in found)
        for key in ("read", "written", "filtered", "tombstones", "dead_lettered")
    }


@pytest.mark.timeout(3600)
def test_hive_reads_what_the_select_makes_and_the_ledger_accounts_for_the_rest(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    topic = hive_database
    uri, tree = f"{hdfs.namenode_url}/{topic}", HdfsTree(hdfs.client())
    kafka.create_topic(topic, TOPIC_PARTITIONS)
    produce(kafka.bootstrap, topic, [_record(i) for i in range(RECORDS)], TOPIC_PARTITIONS)
    section = {"url": f"hive://{hive.address}"}
    config = write_map(tmp_path, topic, kafka.bootstrap, uri, _entries(topic, topic), hive=section)
    done = run_once(config)
    assert done.code == 0, done.log[-6000:]

    shown = hive.query(f"select name, twice, price, `at`, dt, k_offset from {topic}.shaped")
    assert sorted(shown, key=lambda row: row[1]) == [
        (
            f"N{i}",
            2 * i,
            Decimal(f"{i}.25"),
            datetime(2013, 1, 1 + i % 3),
            f"2013-01-0{1 + i % 3}",
            i // TOPIC_PARTITIONS,
        )
        for i in range(RECORDS)
        if _is_shaped(i)
    ]
    assert sorted(hive.query(f"select id from {topic}.few")) == [(i,) for i in range(100) if _is_read(i)]
    assert sorted(hive.query(f"select id from {topic}.plain")) == [
        (i,) for i in range(RECORDS) if _is_read(i)
    ]
    few = [i for i in range(100) if _is_read(i)]
    for name in TEXT_WRITERS:
        assert sorted(hive.query(f"select id, name, price, day, k_offset from {topic}.{name}")) == [
            (i, _name(i), Decimal(f"{i}.25"), f"2013-01-0{1 + i % 3}", i // TOPIC_PARTITIONS) for i in few
        ]
    letters = hive.query(
        f"select count(*), count(distinct `partition`, `offset`) from {topic}.{topic}_dead_letters"
        f" where source_table = '{topic}.shaped'"
    )
    assert letters == [(RECORDS // 50, RECORDS // 50)]

    every, read = LedgerText(tree, ledger_root(uri), f"{topic}.shaped"), sum(map(_is_read, range(RECORDS)))
    kept = sum(map(_is_shaped, range(RECORDS)))
    assert _accounts(every) == {
        "read": RECORDS,
        "written": kept,
        "filtered": read - kept,
        "tombstones": RECORDS // 50,
        "dead_lettered": RECORDS // 50,
    }
    assert command("verify", config).code == 0
    deep = command("verify", config, "--deep")
    assert deep.code == 0, deep.out
    assert "has `sql`" in deep.out, deep.out
    _assert_previewed(tree, uri, config, topic)


def _assert_previewed(tree: HdfsTree, uri: str, config: Path, topic: str) -> None:
    """Records 0 to 59 of the first topic partition: rows as they stand in Hive, dead letters, and not a byte written."""
    before = tree.files(uri)
    shown = command("preview", config, "--json", "--table", f"{topic}.shaped", "-n", "60", f"{topic}-0@0")
    assert shown.code == 0, shown.log
    (table,) = shown.document["tables"]
    numbers = range(0, 60 * TOPIC_PARTITIONS, TOPIC_PARTITIONS)
    assert table["rows"] == [
        {
            "place": f"{topic}-0@{i // TOPIC_PARTITIONS}",
            "bucket": f"dt=2013-01-0{1 + i % 3}",
            "values": {
                "name": f"N{i}",
                "twice": 2 * i,
                "price": f"{i}.25",
                "at": f"2013-01-0{1 + i % 3}T00:00:00",
                "k_topic": topic,
                "k_partition": 0,
                "k_offset": i // TOPIC_PARTITIONS,
            },
        }
        for i in numbers
        if _is_shaped(i)
    ]
    assert [letter["place"] for letter in table["dead_letters"]] == [
        f"{topic}-0@{i // TOPIC_PARTITIONS}" for i in numbers if i % 50 == 9
    ]
    assert table["tombstones"] == sum(i % 50 == 7 for i in numbers)
    assert tree.files(uri) == before


REFUSED = {
    "counted": ("SELECT count(*) AS n, max(id) AS id FROM records", "sql.refused", "aggregates"),
    "exploded": (
        "SELECT id, explode(array(1, 2)) AS n FROM records",
        "sql.refused",
        "several rows of one record",
    ),
    "unknown": ("SELECT id, nn AS n FROM records", "sql.syntax", "`nn` cannot be resolved"),
}


@pytest.mark.timeout(3600)
def test_selects_that_are_not_one_row_per_record_leave_their_tables_untouched_while_others_go_on(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, tree = f"{hdfs.namenode_url}/{unique}", HdfsTree(hdfs.client())
    kafka.create_topic(unique, 1)
    stored = produce(kafka.bootstrap, unique, [b'{"id": %d}' % i for i in range(100)], 1)
    every = {"topics": [unique], "start": "earliest", "bucket": {"path": ""}}
    wide = {**every, "columns": {"id": "bigint", "n": "bigint"}, "records": {"id": "bigint"}}
    entries = [
        *({**wide, "table": f"{unique}.{name}", "sql": sql} for name, (sql, _, _) in REFUSED.items()),
        {**wide, "table": f"{unique}.becomes_bad", "sql": "SELECT id, id + 1 AS n FROM records"},
        {**every, "table": f"{unique}.good", "columns": {"id": "bigint"}},
    ]
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, entries)
    assert command("validate", config).code == 78
    done = run_once(config)
    assert done.code == 75, done.log[-3000:]
    for name, (_, code, told) in REFUSED.items():
        assert any(f"[{code}] {unique}.{name}: " in line and told in line for line in done.log.splitlines())
        assert not tree.files(location(uri, f"{unique}.{name}"))
        assert not tree.files(f"{ledger_root(uri)}/{unique}.{name}"), "not even a ledger"
    for name in ("becomes_bad", "good"):
        assert LedgerText(tree, ledger_root(uri), f"{unique}.{name}").ends() == ends_of(stored)

    held = f"{ledger_root(uri)}/{unique}.becomes_bad"
    before = tree.files(held)
    entries[-2]["sql"] = "SELECT id, n FROM records"
    only = write_map(tmp_path, unique, kafka.bootstrap, uri, entries[-2:-1])
    done = run_once(only)
    assert done.code == 75 and "[sql.syntax]" in done.log, done.log[-3000:]
    assert tree.files(held) == before, "it is not taken over"


@pytest.mark.timeout(3600)
def test_workers_killed_in_the_middle_of_an_epoch_lose_and_double_nothing(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, tree = f"{hdfs.namenode_url}/{unique}", HdfsTree(hdfs.client())
    table = f"{unique}.late"
    kafka.create_topic(unique, TOPIC_PARTITIONS)
    stored: dict[Place, bytes | None] = {}

    def send() -> None:
        stored.update(produce(kafka.bootstrap, unique, flights()[:80_000], TOPIC_PARTITIONS))

    send()
    entry = flights_table(table, unique, sql="SELECT * FROM records WHERE dep_delay > 0")
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, [entry])
    ledger, place = LedgerText(tree, ledger_root(uri), table), location(uri, table)
    with Running(config) as run:
        kill_all_workers_at(
            run,
            lambda: any(name.endswith(".in-progress") for name in tree.files(f"{place}/_tmp")),
            "a file",
            send,
        )
        run.wait_until(lambda: ledger.ends() == ends_of(stored), "all is read", 600, 0.2)
        assert run.terminate() == 143, run.tail()
    wanted = {at for at, value in stored.items() if (orjson.loads(value or b"{}").get("dep_delay") or 0) > 0}
    found = [tuple(row.values[column] for column in PLACE.values()) for row in visible_rows(tree, place)]
    assert len(found) == len(set(found)) == len(wanted)
    assert set(found) == wanted
    assert command("verify", config).code == 0


NAMES = """
SELECT r.id, letters(r.name) AS letters, c.label, twice(r.id) AS twice
FROM records AS r LEFT JOIN colours AS c ON c.code = r.id % 4
WHERE r.id NOT IN (13)
"""
UDFS = """

from pyspark.sql.functions import udf

FACTOR = 2


@udf("int")
def letters(name):
    return None if name is None else sum(character.isalpha() for character in name)


@udf("bigint")
def twice(number):
    return number * FACTOR
"""


@pytest.mark.timeout(3600)
def test_rows_are_joined_with_lookups_and_go_through_functions_of_a_module(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, tree = f"{hdfs.namenode_url}/{unique}", HdfsTree(hdfs.client())
    kafka.create_topic(unique, TOPIC_PARTITIONS)
    produce(kafka.bootstrap, unique, [_record(i) for i in range(RECORDS)], TOPIC_PARTITIONS)
    module = tmp_path / "own_functions.py"
    module.write_text(UDFS)
    colours = pa.table({"code": [0, 1, 2], "label": ["red", "green", "blue"]})
    twofold = pa.table({"code": [0, 1, 1, 2], "label": ["red", "green", "lime", "blue"]})
    for name, table in {"colours": colours, "twofold": twofold, "none": colours.slice(0, 0)}.items():
        _write_parquet(hdfs, f"/{unique}-{name}/part.parquet", table)
    columns = {"id": "bigint", "letters": "int", "label": "string", "twice": "bigint"}
    entry = {
        "topics": [unique],
        "start": "earliest",
        "bucket": {"path": ""},
        "metadata": {},
        "records": {"id": "bigint", "name": "string"},
        "columns": columns,
        "udfs": str(module),
    }
    inner = NAMES.replace("LEFT JOIN", "JOIN")
    entries = [
        {
            **entry,
            "table": f"{unique}.{table}",
            "sql": sql,
            "lookups": {"colours": f"{hdfs.namenode_url}/{unique}-{lookup}"},
        }
        for table, sql, lookup in (
            ("joined", NAMES, "colours"),
            ("matched", inner, "colours"),
            ("doubled", NAMES, "twofold"),
            ("emptied", inner, "none"),
            ("unjoined", NAMES, "nowhere"),
        )
    ]
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, entries)
    offline = command("validate", config, "--json")
    assert offline.code == 0, offline.log
    assert {check["code"] for check in offline.document["checks"]} == {"sql.unchecked"}
    online = command("validate", config, "--online", "--json")
    assert online.code == 78, online.out
    checked = {c["subject"]: c for c in online.document["checks"] if c["system"] == "spark"}
    assert checked[f"{unique}.unjoined"]["code"] == "sql.lookup"
    for table in ("joined", "matched", "doubled", "emptied"):
        assert checked[f"{unique}.{table}"]["result"] == "ok", checked
    done = run_once(config)
    assert done.code == 75, done.log[-6000:]
    labels = {0: "red", 1: "green", 2: "blue"}
    wanted = [
        {
            "id": i,
            "letters": None if i % 10 == 1 else 1,
            "label": labels.get(i % 4),
            "twice": 2 * i,
        }
        for i in range(RECORDS)
        if _is_read(i) and i != 13
    ]
    assert _rows(tree, location(uri, f"{unique}.joined")) == wanted
    assert _rows(tree, location(uri, f"{unique}.matched")) == [row for row in wanted if row["label"]]
    assert "sql.coordinates" in done.log and "more than one row of" in done.log
    assert "sql.lookup" in done.log
    assert not _rows(tree, location(uri, f"{unique}.doubled"))
    assert LedgerText(tree, ledger_root(uri), f"{unique}.doubled").newest().get("account", []) == []
    assert not tree.files(f"{ledger_root(uri)}/{unique}.unjoined"), "not even a ledger"
    assert not _rows(tree, location(uri, f"{unique}.emptied"))
    none = _accounts(LedgerText(tree, ledger_root(uri), f"{unique}.emptied"))
    assert none["read"] == none["filtered"] + none["tombstones"] + none["dead_lettered"]


def _rows(tree: HdfsTree, place: str) -> list[dict[str, Any]]:
    return sorted((row.values for row in visible_rows(tree, place)), key=lambda row: row["id"])


def _write_parquet(hdfs: Hdfs, path: str, table: pa.Table) -> None:
    held = io.BytesIO()
    pq.write_table(table, held)
    with hdfs.client().create(path) as file:
        file.write(held.getvalue())
