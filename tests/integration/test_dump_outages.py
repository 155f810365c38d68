"""Tables in trouble beside ones that are well."""

from collections import Counter
from pathlib import Path

import pytest

from tests.harness.program import command, run_once
from tests.harness.service_map import (
    FLIGHT_COLUMNS,
    flights_table,
    ledger_root,
    location,
    raw_table,
    write_map,
)
from tests.oracle.exact import (
    assert_exactly,
    assert_same_bytes,
    assert_settled,
    ends_of,
    flight,
    flights_by_month,
)
from tests.oracle.tree import HdfsTree
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce


@pytest.mark.timeout(3600)
def test_a_table_in_trouble_does_not_hold_up_the_others_and_catches_up(
    kafka: KafkaBroker,
    hdfs: Hdfs,
    hive: HiveServer,
    hive_database: str,
    tmp_path: Path,
) -> None:
    topic, uri, tree = hive_database, f"{hdfs.namenode_url}/{hive_database}", HdfsTree(hdfs.client())
    root = ledger_root(uri)
    kafka.create_topic(topic, 2)
    stored = produce(kafka.bootstrap, topic, flights()[::40], 2)  # of the whole year
    well, crowded, wrong = (f"{hive_database}.{name}" for name in ("well", "crowded", "wrong"))
    flat = f"{hive_database}.flat"
    config = write_map(
        tmp_path,
        hive_database,
        kafka.bootstrap,
        uri,
        [
            raw_table(well, topic),
            flights_table(crowded, topic),
            flights_table(wrong, topic),
            raw_table(flat, topic, bucket={"path": ""}),
        ],
        hive={"url": f"hive://{hive.address}"},
    )
    columns = ", ".join(
        f"`{name}` {'string' if name == 'year' else kind}" for name, kind in FLIGHT_COLUMNS.items()
    )
    hive.query(
        f"create external table {wrong} ({columns}, k_topic string, k_partition int, k_offset bigint)"
        f" partitioned by (dt string) stored as parquet location '{location(uri, wrong)}'"
    )
    hdfs.client().mkdirs(location(uri, crowded).removeprefix(hdfs.namenode_url))
    hdfs.set_quota(location(uri, crowded), names=4)

    first = run_once(config)
    assert first.code == 75, first.log[-3000:]
    assert "quota" in first.log.lower()
    assert "column year is bigint in the map, string in Hive" in first.log
    for table in (well, flat):
        assert_settled(tree, root, table, location(uri, table), ends_of(stored))
        assert_same_bytes(tree, location(uri, table), stored)
        assert hive.query(f"select count(*) from {table}") == [(len(stored),)]
    assert command("status", config).code == 75

    hdfs.clear_quota(location(uri, crowded))
    hive.query(f"drop table {wrong}")
    second = run_once(config)
    assert second.code == 0, second.log[-3000:]
    by_month = flights_by_month(stored)
    for table in (crowded, wrong):
        assert_settled(tree, root, table, location(uri, table), ends_of(stored))
        assert_exactly(tree, location(uri, table), stored, flight)
        assert Counter(dict(hive.query(f"select dt, count(*) from {table} group by dt"))) == by_month
    assert_settled(tree, root, well, location(uri, well), ends_of(stored))
    assert_same_bytes(tree, location(uri, well), stored)
