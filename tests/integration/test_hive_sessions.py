"""A real HiveServer2 that allows a user one session: the tables are created and registered in turn, and a refusal is named."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyhive import hive as pyhive

from tests.harness.program import run_once
from tests.harness.service_map import raw_table, write_map
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

TABLES = 6


@pytest.fixture(scope="module")
def narrow_hive(tmp_path_factory: pytest.TempPathFactory, hdfs: Hdfs) -> Iterator[HiveServer]:
    """A HiveServer2 with at most one session per user."""
    limit = {"hive.server2.limit.connections.per.user": "1"}
    with HiveServer(tmp_path_factory.mktemp("narrow"), hdfs.site_properties, limit) as server:
        yield server


@pytest.mark.timeout(3600)
def test_new_tables_are_made_and_registered_in_one_session_after_another(
    kafka: KafkaBroker, hdfs: Hdfs, narrow_hive: HiveServer, unique: str, tmp_path: Path
) -> None:
    uri = f"{hdfs.namenode_url}/{unique}"
    kafka.create_topic(unique, 1)
    stored = produce(kafka.bootstrap, unique, flights()[:100], 1)
    narrow_hive.query(f"create database {unique} location '{uri}/warehouse/{unique}.db'")
    names = [f"{unique}.t{number}" for number in range(TABLES)]
    config = write_map(
        tmp_path,
        unique,
        kafka.bootstrap,
        uri,
        [raw_table(name, unique) for name in names],
        hive={"url": f"hive://etl@{narrow_hive.address}"},
    )
    taken = pyhive.connect(host="127.0.0.1", port=narrow_hive.port, username="etl")
    try:
        refused = run_once(config, patient=False)
    finally:
        taken.close()
    assert refused.code == 75, refused.log[-3000:]
    assert "[hive.sessions]" in refused.log and "Connection limit per user reached" in refused.log
    assert "limit.connections.per.user" in refused.log and "does not answer" not in refused.log
    assert "rows are committed" not in refused.log

    once = run_once(config)
    assert once.code == 0, once.log[-3000:]
    for name in names:
        assert narrow_hive.query(f"select count(*) from {name}") == [(len(stored),)]
