"""Rules of columns on real services: what HiveServer2 shows of rows and letters, a replay by a looser rule, and the audit."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.harness.program import command, run_once
from tests.harness.service_map import PLACE, write_map
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

COUNT = 600
RULES: dict[str, dict[str, Any]] = {
    "id": {"type": "bigint", "required": True, "min": 0},
    "price": {"type": "decimal(9,2)", "max": "99.99"},
    "state": {"type": "string", "values": ["new", "paid"]},
    "code": {"type": "string", "pattern": "[A-Z]{3}"},
    "at": {"type": "timestamp", "min": "2013-01-01"},
}
FAULTS: list[tuple[str, dict[str, Any]]] = [
    ("", {}),
    ("rule.required", {"id": None}),
    ("rule.max", {"price": "100.00"}),
    ("rule.values", {"state": "sent"}),
    ("rule.pattern", {"code": "ABCD"}),
    ("rule.min", {"at": "2012-12-31T23:59:59"}),
]


def order(number: int) -> dict[str, Any]:
    good = {"id": number, "price": "99.99", "state": "paid", "code": "ABC", "at": "2013-01-01T00:00:00"}
    return good | FAULTS[number % len(FAULTS)][1]


def test_hive_shows_rows_that_obey_and_letters_of_those_that_do_not(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    uri = f"{hdfs.namenode_url}/{hive_database}"
    kafka.create_topic(hive_database, 2)
    produce(kafka.bootstrap, hive_database, [json.dumps(order(n)).encode() for n in range(COUNT)], 2)
    lines = f"{hive_database}-lines"
    kafka.create_topic(lines, 1)
    several = ['{"a":1}\n{"a":2}', '{"a":1}\n{"a":2}\n{"a":1}', '{"a":3}\n{"a":3}']
    produce(kafka.bootstrap, lines, [text.encode() for text in several], 1)
    ruled, counted, unique = (f"{hive_database}.{name}" for name in ("ruled", "counted", "unique_rows"))

    def write(**changed: Any) -> Path:
        every: dict[str, Any] = {"start": "earliest", "flush": {"interval": "1s"}, "dead_letter_share": 1.0}
        orders = {**every, "topics": [hive_database], "metadata": PLACE}
        columns = {name: keys | changed.get(name, {}) for name, keys in RULES.items()}
        tables = [
            {**orders, "table": ruled, "columns": columns},
            {**orders, "table": counted, "columns": RULES, "on_break": "count"},
            {
                **every,
                "table": unique,
                "topics": [lines],
                "rows": "lines",
                "columns": {"a": "int"},
                "unique_within_message": ["a"],
            },
        ]
        section = {"url": f"hive://{hive.address}"}
        return write_map(tmp_path, hive_database, kafka.bootstrap, uri, tables, hive=section)

    def rows(table: str) -> list[int]:
        return sorted(-1 if id is None else int(id) for (id,) in hive.query(f"select id from {table}"))

    def letters(table: str) -> Counter[str]:
        name = f"{hive_database}.{hive_database}_dead_letters"
        found = hive.query(f"select reason from {name} where source_table = '{table}'")
        return Counter(reason for (reason,) in found)

    config = write()
    done = run_once(config)
    assert done.code == 0, done.log[-3000:]
    share = COUNT // len(FAULTS)
    good = list(range(0, COUNT, len(FAULTS)))
    assert rows(ruled) == good
    assert letters(ruled) == {code: share for code, _ in FAULTS[1:]}
    every_id = [-1 if n % len(FAULTS) == 1 else n for n in range(COUNT)]
    assert rows(counted) == sorted(every_id) and letters(counted) == {}
    assert [a for (a,) in hive.query(f"select a from {unique} order by a")] == [1, 2]
    assert letters(unique) == {"rule.unique_within_message": 2}
    assert f"{counted}: in this epoch {share} rows broke the rule values of column state" in done.log
    assert f"{ruled}: in this epoch {share} rows broke the rule required of column id" in done.log

    audited = command("verify", config, "--deep", "--json")
    told = {table["table"]: table for table in audited.document["tables"]}
    assert audited.code == 0 and [table["findings"] for table in told.values()] == [[], [], []]
    assert [told[name]["not_checked"] for name in (ruled, counted, unique)] == [
        ["pattern of code"],
        [],
        ["unique_within_message"],
    ]

    # a looser rule: its letters become rows once
    config = write(state={"values": ["new", "paid", "sent"]})
    replayed = command("dead-letters replay", config, "--table", ruled, "--json")
    assert (replayed.code, replayed.document["rows"]) == (0, share), replayed.log
    sent = list(range(3, COUNT, len(FAULTS)))
    assert rows(ruled) == sorted([*good, *sent])
    assert letters(ruled) == {code: share for code, _ in FAULTS[1:] if code != "rule.values"}
    assert command("verify", config, "--deep").code == 0

    # a stricter rule concerns rows that are there already, and the audit says so
    config = write(state={"values": ["new", "sent"]})
    audited = command("verify", config, "--deep", "--json", "--table", ruled)
    (table,) = audited.document["tables"]
    broken = [one["message"] for one in table["findings"] if one["code"] == "verify.rule"]
    assert sum(int(message.split()[0]) for message in broken) == len(good)
    assert all("with a value in column state that is none of its values" in text for text in broken)
