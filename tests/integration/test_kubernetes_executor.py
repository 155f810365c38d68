"""Executors as Spark starts them in pods of Kubernetes: by `kafka2hive executor` and the environment that Spark gives.

There is no Kubernetes here. The driver is on a standalone master without workers, so that only these executors serve it.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.harness.program import PROGRAM, Running, command
from tests.harness.service_map import flights_table, ledger_root, location, write_map
from tests.oracle.exact import assert_exactly, assert_settled, ends_of, flight
from tests.oracle.tree import HdfsTree
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.ports import accepts, free_ports
from tests.services.produce import produce
from tests.services.service_process import ServiceProcess
from tests.services.spark_standalone import SparkStandalone

RECORDS = 3_000


@contextmanager
def executor(number: int, driver_port: int, folder: Path) -> Iterator[ServiceProcess]:
    """A pod's only container, started as Spark starts it."""
    environment = {
        "SPARK_DRIVER_URL": f"spark://CoarseGrainedScheduler@127.0.0.1:{driver_port}",
        "SPARK_EXECUTOR_ID": str(number),
        "SPARK_EXECUTOR_CORES": "2",
        "SPARK_EXECUTOR_MEMORY": "512m",
        "SPARK_APPLICATION_ID": "spark-application-7",
        "SPARK_RESOURCE_PROFILE_ID": "0",
        "SPARK_EXECUTOR_POD_IP": "127.0.0.1",
        "SPARK_EXECUTOR_POD_NAME": f"kafka2hive-exec-{number}",
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_JAVA_OPT_0": "-XX:TieredStopAtLevel=1",
        "SPARK_JAVA_OPT_1": "-XX:+UseSerialGC",
        "PYSPARK_PYTHON": sys.executable,
    }
    process = ServiceProcess(f"executor-{number}", [*PROGRAM, "executor"], folder, environment)
    process.start()
    try:
        yield process
    finally:
        process.kill()


@pytest.mark.timeout(3600)
def test_executors_that_pods_would_run_dump_exactly_and_are_replaced(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, table, tree = f"{hdfs.namenode_url}/{unique}", f"{unique}.flights", HdfsTree(hdfs.client())
    kafka.create_topic(unique, 2)
    records, (driver_port,) = flights(), free_ports(1)
    stored = produce(kafka.bootstrap, unique, records[:RECORDS], 2)
    with ExitStack() as stack:
        cluster = stack.enter_context(SparkStandalone(tmp_path / "cluster", workers=0))
        spark = {"master": cluster.url, "conf": {"spark.driver.port": str(driver_port)}}
        config = write_map(
            tmp_path, unique, kafka.bootstrap, uri, [flights_table(table, unique)], spark=spark
        )
        run = stack.enter_context(Running(config))
        # the port is open before the driver knows of executors
        run.wait_until(lambda: accepts(driver_port) and run.said("the query runs"), "ready for executors")
        first = stack.enter_context(executor(1, driver_port, tmp_path))
        run.wait_until(lambda: run.epochs() > 0 or not first.is_running, "an epoch")
        assert run.epochs() > 0, first.tail()
        os.kill(first.pid, signal.SIGKILL)
        stored |= produce(kafka.bootstrap, unique, records[RECORDS : 2 * RECORDS], 2)
        second = stack.enter_context(executor(2, driver_port, tmp_path))
        run.wait_until(lambda: _lag(config) == 0 or not second.is_running, "at the end of the log", pause=1)
        assert second.is_running, second.tail()
        assert run.terminate() == 143, run.tail()
    assert_settled(tree, ledger_root(uri), table, location(uri, table), ends_of(stored))
    assert_exactly(tree, location(uri, table), stored, flight)


def _lag(config: Path) -> int | None:
    """Of the only table."""
    (table,) = command("status", config, "--json").document["tables"]
    lag: int | None = table["lag_records"]
    return lag
