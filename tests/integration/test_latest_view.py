"""The view of a change log's newest states in real Hive is the database's own state, after deletions, truncations and ties."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAID
from tests.contract.change_log_records import debezium
from tests.contract.test_canal import flat
from tests.harness.program import command, run_once
from tests.harness.service_map import write_map
from tests.integration.test_dump_change_logs import CHANGES, Database
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

PLACES = {"partition": "k_partition", "offset": "k_offset", "ordinal": "k_ordinal"}
COLUMNS = {"id": "bigint", "name": "string", "total": "decimal(10,2)"}
State = list[tuple[int, str, str]]


def customers(table: str, topic: str, source: str | dict[str, Any], **more: Any) -> dict[str, Any]:
    entry = {
        "table": table,
        "topics": [topic],
        "source": source,
        "columns": COLUMNS,
        "metadata": PLACES,
        "bucket": {"field": "__ts_ms", "unit": "ms"},
        "latest": {"key": ["id"]},
    }
    return entry | more


def state_of(database: Database) -> State:
    return [(key, row["name"], row["total"]) for key, row in sorted(database.rows.items())]


def seen(hive: HiveServer, view: str) -> State:
    return [
        (int(row[0]), str(row[1]), str(row[2]))
        for row in hive.query(f"select id, name, total from {view} order by id")
    ]


def change(op: str, lsn: int, **row: Any) -> bytes:
    after = row or None
    return json.dumps(debezium(op, None, after, {"lsn": lsn}, 1_356_998_400_000 + lsn)).encode()


@pytest.mark.timeout(3600)
def test_the_view_of_the_newest_states_is_the_database(
    kafka: KafkaBroker,
    hdfs: Hdfs,
    hive: HiveServer,
    hive_database: str,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    database, table, topic = Database(5), f"{hive_database}.customers", hive_database
    kafka.create_topic(topic, 1)
    produce(kafka.bootstrap, topic, database.log, 1, database.keys)
    kafka.create_topic(f"{topic}-canal", 1)
    produce(kafka.bootstrap, f"{topic}-canal", database.flat, 1)
    canal = customers(f"{table}_canal", f"{topic}-canal", "canal")
    tables = [customers(table, topic, "debezium"), canal]
    uri = f"{hdfs.namenode_url}/{hive_database}"
    hive_section = {"url": f"hive://me@127.0.0.1:{hive.port}/default?auth=NONE"}

    def dumped(entries: list[dict[str, Any]]) -> Path:
        config = write_map(tmp_path, topic, kafka.bootstrap, uri, entries, hive=hive_section)
        run = run_once(config)
        assert run.code == 0, run.log[-3000:]
        return config

    config = dumped(tables)
    assert database.rows and len(database.rows) < CHANGES
    began = time.monotonic()
    assert seen(hive, f"{table}_latest") == state_of(database)
    middle = time.monotonic()
    plain = hive.query(f"select count(*), max(name) from {table}")
    assert plain[0][0] == CHANGES
    took = f"view {middle - began:.1f} s, one scan {time.monotonic() - middle:.1f} s"
    record_property(SAID, f"{CHANGES} changes of {len(database.rows)} rows: {took}")
    assert seen(hive, f"{table}_canal_latest") == state_of(database)
    assert "CREATE OR REPLACE VIEW" not in command("plan", config).out, "the view is made again and again"

    # the same position twice: the offset decides; rows of one message of Canal: their ordinal
    lsn = 10_000
    produce(
        kafka.bootstrap,
        topic,
        [
            change("u", lsn, id=7, name="first", total="1.00"),
            change("u", lsn, id=7, name="second", total="2.00"),
        ],
        1,
    )
    both = [
        {"id": "7", "name": name, "total": total} for name, total in (("first", "1.00"), ("second", "2.00"))
    ]
    produce(
        kafka.bootstrap,
        f"{topic}-canal",
        [json.dumps(flat("UPDATE", both, ts=1_356_998_500_000)).encode()],
        1,
    )
    widened = [
        customers(table, topic, "debezium", columns=COLUMNS | {"city": "string"}, schema_evolution="add"),
        canal,
    ]
    dumped(widened)
    for view in (f"{table}_latest", f"{table}_canal_latest"):
        assert (7, "second", "2.00") in seen(hive, view)
    assert hive.query(f"select city from {table}_latest where id = 7") == [(None,)], (
        "the view lacks a new column"
    )

    # a truncation: what was before it is gone, what comes after it is there; a change that comes late is not
    late = change("u", lsn + 5, id=8, name="before the truncation", total="3.00")
    after = change("c", lsn + 20, id=9, name="after it", total="4.00")
    produce(kafka.bootstrap, topic, [change("t", lsn + 10), late, after], 1)
    dumped(widened)
    assert seen(hive, f"{table}_latest") == [(9, "after it", "4.00")]


def flattened(change: bytes, **more: Any) -> bytes:
    """The change as ExtractNewRecordState unwraps it, with `rewrite` and `add.fields: op,ts_ms,lsn`."""
    document = json.loads(change)
    envelope = document.get("payload", document)
    is_deletion = envelope["op"] == "d"
    fields = {"__deleted": str(is_deletion).lower(), "__op": envelope["op"], "__ts_ms": envelope["ts_ms"]}
    row = envelope["before" if is_deletion else "after"]
    flat_row = {**row, **fields, "__lsn": envelope["source"]["lsn"], **more}
    payload = {key: value for key, value in flat_row.items() if value is not None}
    return json.dumps(payload if envelope is document else {"schema": None, "payload": payload}).encode()


@pytest.mark.timeout(3600)
def test_the_view_of_flat_rows_is_the_database_by_positions_and_by_offsets(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    """One topic with positions and `rewrite`, of which some changes come again; one with tombstones instead of deletions."""
    database, table, topic = Database(7), f"{hive_database}.customers", hive_database
    flat_log = [None if change is None else flattened(change) for change in database.log]
    kafka.create_topic(topic, 1)
    again = [one for one in flat_log[:300] if one is not None]  # a connector after a crash
    newest = change("c", 90_000, id=5_000, name="late", total="7.00")
    quoted = flattened(newest, id="5000")
    marks = [b'{"ts_ms": 5}', json.dumps({"status": "BEGIN", "id": "x"}).encode()]
    produce(kafka.bootstrap, topic, [*flat_log, *again, quoted, *marks], 1)
    kafka.create_topic(f"{topic}-bare", 1)
    bare: list[bytes | None] = []
    bare_keys: list[bytes] = []
    for one, key in zip(database.log, database.keys, strict=True):
        is_deletion = one is not None and b'"op": "d"' in one
        if not is_deletion:  # the tombstone is all that comes of it
            bare.append(None if one is None else flattened(one, __op=None, __lsn=None, id=None))
            bare_keys.append(key)
    produce(kafka.bootstrap, f"{topic}-bare", bare, 1, bare_keys)
    uri = f"{hdfs.namenode_url}/{hive_database}"
    hive_section = {"url": f"hive://me@127.0.0.1:{hive.port}/default?auth=NONE"}
    of_position = {"debezium": {"form": "flat", "position": True, "decimals": "text"}}
    tombstones = customers(
        f"{table}_bare",
        f"{topic}-bare",
        {"debezium": {"form": "flat", "decimals": "text"}},
        columns=COLUMNS | {"id": {"type": "bigint", "key": "$.id"}},
        key_format="json",
        tombstones="write",
        bucket={"time": "record"},
    )

    def dumped(**more: Any) -> Path:
        entries = [customers(table, topic, of_position, dead_letter_share=1, **more), tombstones]
        config = write_map(tmp_path, topic, kafka.bootstrap, uri, entries, hive=hive_section)
        run = run_once(config)
        assert run.code == 0, run.log[-3000:]
        deep = command("verify", config, "--deep", "--json")
        assert deep.code == 0, deep.out
        return config

    dumped()
    for view in (f"{table}_latest", f"{table}_bare_latest"):
        assert seen(hive, view) == state_of(database), view
    letters = hive.query(f"select reason from {hive_database}.{topic}_dead_letters")
    assert letters == [("json.type",)]
    assert hive.query(f"select count(*) from {table}") == [(CHANGES + len(again),)]
    operations = hive.query(f"select distinct `__op` from {table}_bare order by 1")
    assert operations == [("d",), ("u",)]

    config = dumped(columns=COLUMNS | {"id": {"type": "bigint", "quoted": "accept"}})
    replayed = command("dead-letters replay", config, "--table", table, "--json")
    assert replayed.code == 0, replayed.log
    assert (replayed.document["letters"], replayed.document["written"]) == (1, 1)
    assert seen(hive, f"{table}_latest") == [*state_of(database), (5_000, "late", "7.00")]
    deep = command("verify", config, "--deep", "--json")
    assert deep.code == 0, deep.out


@pytest.mark.timeout(3600)
def test_the_view_of_ticdcs_messages_goes_by_their_commit_timestamps_and_has_their_blobs(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    table, topic = f"{hive_database}.customers", hive_database
    kafka.create_topic(topic, 1)

    def message(kind: str, commit: int | None, *ids: int, data: bytes = b"") -> bytes:
        rows = [{"id": str(n), "name": f"{commit}", "data": data.decode("latin-1")} for n in ids]
        extension = {} if commit is None else {"_tidb": {"commitTs": commit}}
        return json.dumps(flat(kind, rows, ts=1_356_998_400_000, **extension)).encode()

    log = [
        message("INSERT", 10, 1, 2, 3, data=bytes(range(256))),
        message("UPDATE", 12, 1, data=b"\xff\x00"),
        message("DELETE", 13, 2),
        message("INSERT", 10, 1, 2, 3),  # TiCDC writes them again
        message("UPDATE", None, 3),
        json.dumps(flat("UPDATE", [{"id": "3", "data": "\u0100"}], _tidb={"commitTs": 14})).encode(),
    ]
    produce(kafka.bootstrap, topic, log, 1)
    columns = {"id": "bigint", "name": "string", "data": "binary"}
    source = {"canal": {"binary": "latin1", "position": True}}
    entry = customers(table, topic, source, columns=columns, dead_letter_share=1)
    uri = f"{hdfs.namenode_url}/{hive_database}"
    hive_section = {"url": f"hive://me@127.0.0.1:{hive.port}/default?auth=NONE"}
    config = write_map(tmp_path, topic, kafka.bootstrap, uri, [entry], hive=hive_section)
    run = run_once(config)
    assert run.code == 0, run.log[-3000:]
    view = hive.query(f"select id, name, hex(data) from {table}_latest order by id")
    assert view == [(1, "12", "FF00"), (3, "10", "")]
    whole = hive.query(f"select hex(data) from {table} where k_offset = 0 and k_ordinal = 0")
    assert whole == [(bytes(range(256)).hex().upper(),)]
    reasons = hive.query(f"select reason from {hive_database}.{topic}_dead_letters order by `offset`")
    assert reasons == [("change_log.position",), ("canal.latin1",)]
    deep = command("verify", config, "--deep", "--json")
    assert deep.code == 0, deep.out


@pytest.mark.timeout(3600)
def test_a_value_that_postgres_did_not_log_is_never_a_placeholder(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    """The connector's placeholders are dead letters until the map marks them; then the view has the newest known values."""
    table, topic = f"{hive_database}.orders", hive_database
    kafka.create_topic(topic, 1)
    text = "__debezium_unavailable_value"
    base64 = "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="
    full = {
        "status": "new",
        "doc": "long",
        "bin": "Ymlu",
        "tags": ["a", "b"],
        "nums": [1, 2],
        "pairs": {"k": "v"},
    }
    absent = {"doc": text, "bin": base64, "tags": [text], "nums": list(text.encode()), "pairs": {text: text}}
    log = [
        change("c", 1, id=1, **full),
        change("u", 2, id=1, **full | absent | {"status": "paid", "nums": [3]}),
        change("u", 3, id=1, **full | absent | {"status": "sent", "doc": None}),
        change("c", 4, id=2, **full),
        json.dumps(debezium("d", {"id": 2}, None, {"lsn": 5}, 1_356_998_400_005)).encode(),
        change("c", 6, id=2, **full | absent),
        change("c", 7, id=3, **full),
    ]
    produce(kafka.bootstrap, topic, log, 1)
    columns = {
        "id": "bigint",
        "status": "string",
        "doc": "string",
        "bin": "binary",
        "tags": "array<string>",
        "nums": "array<int>",
        "pairs": "map<string,string>",
    }
    uri = f"{hdfs.namenode_url}/{hive_database}"
    hive_section = {"url": f"hive://me@127.0.0.1:{hive.port}/default?auth=NONE"}
    entry = customers(table, topic, "debezium", columns=columns, dead_letter_share=1)

    config = write_map(tmp_path, topic, kafka.bootstrap, uri, [entry], hive=hive_section)
    run = run_once(config)
    assert run.code == 0, run.log[-3000:]
    letters = hive.query(f"select reason, detail from {hive_database}.{topic}_dead_letters")
    assert [reason for reason, _ in letters] == ["change_log.unavailable"] * 3
    assert all("set source: {debezium: {unavailable: mark}}" in detail for _, detail in letters)
    assert hive.query(f"select count(*) from {table}") == [(4,)]

    marked = customers(
        f"{table}_marked",
        topic,
        {"debezium": {"unavailable": "mark"}},
        columns=columns,
    )
    now_marked = entry | {"source": {"debezium": {"unavailable": "mark"}}, "schema_evolution": "add"}
    config = write_map(tmp_path, topic, kafka.bootstrap, uri, [now_marked, marked], hive=hive_section)
    run = run_once(config)
    assert run.code == 0, run.log[-3000:]
    replayed = command("dead-letters replay", config, "--table", table, "--json")
    assert replayed.code == 0, replayed.log
    assert (replayed.document["letters"], replayed.document["written"]) == (3, 3)
    assert "not logged by the database, so NULL and named in __unavailable" in run.log
    table = f"{table}_marked"
    everything = ["doc", "bin", "tags", "nums", "pairs"]
    marks = hive.query(f"select k_offset, doc, `__unavailable` from {table} order by k_offset")
    assert [row[0] for row in marks if row[2] is not None] == [1, 2, 5]
    assert json.loads(marks[1][2]) == ["doc", "bin", "tags", "pairs"]
    assert json.loads(marks[2][2]) == ["bin", "tags", "nums", "pairs"]
    assert json.loads(marks[5][2]) == everything and marks[5][1] is None
    view = hive.query(
        "select id, status, doc, cast(bin as string), tags, nums, pairs, `__unavailable`"
        f" from {table}_latest order by id"
    )
    shown = [[*row[:4], *(one and json.loads(one) for one in row[4:])] for row in view]
    assert shown == [
        [1, "sent", None, "bin", ["a", "b"], [3], {"k": "v"}, None],
        [2, "new", None, None, None, None, None, everything],
        [3, "new", "long", "bin", ["a", "b"], [1, 2], {"k": "v"}, None],
    ]
    same = "select id, status, doc, size(tags), size(`__unavailable`) from {}_latest order by id"
    unmarked = table.removesuffix("_marked")
    assert hive.query(same.format(unmarked)) == hive.query(same.format(table))
    deep = command("verify", config, "--deep", "--json")
    assert deep.code == 0, deep.log
    assert "CREATE OR REPLACE VIEW" not in command("plan", config).out, "the view is made again and again"


