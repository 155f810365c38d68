"""Change logs of a database: unpacked into Hive, where a query over the newest changes gives the database's own state."""

import datetime
import json
import random
from pathlib import Path
from typing import Any

from tests.contract.change_log_records import debezium, with_schema
from tests.contract.test_canal import WATERMARK, flat
from tests.harness.program import command, run_once
from tests.harness.service_map import PLACE, write_map
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

CHANGES = 1_500
FIRST_MS = 1_356_998_400_000  # 2013-01-01T00:00:00Z


class Database:
    """A table of customers, and the log of what is done to it."""

    def __init__(self, seed: int) -> None:
        self.rows: dict[int, dict[str, Any]] = {}
        self.log: list[bytes | None] = []
        self.keys: list[bytes] = []
        self.flat: list[bytes] = []
        draw = random.Random(seed)
        for number in range(CHANGES):
            key = draw.randrange(200)
            before = self.rows.get(key)
            after = {
                "id": key,
                "name": f"name {number}",
                "total": f"{number}.50",
                "day": 15_706 + number % 31,
            }
            if before is not None and draw.random() < 0.3:
                self._append(number, "d", self.rows.pop(key), None)
                self.log.append(None)
                self.keys.append(self.keys[-1])
            else:
                self._append(number, "u" if before else "c", before, after)
                self.rows[key] = after

    def _append(self, number: int, op: str, before: Any, after: Any) -> None:
        record = debezium(op, before, after, {"lsn": 1_000 + number}, FIRST_MS + number * 60_000)
        self.log.append(json.dumps(with_schema(record) if number % 3 else record).encode())
        row = {name: str(value) for name, value in (after or before).items()}
        kind = {"c": "INSERT", "u": "UPDATE", "d": "DELETE"}[op]
        self.flat.append(json.dumps(flat(kind, [row], ts=record["ts_ms"])).encode())
        self.keys.append(json.dumps({"id": (before or after)["id"]}).encode())


def test_the_newest_changes_in_hive_are_the_state_of_the_database(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    database, table = Database(5), f"{hive_database}.customers"
    uri = f"{hdfs.namenode_url}/{hive_database}"
    kafka.create_topic(hive_database, 1)  # the log of one table is in order
    transaction = json.dumps({"status": "BEGIN", "id": "571:53195829"}).encode()
    log = [*database.log, transaction]
    headers = [[("tenant", b"old"), ("tenant", b"shop"), ("sent", b"%d" % n)] for n in range(len(log))]
    produce(kafka.bootstrap, hive_database, log, 1, [*database.keys, b'{"id": "571:53195829"}'], headers)
    kafka.create_topic(f"{hive_database}-canal", 1)
    bad = json.dumps(flat("UPDATE", [{"id": "1"}, {"id": "x"}])).encode()
    produce(kafka.bootstrap, f"{hive_database}-canal", [*database.flat, bad], 1)
    canal = {
        "table": f"{table}_canal",
        "topics": [f"{hive_database}-canal"],
        "source": "canal",
        "columns": {"id": "bigint", "name": "string", "total": "decimal(10,2)"},
        "bucket": {"field": "__ts_ms", "unit": "ms"},
    }
    entry = {
        "table": table,
        "topics": [hive_database],
        "source": {"debezium": {"before": True}},
        "key_format": "json",
        "columns": {
            "tenant": {"type": "string", "header": "tenant"},
            "sent": {"type": "timestamp", "header": "sent", "unit": "s"},
            "pk": {"type": "bigint", "key": "$.id"},
            "id": "bigint",
            "name": "string",
            "total": "decimal(10,2)",
        },
        "metadata": PLACE,
        "bucket": {"field": "__ts_ms", "unit": "ms"},
    }
    hive_section = {"url": f"hive://me@127.0.0.1:{hive.port}/default?auth=NONE"}
    config = write_map(tmp_path, hive_database, kafka.bootstrap, uri, [entry, canal], hive=hive_section)
    run = run_once(config)
    assert run.code == 0, run.log[-3000:]

    rows = hive.query(
        f"select id, name, cast(total as string), `__op`, `__source_position`, `__before`.name from {table}"
    )
    assert len(rows) == CHANGES
    newest = {row[0]: row for row in sorted(rows, key=lambda row: row[4])}
    state = [row[:3] for _, row in sorted(newest.items()) if row[3] != "d"]
    assert state == [(key, row["name"], row["total"]) for key, row in sorted(database.rows.items())]
    deleted = [row for row in rows if row[3] == "d"]
    assert len(deleted) == sum(value is None for value in database.log)
    assert all(row[1] == row[5] for row in deleted)
    of_parts = hive.query(f"select k_offset, tenant, cast(sent as string), pk - id from {table}")
    sent = [str(datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=row[0])) for row in of_parts]
    assert [row[1:] for row in of_parts] == [("shop", moment, 0) for moment in sent]
    columns = "`__ts_ms`, id, name, cast(total as string), `__op`, dt"
    unpacked = [
        hive.query(f"select {columns} from {name} order by `__ts_ms`") for name in (table, f"{table}_canal")
    ]
    assert unpacked[0] == unpacked[1] and len(unpacked[1]) == CHANGES
    dead = hive.query(f"select reason from {hive_database}.{hive_database}_dead_letters order by reason")
    assert dead == [("canal.type",)]
    deep = command("verify", config, "--deep", "--json")
    assert deep.code == 0, deep.log
    shown = command("preview", config, "--json", "-n", "5").document["tables"][0]
    assert shown["rows"][-1]["values"]["__source_position"] == f"{1_000 + CHANGES - 1:020}"


def test_a_topic_that_is_mostly_watermarks_has_its_rows_and_no_dead_letter(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    table, topic = f"{hive_database}.orders", hive_database
    kafka.create_topic(topic, 1)
    rows = [flat("INSERT", [{"id": str(number), "name": "x"}]) for number in range(50)]
    statements = [
        flat("ALTER", None, sql="alter table orders add x int"),
        flat("ERASE", None, sql="drop table x"),
    ]
    log = [one for row in rows for one in (WATERMARK, row, WATERMARK, WATERMARK)] + statements
    produce(kafka.bootstrap, topic, [json.dumps(one).encode() for one in log], 1)
    entry = {
        "table": table,
        "topics": [topic],
        "source": "canal",
        "columns": {"id": "bigint", "name": "string"},
        "metadata": PLACE | {"ordinal": "k_ordinal"},
        "dead_letter_share": 0,
    }
    hive_section = {"url": f"hive://me@127.0.0.1:{hive.port}/default?auth=NONE"}
    uri = f"{hdfs.namenode_url}/{hive_database}"
    config = write_map(tmp_path, topic, kafka.bootstrap, uri, [entry], hive=hive_section)
    run = run_once(config)
    assert run.code == 0, run.log[-3000:]
    assert "150 messages of the change log: watermarks, skipped" in run.log
    assert hive.query(f"select count(*), count(distinct id) from {table}") == [(50, 50)]
    deep = command("verify", config, "--deep", "--json")
    assert deep.code == 0, deep.log
    records = [e["records"] for e in command("status", config, "--json").document["tables"][0]["last_epochs"]]
    assert sum(one["filtered"] for one in records) == 152
    assert sum(one["dead_lettered"] for one in records) == 0
    shown = command("preview", config, "-n", "202", "--json").document["tables"][0]
    assert (len(shown["rows"]), shown["filtered"], shown["dead_letters"]) == (50, 152, [])
