"""Tables that Hive has otherwise than the map, and a Hive that is away before a table was ever compared."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.harness.program import Running, command, run_once
from tests.harness.service_map import (
    FLIGHT_COLUMNS,
    flights_table,
    ledger_root,
    location,
    write_map,
)
from tests.oracle.exact import assert_exactly, assert_settled, ends_of, flight, flights_by_month
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.jars import IS_OLD_HIVE
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

COLUMNS = ", ".join(f"`{name}` {kind}" for name, kind in FLIGHT_COLUMNS.items())
OURS = f"({COLUMNS}, k_topic string, k_partition int, k_offset bigint)"
BY_MONTH = "partitioned by (dt string)"


@pytest.mark.timeout(3600)
def test_nothing_is_committed_to_tables_that_hive_has_otherwise_until_they_are_corrected(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    topic, uri, tree = hive_database, f"{hdfs.namenode_url}/{hive_database}", HdfsTree(hdfs.client())
    kafka.create_topic(topic, 2)
    stored = produce(kafka.bootstrap, topic, flights()[:5_000], 2)

    def name(table: str) -> str:
        return f"{hive_database}.{table}"

    def at(table: str) -> str:
        return f"location '{location(uri, name(table))}'"

    typed = OURS.replace("`year` bigint", "`year` string")
    wrong = {
        "text": f"create external table {name('text')} {OURS} {BY_MONTH} stored as textfile {at('text')}",
        "orc": f"create external table {name('orc')} {OURS} {BY_MONTH} stored as orc {at('orc')}",
        "typed": f"create external table {name('typed')} {typed} {BY_MONTH} stored as parquet {at('typed')}",
        "daily": f"create external table {name('daily')} {OURS} partitioned by (month_of string) stored as parquet {at('daily')}",
        "flat": f"create external table {name('flat')} {OURS} stored as parquet {at('flat')}",
        "seen": f"create view {name('seen')} as select 1 as `year`",
        "managed": f"create table {name('managed')} {OURS} {BY_MONTH} stored as parquet {at('managed')}",
        "moved": f"create external table {name('moved')} {OURS} {BY_MONTH} stored as parquet {at('elsewhere')}",
    }
    for statement in wrong.values():
        hive.query(statement)
    config = write_map(
        tmp_path,
        hive_database,
        kafka.bootstrap,
        uri,
        [
            flights_table(name("well"), topic),
            *(flights_table(name(table), topic) for table in wrong),
            flights_table(name("absent"), topic, create=False),
        ],
        hive={"url": f"hive://{hive.address}"},
    )
    codes = {
        "text": "hive.format",
        "orc": "hive.format",
        "typed": "hive.columns",
        "daily": "hive.partition_columns",
        "flat": "hive.partition_columns",
        "seen": "hive.not_a_table",
        "managed": "hive.managed",
        "moved": "hive.location",
        "absent": "hive.no_table",
    }

    def assert_only_the_healthy_one_is_dumped(log: str) -> None:
        for table, code in codes.items():
            assert f"{name(table)} is set aside" in log and f"[{code}]" in log, table
            for directory in (location(uri, name(table)), f"{ledger_root(uri)}/kafka_partition_offsets"):
                assert [p for p in tree.files(directory) if f"/{table}/" in p or f".{table}/" in p] == []
        assert_settled(tree, ledger_root(uri), name("well"), location(uri, name("well")), ends_of(stored))
        assert_exactly(tree, location(uri, name("well")), stored, flight)
        assert hive.query(f"select count(*) from {name('well')}") == [(len(stored),)]

    first = run_once(config)
    assert first.code == 75, first.log[-3000:]
    assert_only_the_healthy_one_is_dumped(first.log)

    def is_told(messages: list[str], table: str, code: str) -> bool:
        return any(f"{name(table)} is set aside" in text and f"[{code}]" in text for text in messages)

    with Running(config) as run:
        run.wait_until(
            lambda: all(is_told(messages, *each) for messages in [run.messages()] for each in codes.items()),
            "all looked at",
            pause=0.5,
        )
        run.wait_until(lambda: run.said("the query runs"), "done with its take-overs")
        assert_only_the_healthy_one_is_dumped(run.log.read_text())
        hive.query(f"drop table {name('text')}")
        properties = (
            "'EXTERNAL'='TRUE'"
            if IS_OLD_HIVE
            else "'TRANSLATED_TO_EXTERNAL'='FALSE', 'external.table.purge'='FALSE'"
        )
        hive.query(f"alter table {name('managed')} set tblproperties ({properties})")
        hive.query(f"alter table {name('moved')} set {at('moved')}")
        corrected = ["text", "managed", "moved"]
        run.wait_until(
            lambda: {name(table): 0 for table in corrected}.items() <= _lags(config).items(),
            "corrected",
            pause=1.0,
        )
        ledgers = [LedgerText(tree, ledger_root(uri), name(table)) for table in corrected]
        run.wait_until(lambda: not any(text.newest()["unregistered"] for text in ledgers), "in Hive", pause=1)
        assert run.terminate() == 143, run.tail()
    for table in corrected:
        assert_settled(tree, ledger_root(uri), name(table), location(uri, name(table)), ends_of(stored))
        assert_exactly(tree, location(uri, name(table)), stored, flight)
        assert hive.query(f"select count(*) from {name(table)}") == [(len(stored),)]
    for table in ("orc", "typed", "daily", "flat", "seen"):
        assert tree.files(location(uri, name(table))) == {}, table


@pytest.mark.timeout(3600)
def test_a_table_waits_for_hives_first_answer_then_dumps_on_without_hive_which_learns_it_all(
    kafka: KafkaBroker, hdfs: Hdfs, hive_away: HiveServer, unique: str, tmp_path: Path
) -> None:
    uri, table, tree = f"{hdfs.namenode_url}/{unique}", f"{unique}.flights", HdfsTree(hdfs.client())
    kafka.create_topic(unique, 2)
    stored = produce(kafka.bootstrap, unique, flights()[:5_000], 2)
    hive, ledger = hive_away, LedgerText(tree, ledger_root(uri), table)

    def service(timeout: str) -> Path:
        tables = [flights_table(table, unique)]
        section = {"url": f"hive://{hive.address}", "timeout": timeout}
        return write_map(tmp_path, unique, kafka.bootstrap, uri, tables, hive=section)

    with Running(service("10s")) as run:
        run.wait_until(lambda: run.said("hive.not_compared"), "told to wait")
        assert tree.files(location(uri, table)) == {} == tree.files(f"{ledger_root(uri)}/{table}")
        assert tree.files(f"{ledger_root(uri)}/kafka_partition_offsets") == {}
        hive.start()
        run.wait_until(lambda: ledger.ends() == ends_of(stored), "dumped", 900)
        refusals = [said for said in run.messages() if f"{table} is set aside" in said]
        assert refusals and all("[hive.not_compared]" in said for said in refusals), run.tail()
        assert run.terminate() == 143, run.tail()
    assert_exactly(tree, location(uri, table), stored, flight)
    for part, hide in enumerate((hive.service.suspend, hive.kill), 1):
        hide()
        stored |= produce(kafka.bootstrap, unique, flights()[part * 90_000 :][:1_000], 2)  # of another month
        config = service("3s")
        done = run_once(config, patient=False)
        assert (done.code, "hive.not_compared" in done.log) == (69, False), done.log[-3000:]
        assert (
            "[hive.unavailable] " in done.log and "are not registered" in done.log and "recover" in done.log
        )
        assert "are not registered in Hive yet" in done.log and f": HiveServer2 at {hive.address}" in done.log
        assert_exactly(tree, location(uri, table), stored, flight)
    assert_settled(tree, ledger_root(uri), table, location(uri, table), ends_of(stored))
    with Running(config) as run:
        run.wait_until(lambda: run.said("Hive does not answer"), "without Hive")
        warning = "Hive has not answered"
        run.wait_until(lambda: any(warning in line for line in _service_warnings(config)), "warned", 900)
        hive.start()
        run.wait_until(lambda: _status(config)["unregistered"] == [], "registered", 900, pause=1)
        run.wait_until(lambda: run.said("Hive answers again, after"), "with Hive again")
        assert run.terminate() == 143, run.tail()
    by_month = flights_by_month(stored)
    assert len(by_month) == 3
    assert Counter(dict(hive.query(f"select dt, count(*) from {table} group by dt"))) == by_month


def _status(config: Path) -> dict[str, Any]:
    """`status --json` of the only table."""
    (table,) = command("status", config, "--json").document["tables"]
    assert isinstance(table, dict)
    return table


def _service_warnings(config: Path) -> list[str]:
    return list(command("status", config, "--json").document["warnings"])


def _lags(config: Path) -> dict[str, int]:
    """Of the tables that have a ledger, and positions."""
    found = command("status", config, "--json").document["tables"]
    return {table["table"]: table["lag_records"] for table in found if table["partitions"]}
