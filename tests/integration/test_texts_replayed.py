"""Texts, quotes and times in other forms: letters while the map lacks their keys, exactly these rows after a replay with them."""

import json
from pathlib import Path
from typing import Any

from tests.harness.program import command, run_once
from tests.harness.service_map import PLACE, write_map
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

TYPES = {
    "id": "bigint",
    "n": "bigint",
    "ratio": "double",
    "props": "string",
    "sorted": "string",
    "at": "timestamp",
    "ts": "timestamp",
    "day": "date",
}
KEYS: dict[str, dict[str, Any]] = {
    "n": {"quoted": "accept", "empty": "null"},
    "ratio": {"quoted": "accept"},
    "props": {"json": "text"},
    "sorted": {"json": "canonical"},
    "at": {"time_pattern": ["dd/MM/yyyy HH:mm", "iso", "array"]},
    "ts": {"unit": "s", "epoch": "decimal", "quoted": "accept"},
    "day": {"time_of_day": "drop"},
}
VALUES: list[tuple[str, tuple[str | None, ...]]] = [
    (
        '"n":7,"ratio":0.5,"props":"x","at":"2024-01-31T12:30:00Z"',
        ("7", "0.5", "x", None, "2024-01-31 12:30:00", None, None),
    ),
    ('"n":"9007199254740993","ratio":"1.5"', ("9007199254740993", "1.5", None, None, None, None, None)),
    (
        '"n":"","props":{ "b": 1.10, "a":[1E400]}',
        (None, None, '{ "b": 1.10, "a":[1E400]}', None, None, None, None),
    ),
    (
        '"sorted":{"b":1.10,"a" : {"d":"\\u00e9","c":null}}',
        (None, None, None, '{"a":{"c":null,"d":"é"},"b":1.10}', None, None, None),
    ),
    (
        '"at":"31/01/2024 12:30","ts":"1706704200.25"',
        (None, None, None, None, "2024-01-31 12:30:00", "2024-01-31 12:30:00.25", None),
    ),
    (
        '"at":[2024,1,31,12,30,15],"day":"2024-01-31T23:59:59Z"',
        (None, None, None, None, "2024-01-31 12:30:15", None, "2024-01-31"),
    ),
]
"""Members of a record, and what Hive shows as texts; the first one needs no key."""
COUNT = 60
BAD = b'{"id":-1,"at":"31.01.2024"}'
"""Never a row: no pattern fits."""


def record(number: int) -> str:
    return f'{{"id":{number}, {VALUES[number % len(VALUES)][0]}}}'


def shown(numbers: range) -> list[tuple[Any, ...]]:
    return [(number, *VALUES[number % len(VALUES)][1], record(number)) for number in numbers]


def test_letters_of_texts_become_exactly_their_rows_once_the_map_takes_them(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    table = f"{hive_database}.events"

    def write(keys: dict[str, dict[str, Any]]) -> Path:
        columns: dict[str, Any] = {name: {"type": kind, **keys.get(name, {})} for name, kind in TYPES.items()}
        if not keys:
            columns["ts"]["unit"] = "s"
        columns["doc"] = {"type": "string", "from": "$", "json": "text"}
        entry = {
            "table": table,
            "topics": [hive_database],
            "start": "earliest",
            "columns": columns,
            "metadata": PLACE,
            "flush": {"interval": "1s"},
            "dead_letter_share": 1.0,
        }
        uri, section = f"{hdfs.namenode_url}/{hive_database}", {"url": f"hive://{hive.address}"}
        return write_map(tmp_path, hive_database, kafka.bootstrap, uri, [entry], hive=section)

    def rows() -> list[tuple[Any, ...]]:
        texts = ", ".join(f"cast(`{name}` as string)" for name in list(TYPES)[1:])
        return hive.query(f"select id, {texts}, doc from {table} order by id")

    kafka.create_topic(hive_database, 1)
    half = COUNT // 2
    produce(kafka.bootstrap, hive_database, [*(record(n).encode() for n in range(half)), BAD], 1)
    done = run_once(write({}))
    assert done.code == 0, done.log[-3000:]
    plain = [row for row in shown(range(half)) if row[0] % len(VALUES) == 0]
    assert rows() == plain

    config = write(KEYS)
    replayed = command("dead-letters replay", config, "--table", table, "--json")
    assert (replayed.code, replayed.document["rows"]) == (0, half - len(plain)), replayed.log
    assert rows() == shown(range(half))
    assert [one["reason"] for one in replayed.document["refusals"]] == ["json.timestamp"]
    again = command("dead-letters replay", config, "--table", table, "--json")
    assert (again.code, again.document["rows"]) == (0, 0), again.log

    produce(kafka.bootstrap, hive_database, [record(n).encode() for n in range(half, COUNT)], 1)
    done = run_once(config)
    assert done.code == 0, done.log[-3000:]
    assert rows() == shown(range(COUNT))
    ((nested,),) = hive.query(f"select get_json_object(props, '$.b') from {table} where id = 2")
    assert json.loads(nested) == 1.1
    verified = command("verify", config, "--deep", "--json")
    assert verified.code == 0, verified.log
    assert [one["findings"] for one in verified.document["tables"]] == [[]]
