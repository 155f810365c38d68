"""Messages of several rows, dumped into Hive: every row once, a bad message once as a dead letter, and every check agrees."""

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

from tests.contract.test_canal import flat
from tests.harness.program import command, run_once
from tests.harness.service_map import ledger_root, write_map
from tests.integration.damage import rewrite, with_value
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

MESSAGES = 3_000
PLACE = {"topic": "k_topic", "partition": "k_partition", "offset": "k_offset", "ordinal": "k_ordinal"}
COLUMNS = {"id": "bigint", "name": "string", "at": "timestamp"}


HOW: dict[str, dict[str, str]] = {
    "lines": {"rows": "lines"},
    "array": {"rows": "array"},
    "csv": {"format": "csv", "rows": "lines"},
    "canal": {"source": "canal"},
}


def fields(rows: list[dict[str, Any]]) -> bytes:
    """As Python's own writer of CSV has them: a line break of a name stands in quotes."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(row.values() for row in rows)
    return text.getvalue().encode()


def batches(seed: int) -> list[list[dict[str, Any]]]:
    """The rows of each message; few have none, some a bad one, and most lie in two days."""
    draw, made = random.Random(seed), []
    for number in range(MESSAGES):
        rows = [
            {
                "id": number * 10 + place,
                "name": draw.choice(("a", '],["', "x\\\n")),
                "at": f"2013-01-0{1 + draw.randrange(3)} 05:00:00",
            }
            for place in range(draw.randrange(6))
        ]
        if rows and draw.random() < 0.01:
            rows[-1]["id"] = "x"
        made.append(rows)
    return made


def is_good(rows: list[dict[str, Any]]) -> bool:
    return all(row["id"] != "x" for row in rows)


def test_rows_of_lines_arrays_csv_and_canal_are_in_hive_once_and_every_check_counts_them(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    uri = f"{hdfs.namenode_url}/{hive_database}"
    made = batches(3)
    topics = {
        "lines": [b"\n".join(json.dumps(row).encode() for row in rows) for rows in made],
        "array": [json.dumps(rows).encode() for rows in made],
        "csv": [fields(rows) for rows in made],
        "canal": [
            json.dumps(flat("INSERT", [{k: str(v) for k, v in row.items()} for row in rows])).encode()
            for rows in made
        ],
    }
    stored: dict[str, dict[tuple[int, int], list[dict[str, Any]]]] = {}
    tables = []
    for kind, messages in topics.items():
        topic = f"{hive_database}-{kind}"
        kafka.create_topic(topic, 2)
        values = {message: rows for message, rows in zip(messages, made, strict=True) if rows}
        there = produce(kafka.bootstrap, topic, messages, 2)
        stored[kind] = {place[1:]: values.get(value or b"", []) for place, value in there.items()}
        tables.append(
            {
                "table": f"{hive_database}.of_{kind}",
                "topics": [topic],
                **HOW[kind],
                **({"writer": {"format": "orc"}} if kind == "array" else {}),
                "start": "earliest",
                "columns": COLUMNS,
                "metadata": PLACE,
                "bucket": {"field": "at", "path": "dt=%Y-%m-%d"},
                "dead_letter_share": 1,
            }
        )
    tables.append({**tables[0], "table": f"{hive_database}.copy"})
    hive_section = {"url": f"hive://me@127.0.0.1:{hive.port}/default?auth=NONE"}
    config = write_map(tmp_path, hive_database, kafka.bootstrap, uri, tables, hive=hive_section)
    run = run_once(config)
    assert run.code == 0, run.log[-3000:]

    for kind, held in stored.items():
        wanted = sorted(
            (number, offset, ordinal, row["id"], row["name"], row["at"][:10])
            for (number, offset), rows in held.items()
            if is_good(rows)
            for ordinal, row in enumerate(rows)
        )
        found = hive.query(
            f"select k_partition, k_offset, k_ordinal, id, name, dt from {hive_database}.of_{kind}"
        )
        assert sorted(found) == wanted
        ledger = LedgerText(HdfsTree(hdfs.client()), ledger_root(uri), f"{hive_database}.of_{kind}")
        accounts = [account for snapshot in ledger.history() for account in snapshot.get("account", [])]
        total = {
            name: sum(account.get(name, 0) for account in accounts)
            for name in ("read", "written", "filtered", "dead_lettered", "more_rows")
        }
        good = [rows for rows in held.values() if rows and is_good(rows)]
        bad = sum(not is_good(rows) for rows in held.values())
        empty = sum(not rows for rows in held.values())
        if kind == "canal":  # data without a row is no change
            bad, empty = bad + empty, 0
        assert total == {
            "read": MESSAGES,
            "written": len(good),
            "filtered": empty,
            "dead_lettered": bad,
            "more_rows": len(wanted) - len(good),
        }
    dead = hive.query(
        f"select source_table, count(*), count(distinct concat(`partition`, '@', `offset`))"
        f" from {hive_database}.{hive_database}_dead_letters group by source_table"
    )
    assert all(letters == records for _, letters, records in dead) and len(dead) == 5

    assert command("verify", config, "--contents", "--json").code == 0
    deep = command("verify", config, "--deep", "--json")
    assert deep.code == 0, deep.out
    against = ("verify", config, "--against", f"{hive_database}.copy", "--table", f"{hive_database}.of_lines")
    assert command(*against).code == 0, command(*against).out
    shown = command("status", config, "--json").document["tables"]
    assert all(any(e["records"]["more_rows"] for e in table["last_epochs"]) for table in shown)
    rows = command("preview", config, "--json", "-n", "4", "--table", f"{hive_database}.of_array").document
    shown_rows = rows["tables"][0]["rows"]
    places = [(row["place"], row["values"]["k_ordinal"]) for row in shown_rows]
    assert places == sorted(places) and any(ordinal > 0 for _, ordinal in places)

    # a row of a message is changed: both ways to compare see it
    ledger = LedgerText(HdfsTree(hdfs.client()), ledger_root(uri), f"{hive_database}.of_lines")
    files = [f for snapshot in ledger.history() for f in snapshot.get("file", [])]
    file = next(f["final"] for f in files if f["kind"] == "data")
    rewrite(hdfs.client(), ledger, str(file), with_value("name", 0, "changed"))
    assert "verify.lost" in command("verify", config, "--deep", "--table", f"{hive_database}.of_lines").out
    assert "verify.different" in command(*against).out
