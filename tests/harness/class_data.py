"""Makes the archives of class data that are missing: `python -m tests.harness.class_data`, a step of `scripts/setup test`.

Each service is started once, asked what tests ask, and writes at its end what it had loaded. (`kafka2hive warm` does it for
Spark; the schema registry starts too seldom for an archive to pay.)
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

from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.jars import java
from tests.services.jvm import QUIET, archive
from tests.services.kafka_broker import KafkaBroker
from tests.services.service_process import ServiceFailed, ServiceProcess

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
    """Make what is missing."""
    if all(archive(name).exists() for name in ("hdfs", "hive", "kafka")):
        return
    if subprocess.run([java(), "-Xshare:on", "-version"], capture_output=True, check=False).returncode:
        _say("this Java has no class data of its own: services will start slowly")
        return
    began = time.monotonic()
    _say("writing class data of Kafka, HDFS and Hive (with it they start in half the time)")
    archive("kafka").parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="class-data-") as folder, ThreadPoolExecutor(1) as pool:
        hadoop = pool.submit(_record_hadoop, Path(folder))
        _record_kafka(Path(folder))
        hadoop.result()
    _say(f"class data written in {time.monotonic() - began:.0f} s")


def _record_hadoop(folder: Path) -> None:
    for name in ("hdfs", "hive"):
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


def _record_kafka(folder: Path) -> None:
    broker = KafkaBroker(folder / "kafka")
    with _recorded(broker.service, "kafka"):
        broker.start()
        broker.create_topic("t")
        broker.wait_for_group_coordinator()


@contextmanager
def _recorded(service: ServiceProcess, name: str) -> Iterator[None]:
    """Afterwards the service has ended, and what it wrote is visible as a whole; nothing is written where there is an archive."""
    path = archive(name)
    partial = path.with_suffix(f".{os.getpid()}")
    if not path.exists():
        service.env["JAVA_TOOL_OPTIONS"] = " ".join((f"-XX:ArchiveClassesAtExit={partial}", *QUIET))
    yield
    service.terminate(_WRITING_SECONDS)
    if service.wait(0) == -signal.SIGKILL:
        raise ServiceFailed(f"{service.name} did not end in order")
    if not path.exists():
        for former in path.parent.glob(f"{name}-*.jsa"):
            former.unlink()
        partial.replace(path)


def _say(text: str) -> None:
    print(f"setup: {text}", flush=True)  # noqa: T201  # a part of the set-up, which tells what it does


if __name__ == "__main__":
    main()
