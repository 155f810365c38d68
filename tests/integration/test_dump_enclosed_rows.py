"""Rows of an array within an object, dumped into Hive: each once, letters come back as rows, and every check agrees."""

import json
import random
from pathlib import Path
from typing import Any

from tests.harness.program import command, run_once
from tests.harness.service_map import ledger_root, write_map
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

MESSAGES = 2_000
ID: dict[str, Any] = {"type": "bigint", "from": "$.id"}
NONE = "no array"


def messages(seed: int) -> list[tuple[str, list[dict[str, Any]] | None]]:
    """The account and the rows of each message: few have none, a quoted id among them, or no array."""
    draw, made = random.Random(seed), []
    for number in range(MESSAGES):
        rows: list[dict[str, Any]] | None = [
            {
                "id": number * 10 + place,
                "name": draw.choice(("a", '],["', 'x"\\\n', "é")),
                "day": draw.randrange(3),
            }
            for place in range(draw.randrange(6))
        ]
        if rows and draw.random() < 0.02:
            rows[-1]["id"] = str(rows[-1]["id"])
        made.append((f"acc{number % 7}", None if draw.random() < 0.01 else rows))
    return made


def encoded(account: str, rows: list[dict[str, Any]] | None) -> bytes:
    at = [{**row, "at": f"2013-01-0{1 + row['day']} 05:00:00"} for row in rows or ()]
    records = {} if rows is None else {"Records": at}
    return json.dumps({"account": {"id": account}, **records}).encode()


def test_rows_of_an_array_in_an_object_are_in_hive_once_and_their_letters_come_back(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    uri, topic, table = f"{hdfs.namenode_url}/{hive_database}", hive_database, f"{hive_database}.audit"
    made = messages(4)
    kafka.create_topic(topic, 2)
    values = {encoded(*each): each for each in made}
    stored = {
        place[1:]: values[value or b""]
        for place, value in produce(kafka.bootstrap, topic, list(map(encoded, *zip(*made, strict=True))), 2).items()
    }  # fmt: skip

    def config_with(of_id: dict[str, Any]) -> Path:
        entry = {
            "table": table,
            "topics": [topic],
            "rows": {"array": "$.Records"},
            "start": "earliest",
            "columns": {
                "id": of_id,
                "name": "string",
                "at": "timestamp",
                "account": {"type": "string", "message": "$.account.id"},
            },
            "metadata": {"partition": "k_partition", "offset": "k_offset", "ordinal": "k_ordinal"},
            "bucket": {"field": "at", "path": "dt=%Y-%m-%d"},
            "dead_letter_share": 1,
        }
        hive_section = {"url": f"hive://me@127.0.0.1:{hive.port}/default?auth=NONE"}
        return write_map(tmp_path, hive_database, kafka.bootstrap, uri, [entry], hive=hive_section)

    def check(config: Path, *, quoted: bool) -> int:
        """Compare Hive and the letters with the messages; return how many messages are letters."""
        wanted, letters = [], []
        for (number, offset), (account, rows) in stored.items():
            if rows is None or (not quoted and any(isinstance(row["id"], str) for row in rows)):
                letters.append((number, offset))
                continue
            wanted += [
                (number, offset, place, int(row["id"]), row["name"], account, f"2013-01-0{1 + row['day']}")
                for place, row in enumerate(rows)
            ]
        columns = "k_partition, k_offset, k_ordinal, id, name, account, dt"
        assert sorted(hive.query(f"select {columns} from {table}")) == sorted(wanted)
        dead = f"select `partition`, `offset` from {hive_database}.{hive_database}_dead_letters"
        assert sorted(hive.query(dead)) == sorted(letters)
        for how in ("--contents", "--deep"):
            verified = command("verify", config, how, "--json")
            assert verified.code == 0, verified.out
        return len(letters)

    config = config_with(ID)
    run = run_once(config)
    assert run.code == 0, run.log[-3000:]
    before = check(config, quoted=False)
    ledger = LedgerText(HdfsTree(hdfs.client()), ledger_root(uri), table)
    accounts = [account for snapshot in ledger.history() for account in snapshot.get("account", [])]
    total = {name: sum(a.get(name, 0) for a in accounts) for name in ("read", "filtered", "dead_lettered")}
    empty = sum(rows == [] for _, rows in stored.values())
    assert total == {"read": MESSAGES, "filtered": empty, "dead_lettered": before}
    shown = command("preview", config, "--json", "-n", "4").document["tables"][0]["rows"]
    assert {row["values"]["account"] for row in shown} <= {f"acc{n}" for n in range(7)}

    config = config_with({**ID, "quoted": "accept"})
    run = run_once(config)
    assert run.code == 0, run.log[-3000:]
    replayed = command("dead-letters replay", config, "--table", table, "--json")
    assert replayed.code == 0, replayed.log
    after = check(config, quoted=True)
    assert 0 < after < before == replayed.document["letters"]
