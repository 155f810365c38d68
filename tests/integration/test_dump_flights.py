"""All flights of a year, from Kafka through Spark into HDFS and Hive, each exactly once."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.harness.program import command, run_once
from tests.harness.service_map import flights_table, ledger_root, location, raw_table, write_map
from tests.harness.waiting import wait_until
from tests.oracle.data_files import whole_table
from tests.oracle.exact import (
    PLACE_COLUMNS,
    assert_exactly,
    assert_same_bytes,
    assert_settled,
    ends_of,
    flight,
    flights_by_month,
)
from tests.oracle.tree import HdfsTree, LocalTree
from tests.services.flights import COUNT, flights
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce


@pytest.mark.timeout(3600)
def test_every_flight_is_in_hive_exactly_once_and_on_local_disk_all_the_same(
    kafka: KafkaBroker,
    hdfs: Hdfs,
    hive: HiveServer,
    hive_database: str,
    tmp_path: Path,
) -> None:
    uri, topic = f"{hdfs.namenode_url}/{hive_database}", hive_database
    kafka.create_topic(topic, 4)
    stored = produce(kafka.bootstrap, topic, flights(), 4)
    json, raw = f"{hive_database}.flights", f"{hive_database}.payloads"
    tables = [flights_table(json, topic), raw_table(raw, topic)]
    config = write_map(
        tmp_path, hive_database, kafka.bootstrap, uri, tables, hive={"url": f"hive://{hive.address}"}
    )
    done = run_once(config)
    assert done.code == 0, done.log[-3000:]

    tree, ends = HdfsTree(hdfs.client()), ends_of(stored)
    for table in (json, raw):
        assert_settled(tree, ledger_root(uri), table, location(uri, table), ends)
    assert len(stored) == COUNT
    assert_exactly(tree, location(uri, json), stored, flight)
    assert_same_bytes(tree, location(uri, raw), stored)

    by_month = flights_by_month(stored)
    assert Counter(dict(hive.query(f"select dt, count(*) from {json} group by dt"))) == by_month
    distinct = f"select count(distinct k_partition * 1000000 + k_offset), count(*) from {raw}"
    assert hive.query(distinct) == [(COUNT, COUNT)]

    again: dict[str, Any] = {}

    def has_lags() -> bool:
        again.update(command("status", config, "--json").document)
        return all(t["lag_records"] is not None for t in again["tables"])

    wait_until(has_lags, "answered by Kafka", pause=1)
    assert again["exit_code"] == 0
    assert [(t["lag_records"], t["pending"], t["unregistered"]) for t in again["tables"]] == [
        (0, None, [])
    ] * 2

    local_uri = f"file://{tmp_path}/disk"
    (tmp_path / "disk").mkdir()
    local_map = write_map(
        tmp_path, f"{hive_database}_local", kafka.bootstrap, local_uri, [flights_table(json, topic)]
    )
    done = run_once(local_map)
    assert done.code == 0, done.log[-3000:]
    disk = LocalTree()
    assert_settled(disk, ledger_root(local_uri), json, location(local_uri, json), ends)
    on_hdfs = whole_table(tree, location(uri, json), PLACE_COLUMNS)
    assert len(on_hdfs) == COUNT
    assert whole_table(disk, location(local_uri, json), PLACE_COLUMNS).equals(on_hdfs)
