"""The service on a Spark standalone cluster."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.product import run_once
from tests.integration.service_map import flights_table, ledger_root, location, raw_table, write_map
from tests.oracle.exact import assert_exactly, assert_same_bytes, assert_settled, ends_of, flight
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.flights import flights
from tests.services.produce import produce

if TYPE_CHECKING:
    from tests.services.hdfs import Hdfs
    from tests.services.kafka_broker import KafkaBroker
    from tests.services.spark_standalone import SparkStandalone


@pytest.mark.timeout(600)
def test_the_service_runs_on_a_standalone_cluster(
    kafka: "KafkaBroker", hdfs: "Hdfs", spark_standalone: "SparkStandalone", unique: str, tmp_path: Path
) -> None:
    uri = f"{hdfs.namenode_url}/{unique}"
    kafka.create_topic(unique, 3)
    stored = produce(kafka.bootstrap, unique, flights()[:120_000], 3)
    json, raw = f"{unique}.flights", f"{unique}.payloads"
    config = write_map(
        tmp_path,
        unique,
        kafka.bootstrap,
        uri,
        [flights_table(json, unique), raw_table(raw, unique)],
        spark={"master": spark_standalone.url},
    )
    done = run_once(config)
    assert done.code == 0, done.log[-3000:]
    tree = HdfsTree(hdfs.client())
    for table in (json, raw):
        assert_settled(tree, ledger_root(uri), table, location(uri, table), ends_of(stored))
    assert_exactly(tree, location(uri, json), stored, flight)
    assert_same_bytes(tree, location(uri, raw), stored)
    tasks = {
        account["task"]
        for table in (json, raw)
        for snapshot in LedgerText(tree, ledger_root(uri), table).history()
        for account in snapshot["account"]
    }
    assert len(tasks) > 1, "one task did it all"
    assert all(
        worker.said("Launching") or worker.said("Asked to launch") for worker in spark_standalone.workers
    )
