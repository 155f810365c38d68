"""Records that are no flights: each becomes what docs/decoding.md says, and nothing is lost."""

import base64
import datetime
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest
from confluent_kafka import Producer

from tests.harness.program import command, run_once
from tests.harness.service_map import PLACE, ledger_root, location, write_map
from tests.oracle.data_files import partition_values, visible_rows
from tests.oracle.exact import assert_same_bytes, assert_settled, ends_of
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import Place

COLUMNS = {
    "id": "bigint",
    "name": "string",
    "price": "decimal(10,2)",
    "at": "timestamp",
    "inner": "struct<a:int,b:array<string>>",
    "blob": "binary",
}
AT = b'"at": "2013-01-01T05:00:00Z"'
MOMENT = datetime.datetime(2013, 1, 1, 5)
NOTHING: dict[str, Any] = dict.fromkeys(COLUMNS)
TOMBSTONE = "tombstone"
BIG = b"x" * 5_000_000


def row(**values: Any) -> dict[str, Any]:
    return NOTHING | {"at": MOMENT} | values


def nested(depth: int) -> bytes:
    """An object whose objects and arrays nest `depth` deep, itself counted."""
    return b"{" + AT + b', "else": ' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"


# record -> a row, the reason of a dead letter, or a tombstone
RECORDS: list[tuple[bytes | None, dict[str, Any] | str]] = [
    (b'{"id": 1, "name": "one", "price": "1.50", ' + AT + b"}", row(id=1, name="one", price="1.50")),
    (b"", "json.empty"),
    (b" \n", "json.empty"),
    (None, TOMBSTONE),
    (b"poison", "json.syntax"),
    (b'{"id": 1, "name": "cut o', "json.syntax"),
    (b"{" + AT + b"}{" + AT + b"}", "json.syntax"),
    (b'{"id": NaN, ' + AT + b"}", "json.syntax"),
    (b"[1, 2]", "json.object"),
    (b"null", "json.object"),
    (b'{"name": "\xff", ' + AT + b"}", "json.utf8"),
    (b'{"name": "\\ud800", ' + AT + b"}", "json.surrogate"),
    (b'{"id": "1", ' + AT + b"}", "json.type"),
    (b'{"id": 1.5, ' + AT + b"}", "json.type"),
    (b'{"inner": {"a": true}, ' + AT + b"}", "json.type"),
    (b'{"id": 9223372036854775808, ' + AT + b"}", "json.range"),
    (b'{"price": 1.005, ' + AT + b"}", "json.inexact"),
    (b'{"blob": "?", ' + AT + b"}", "json.base64"),
    (b'{"at": "yesterday"}', "json.timestamp"),
    (b'{"id": 1, "id": 1, ' + AT + b"}", "json.duplicate"),
    (b'{"inner": {"a": 1, "a": 2}, ' + AT + b"}", "json.duplicate"),
    (b'{"other": 1, "other": 2, ' + AT + b"}", row()),
    (nested(64), row()),
    (nested(65), "json.depth"),
    (nested(20_000), "json.depth"),
    (b'{"id": 7}', "bucket.no_time"),
    (b"{" + AT + b', "inner": {"b": ["x", null]}}', row(inner={"a": None, "b": ["x", None]})),
    (b'{"blob": "' + base64.b64encode(b"\x00\xff") + b'", ' + AT + b"}", row(blob=b"\x00\xff")),
    (b'{"name": "' + BIG + b'", ' + AT + b"}", row(name=BIG.decode())),
    (b'{"name": "' + BIG + b'"', "json.syntax"),
    (b'{"id": -9223372036854775808, ' + AT + b"}", row(id=-9223372036854775808)),
]
KEY, HEADERS = b"\xffkey", [("trace", b"\x00\xff"), ("trace", None), ("", b"")]


def send(bootstrap: str, topic: str) -> "dict[Place, bytes | None]":
    """All records in their order, to one topic partition, each with a key that is no text and three headers."""
    failed: list[object] = []

    def report(error: object, _message: object) -> None:
        if error is not None:
            failed.append(error)

    producer = Producer(
        {"bootstrap.servers": bootstrap, "message.max.bytes": 16 << 20, "enable.idempotence": True}
    )
    for value, _ in RECORDS:
        producer.produce(
            topic,
            value,
            KEY,
            0,
            headers=HEADERS,
            on_delivery=report,
        )
    assert producer.flush(300) == 0 and not failed, failed
    return {(topic, 0, offset): value for offset, (value, _) in enumerate(RECORDS)}


