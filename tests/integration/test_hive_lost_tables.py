"""Tables that somebody drops, renames or creates again in Hive while a run lives: all their partitions come back."""

from pathlib import Path

import pytest

from tests.harness.program import Running, command, run_once
from tests.harness.service_map import FLIGHT_COLUMNS, flights_table, ledger_root, location, write_map
from tests.oracle.exact import ends_of
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

MONTHS = 12
COLUMNS = ", ".join(f"`{name}` {kind}" for name, kind in FLIGHT_COLUMNS.items())


@pytest.mark.timeout(1800)
def test_every_partition_of_a_busy_and_an_idle_table_comes_back(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    uri, tree = f"{hdfs.namenode_url}/{hive_database}", HdfsTree(hdfs.client())
    stored = {}
    for table in ("busy", "idle"):
        kafka.create_topic(f"{hive_database}-{table}", 1)
        stored[table] = produce(kafka.bootstrap, f"{hive_database}-{table}", flights()[::3_000], 1)
    name = {table: f"{hive_database}.{table}" for table in stored}
    tables = [flights_table(name[table], f"{hive_database}-{table}") for table in stored]
    config = write_map(
        tmp_path, hive_database, kafka.bootstrap, uri, tables, hive={"url": f"hive://{hive.address}"}
    )
    ledgers = {table: LedgerText(tree, ledger_root(uri), name[table]) for table in stored}
    rows = {table: len(stored[table]) for table in stored}

    def shown(table: str) -> tuple[int, int]:
        """The rows and partitions that Hive shows; none while it has no such table."""
        if not hive.query(f"show tables in {hive_database} like '{table}'"):
            return 0, 0
        ((count,),) = hive.query(f"select count(*) from {name[table]}")
        return count, len(hive.query(f"show partitions {name[table]}"))

    def are_whole() -> bool:
        return all(shown(table) == (rows[table], MONTHS) for table in stored)

    with Running(config) as run:
        run.wait_until(are_whole, "dumped and registered", pause=1.0)
        run.wait_until(
            lambda: not any(ledger.newest()["unregistered"] for ledger in ledgers.values()), "recorded"
        )
        hive.query(f"drop table {name['busy']}")
        hive.query(f"alter table {name['idle']} rename to {name['idle']}_old")
        more = produce(kafka.bootstrap, f"{hive_database}-busy", flights()[1:2], 1)
        assert ends_of(more)
        rows["busy"] += 1
        run.wait_until(are_whole, "whole again", 300, 2.0)
        log = run.log.read_text()
        for table in stored:
            assert f"Hive's table {name[table]} was dropped and created again" in log
        assert f"{name['idle']}_old has its location, as after ALTER TABLE .. RENAME" in log
        run.wait_until(
            lambda: not any(ledger.newest()["unregistered"] for ledger in ledgers.values()), "recorded again"
        )
        (told,) = (
            each["warnings"]
            for each in command("status", config, "--json").document["tables"]
            if each["table"] == name["idle"]
        )
        assert any("_old has its location" in text for text in told)
        # nothing was missing when the names were listed: the time of its creation tells
        hive.query(f"drop table {name['idle']}")
        hive.query(
            f"create external table {name['idle']} ({COLUMNS}, k_topic string, k_partition int, k_offset bigint)"
            f" partitioned by (dt string) stored as parquet location '{location(uri, name['idle'])}'"
        )
        run.wait_until(are_whole, "whole after it was created again by somebody", 300, 2.0)
        assert run.terminate() == 143, run.tail()
    found = command("verify", config)
    assert found.code == 0, found.log[-2000:]


@pytest.mark.timeout(1800)
def test_a_single_partition_that_somebody_drops_comes_back_only_with_new_rows(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    uri, table = f"{hdfs.namenode_url}/{hive_database}", f"{hive_database}.t"
    kafka.create_topic(hive_database, 1)
    produce(kafka.bootstrap, hive_database, flights()[::30_000], 1)
    config = write_map(
        tmp_path,
        hive_database,
        kafka.bootstrap,
        uri,
        [flights_table(table, hive_database)],
        hive={"url": f"hive://{hive.address}"},
    )
    assert run_once(config).code == 0
    before = hive.query(f"select dt, count(*) from {table} group by dt order by dt")
    (dropped, _), (other, _), *_ = before
    hive.query(*(f"alter table {table} drop partition (dt='{day}')" for day in (dropped, other)))
    produce(kafka.bootstrap, hive_database, flights()[:1], 1)  # of the first month
    for _ in range(2):
        assert run_once(config).code == 0
        after = dict(hive.query(f"select dt, count(*) from {table} group by dt"))
        assert after == {day: count + (day == dropped) for day, count in before if day != other}
    audited = command("verify", config)
    assert audited.code == 76 and f"dt={other}" in audited.out and f"dt={dropped}" not in audited.out