@pytest.mark.timeout(3600)
def test_what_has_no_order_fails_the_query_and_a_table_of_the_views_name_sets_its_table_aside(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    table, topic = f"{hive_database}.customers", hive_database
    kafka.create_topic(topic, 2)
    for number, key in ((0, 1), (1, 1), (1, 2)):
        produce(kafka.bootstrap, topic, [change("c", 10 + number, id=key, name="x", total="1.00")], [number])
    # truncations on topic partition 0, rows on 1: Debezium's positions order them, Canal has none
    truncated = [
        change("c", 10, id=1, name="before", total="1.00"),
        change("t", 20),
        change("c", 30, id=2, name="after", total="2.00"),
    ]
    kafka.create_topic(f"{topic}-truncated", 2)
    produce(kafka.bootstrap, f"{topic}-truncated", truncated, [1, 0, 1])
    row = {"id": "1", "name": "x", "total": "1.00"}
    flat_log = [json.dumps(flat(*one)).encode() for one in (("TRUNCATE", None), ("INSERT", [row]))]
    kafka.create_topic(f"{topic}-canal", 2)
    produce(kafka.bootstrap, f"{topic}-canal", flat_log, 2)
    entries = [
        customers(table, topic, "debezium"),
        customers(f"{table}_truncated", f"{topic}-truncated", "debezium"),
        customers(f"{table}_canal", f"{topic}-canal", "canal"),
    ]
    uri = f"{hdfs.namenode_url}/{hive_database}"
    hive_section = {"url": f"hive://me@127.0.0.1:{hive.port}/default?auth=NONE"}
    config = write_map(tmp_path, topic, kafka.bootstrap, uri, entries, hive=hive_section)
    hive.query(f"create table {table}_latest (id bigint)")
    refused = run_once(config)
    assert refused.code == 75 and "hive.not_a_view" in refused.log, refused.log[-3000:]
    hive.query(f"drop table {table}_latest")
    run = run_once(config)
    assert run.code == 0, run.log[-3000:]
    assert hive.query(f"select count(*) from {table}") == [(3,)]
    assert hive.query(f"select count(*) from {table}_canal") == [(2,)]
    for view in (f"{table}_latest", f"{table}_canal_latest"):
        with pytest.raises(Exception, match=r"(?i)assert|return code 2|failed"):
            seen(hive, view)
    assert seen(hive, f"{table}_truncated_latest") == [(2, "after", "2.00")]
