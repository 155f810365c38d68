"""Makes the archives of class data that are missing: `python -m tests.harness.class_data`, the last step of `scripts/setup test`.

Each service is started once, asked what tests ask, and writes at its end what it had loaded; Spark dumps a few records.
"""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from hdfs_native import WriteOptions

from kafka2hive.demo.kafka import TOPIC, MockKafka
from tests.harness.program import Running
from tests.harness.service_map import raw_table, write_map
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.jars import jars, java
from tests.services.java_service import JavaService, ServiceFailed
from tests.services.jvm import SPARK_JARS, archive, recording
from tests.services.kafka_broker import KafkaBroker

_WRITING_SECONDS = 600.0
_STATEMENTS = (
    "create database d",
    "create external table d.t (a int) partitioned by (dt string) stored as parquet",
    "alter table d.t add if not exists partition (dt='1')",
    "show partitions d.t",
    "describe formatted d.t",
    "select dt, count(*) from d.t group by dt",
)


def main() -> None:
    """Make what is missing; without it services start slowly, but they do."""
    spark = archive(SPARK_JARS).exists()
    services = all(archive(jars(name)).exists() for name in ("hdfs", "hive", "kafka"))
    if spark and services:
        return
    if subprocess.run([java(), "-Xshare:on", "-version"], capture_output=True, check=False).returncode:
        _say("this Java has no class data of its own: services will start slowly")
        return
    began = time.monotonic()
    _say("writing class data of Kafka, HDFS, Hive and Spark (with it they start in half the time)")
    archive(SPARK_JARS).parent.mkdir(exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="class-data-") as folder, ThreadPoolExecutor(2) as pool:
            done = [pool.submit(_record_services, Path(folder))] if not services else []
            if not spark:
                _record_spark(Path(folder))
            for each in done:
                each.result()
    except ServiceFailed as error:
        _say(f"class data is not complete, services will start slowly: {error}")
    else:
        _say(f"class data written in {time.monotonic() - began:.0f} s")


def _record_services(folder: Path) -> None:
    for name in ("hdfs", "hive", "kafka"):
        (folder / name).mkdir()
    hdfs = Hdfs(folder / "hdfs")
    with _recorded(hdfs.namenode, "hdfs"):
        hdfs.start()
        writer = hdfs.client().create("/written", WriteOptions())
        writer.write(b"x")
        writer.close()
        hive = HiveServer(folder / "hive", hdfs.site_properties)
        with _recorded(hive.service, "hive"):
            hive.start()
            hive.query(*_STATEMENTS)
    hdfs.stop()
    broker = KafkaBroker(folder / "kafka")
    with _recorded(broker.service, "kafka"):
        broker.start()
        broker.create_topic("t")
        broker.wait_for_group_coordinator()


def _record_spark(folder: Path) -> None:
    kafka = MockKafka()
    kafka.produce([b"{}"] * 100)
    config = write_map(folder, "class-data", kafka.bootstrap, folder.as_uri(), [raw_table("d.t", TOPIC)])
    partial = _partial(SPARK_JARS)
    with Running(config, "--once", env={"SPARK_SUBMIT_OPTS": " ".join(recording(partial))}) as run:
        if run.wait() != 0:
            raise ServiceFailed(run.tail())
        run.wait_for_orphans(_WRITING_SECONDS)  # its JVM writes
    kafka.end()
    partial.replace(archive(SPARK_JARS))


@contextmanager
def _recorded(service: JavaService, name: str) -> Iterator[None]:
    """Afterwards the service has ended, and what it wrote is visible as a whole; nothing is written where there is an archive."""
    path, partial = archive(jars(name)), _partial(jars(name))
    if not path.exists():
        service.env["JAVA_TOOL_OPTIONS"] = " ".join(recording(partial))
    yield
    service.terminate(_WRITING_SECONDS)
    if service.wait(0) == -signal.SIGKILL:
        raise ServiceFailed(f"{service.name} did not end in order")
    if not path.exists():
        partial.replace(path)


def _partial(class_path: str) -> Path:
    return archive(class_path).with_suffix(f".{os.getpid()}")


def _say(text: str) -> None:
    print(f"setup: {text}", flush=True)  # noqa: T201  # a part of the set-up, which tells what it does


if __name__ == "__main__":
    main()