@pytest.mark.timeout(3600)
def test_every_odd_record_is_where_the_documentation_says(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    topic, uri = hive_database, f"{hdfs.namenode_url}/{hive_database}"
    kafka.create_topic(topic, config={"max.message.bytes": str(16 << 20)})
    stored = send(kafka.bootstrap, topic)
    strict, raw, dead = (f"{hive_database}.{name}" for name in ("strict", "raw", "dead"))
    common = {"topics": [topic], "start": "earliest", "metadata": PLACE, "dead_letter_share": 1}
    config = write_map(
        tmp_path,
        hive_database,
        kafka.bootstrap,
        uri,
        [
            {**common, "table": strict, "columns": COLUMNS, "bucket": {"field": "at"}},
            {**common, "table": raw, "format": "raw", "tombstones": "write"},
        ],
        hive={"url": f"hive://{hive.address}"},
        dead_letters={"table": dead},
    )
    done = run_once(config)
    assert done.code == 0, done.log[-3000:]
    tree = HdfsTree(hdfs.client())
    for table in (strict, raw):
        assert_settled(tree, ledger_root(uri), table, location(uri, table), ends_of(stored))
    assert_same_bytes(tree, location(uri, raw), stored)

    expected_rows = {n: want for n, (_, want) in enumerate(RECORDS) if isinstance(want, dict)}
    found = {}
    for visible in visible_rows(tree, location(uri, strict)):
        values = dict(visible.values)
        assert (values.pop("k_topic"), values.pop("k_partition")) == (topic, 0)
        assert visible.partition == "dt=2013-01-01"
        offset = values.pop("k_offset")
        assert offset not in found
        found[offset] = values | {"price": None if values["price"] is None else str(values["price"])}
    assert found == expected_rows

    reasons = {n: want for n, (_, want) in enumerate(RECORDS) if isinstance(want, str) and want != TOMBSTONE}
    letters = list(visible_rows(tree, location(uri, dead)))
    assert {letter.values["offset"]: letter.values["reason"] for letter in letters} == reasons
    assert len(letters) == len(reasons)
    for letter in letters:
        values = letter.values
        assert partition_values(letter.partition)["source_table"] == strict
        assert (values["topic"], values["partition"]) == (topic, 0)
        assert values["value"] == stored[topic, 0, values["offset"]]
        assert values["key"] == KEY
        assert [(h["key"], h["value"]) for h in values["headers"]] == HEADERS
        assert values["detail"] or values["reason"] == "json.empty", values["reason"]
        assert values["timestamp"] is not None

    by_reason = hive.query(
        f"select reason, count(*) from {dead} where source_table = '{strict}' group by reason"
    )
    assert Counter(dict(by_reason)) == Counter(reasons.values())
    poison = hive.query(
        f"select topic, `partition`, `offset`, hex(value), hex(key) from {dead} where `offset` = 4"
    )
    assert poison == [(topic, 0, 4, b"poison".hex().upper(), KEY.hex().upper())]
    listed = command("dead-letters list", config, "--json")
    assert listed.code == 0, listed.log
    assert {(g["table"], g["reason"]): g["count"] for g in listed.document["groups"]} == {
        (strict, reason): count for reason, count in Counter(reasons.values()).items()
    }
    shown = command("dead-letters show", config, f"{topic}-0@4", "--json")
    (letter,) = shown.document["dead_letters"]
    assert [base64.b64decode(letter[name]) for name in ("value", "key")] == [b"poison", KEY]
    headers = [(h["key"], h["value"]) for h in letter["headers"]]
    assert headers == [(k, None if v is None else base64.b64encode(v).decode()) for k, v in HEADERS]
    assert hive.query(f"select count(*) from {strict}") == [(len(expected_rows),)]
    assert hive.query(f"select count(*) from {raw}") == [(len(RECORDS),)]
    counts = orjson.loads(  # the ledger's own account of the epoch
        next(
            line.removeprefix("account ")
            for path in tree.files(ledger_root(uri))
            if strict in path
            for line in tree.read(path).decode().splitlines()
            if line.startswith("account ")
        )
    )
    assert counts["read"] == len(RECORDS)
    assert (counts["written"], counts["dead_lettered"], counts["tombstones"]) == (
        len(expected_rows),
        len(reasons),
        1,
    )
