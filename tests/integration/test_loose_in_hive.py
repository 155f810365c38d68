"""Values as people and databases write them: dead letters, rows once the map has the keys, and what HiveServer2 shows of them."""

import json
from pathlib import Path
from typing import Any

from tests.harness.program import command, run_once
from tests.harness.service_map import write_map
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

TYPES = {
    "id": "bigint",
    "n": "bigint",
    "ok": "boolean",
    "price": "decimal(9,2)",
    "ratio": "double",
    "until": "timestamp",
    "day": "date",
}
KEYS: dict[str, dict[str, Any]] = {
    "n": {"whole": "accept"},
    "ok": {"booleans": {"true": ["J", 1], "false": ["N", 0]}},
    "price": {"numbers": {"thousands": ".", "decimal": ","}},
    "ratio": {"non_finite": "keep"},
    "until": {"beyond": "clamp"},
    "day": {"beyond": "null"},
}
LAST, FIRST = "9999-12-31 23:59:59.999999", "0001-01-01 00:00:00"
VALUES = [
    ('"n":7,"ok":true,"price":1.5,"ratio":0.5', ("7", "TRUE", "1.50", "0.5", None, None)),
    ('"n":1e3,"ok":"J","price":"1.234,56","ratio":NaN', ("1000", "TRUE", "1234.56", "NaN", None, None)),
    ('"n":8.0,"ok":0,"ratio":"-Infinity"', ("8", "FALSE", None, "-Infinity", None, None)),
    ('"ratio":Infinity,"until":"infinity","day":"infinity"', (None, None, None, "Infinity", LAST, None)),
    ('"until":"-infinity","day":"9999-12-31"', (None, None, None, None, FIRST, "9999-12-31")),
]
"""Members of a record, and what Hive shows as texts; the first one needs no key."""
COUNT = 100
BAD = b'{"id":-1,"price":"1.50,5"}'
"""Never a row: the map's marks make groups of three digits."""


def record(number: int) -> bytes:
    return f'{{"id":{number},{VALUES[number % len(VALUES)][0]}}}'.encode()


def shown(numbers: range) -> list[tuple[Any, ...]]:
    return [(number, *VALUES[number % len(VALUES)][1]) for number in numbers]


class Service:
    """One table, with or without KEYS."""

    def __init__(self, kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, name: str, folder: Path) -> None:
        self.kafka, self.hive, self.name, self.folder = kafka, hive, name, folder
        self.uri, self.table = f"{hdfs.namenode_url}/{name}", f"{name}.events"

    def map(self, keys: dict[str, dict[str, Any]]) -> Path:
        columns = {name: {"type": kind, **keys.get(name, {})} for name, kind in TYPES.items()}
        table = {
            "table": self.table,
            "topics": [self.name],
            "start": "earliest",
            "columns": columns,
            "metadata": {"topic": "k_topic", "partition": "k_partition", "offset": "k_offset"},
            "flush": {"interval": "1s"},
            "dead_letter_share": 1.0,
        }
        hive = {"url": f"hive://{self.hive.address}"}
        return write_map(self.folder, self.name, self.kafka.bootstrap, self.uri, [table], hive=hive)

    def rows(self) -> list[tuple[Any, ...]]:
        texts = ", ".join(f"cast(`{name}` as string)" for name in list(TYPES)[1:])
        return self.hive.query(f"select id, {texts} from {self.table} order by id")


def test_dead_letters_become_rows_once_the_map_takes_their_values(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    service = Service(kafka, hdfs, hive, hive_database, tmp_path)
    kafka.create_topic(hive_database, 1)
    half = COUNT // 2
    produce(kafka.bootstrap, hive_database, [*map(record, range(half)), BAD], 1)
    done = run_once(service.map({}))
    assert done.code == 0, done.log[-3000:]
    plain = [row for row in shown(range(half)) if row[0] % len(VALUES) == 0]
    assert service.rows() == plain

    config = service.map(KEYS)
    replayed = command("dead-letters replay", config, "--table", service.table, "--json")
    assert (replayed.code, replayed.document["rows"]) == (0, half - len(plain)), replayed.log
    assert service.rows() == shown(range(half))
    assert [one["reason"] for one in replayed.document["refusals"]] == ["json.type"]
    assert "the marks of the column's numbers" in json.dumps(replayed.document["refusals"])

    produce(kafka.bootstrap, hive_database, map(record, range(half, COUNT)), 1)
    done = run_once(config)
    assert done.code == 0, done.log[-3000:]
    assert service.rows() == shown(range(COUNT))
    for kind in ("(whole: accept)", "(booleans)", "(numbers)", "(non_finite)", "(beyond)"):
        assert kind in done.log
    ((above, total),) = hive.query(
        f"select sum(case when ratio > 1 then 1 else 0 end), cast(sum(ratio) as string) from {service.table}"
    )
    assert (above, total) == (COUNT // len(VALUES), "NaN"), "NaN is above no number"
    verified = command("verify", config, "--deep", "--json")
    assert verified.code == 0, verified.log
    assert [table["findings"] for table in verified.document["tables"]] == [[]]
