"""Tasks on a standalone cluster run in the pack's Python, which Spark sends to the workers."""

from pathlib import Path

import pytest

from tests.harness.program import command_as_process
from tests.harness.service_map import flights_table, ledger_root, location, write_map
from tests.oracle.exact import assert_exactly, assert_settled, ends_of, flight
from tests.oracle.tree import HdfsTree
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce
from tests.services.spark_standalone import SparkStandalone

RECORDS = 5_000
NAME = "environment"


@pytest.mark.timeout(3600)
def test_a_standalone_cluster_gets_python_and_packages_from_the_pack(
    pack: Path, kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    assert pack.name.startswith("kafka2hive-") and pack.name.endswith(".tar.gz")
    uri, table, tree = f"{hdfs.namenode_url}/{unique}", f"{unique}.flights", HdfsTree(hdfs.client())
    kafka.create_topic(unique, 2)
    stored = produce(kafka.bootstrap, unique, flights()[:RECORDS], 2)
    nobody = {"PYSPARK_PYTHON": "/no/python", "PYTHONPATH": ""}
    with SparkStandalone(tmp_path / "cluster", workers=1, cores=2, env=nobody) as cluster:
        spark = {"master": cluster.url, "conf": {"spark.archives": f"{pack}#{NAME}"}}
        config = write_map(
            tmp_path, unique, kafka.bootstrap, uri, [flights_table(table, unique)], spark=spark
        )
        done = command_as_process("run", config, "--once", env={"PYSPARK_PYTHON": f"./{NAME}/bin/python"})
        assert done.code == 0, done.log[-3000:]
        (executor,) = (tmp_path / "cluster/work").glob("app-*/0")
        assert (executor / NAME / "bin/python").is_file(), "no executor has unpacked it"
    assert_settled(tree, ledger_root(uri), table, location(uri, table), ends_of(stored))
    assert_exactly(tree, location(uri, table), stored, flight)
