"""The services that the tests of one process share, started side by side and only those that are needed.

Kafka and HDFS may be `elsewhere`: started by another process, for several (for_all.py).
"""

from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.service import Place


class SharedServices:
    """Each starts when it is asked for, or begun.

    A start that failed raises its reason at every use, so that each test that wanted the service says why.
    """

    def __init__(
        self, folder: Callable[[str], Path], elsewhere: Callable[[str], Place] | None = None
    ) -> None:
        self._folder = folder
        self._elsewhere = elsewhere
        self._pool = ThreadPoolExecutor(3, thread_name_prefix="service")  # hive's thread waits for hdfs
        self._starts = {"hdfs": self._start_hdfs, "kafka": self._start_kafka, "hive": self._start_hive}
        self._started: dict[str, Future[Any]] = {}

    def begin(self, needed: Collection[str]) -> None:
        """Start those of `kafka`, `hdfs` and `hive` that `needed` names and that are not started; does not wait."""
        for name in self._starts:
            if name in needed or (name == "hdfs" and "hive" in needed):
                self._begin(name)

    def kafka(self) -> KafkaBroker:
        """The broker, running."""
        broker: KafkaBroker = self._begin("kafka").result()
        return broker

    def hdfs(self) -> Hdfs:
        """The HDFS, running."""
        hdfs: Hdfs = self._begin("hdfs").result()
        return hdfs

    def hive(self) -> HiveServer:
        """The HiveServer2 over that HDFS, running."""
        self._begin("hdfs")
        server: HiveServer = self._begin("hive").result()
        return server

    def stop(self) -> None:
        """End all that was started here, the last one first."""
        self._pool.shutdown()
        for started in reversed(self._started.values()):
            if started.exception() is None:
                started.result().stop()

    def _begin(self, name: str) -> Future[Any]:
        if name not in self._started:
            self._started[name] = self._pool.submit(self._starts[name], self._folder(name))
        return self._started[name]

    def _start_kafka(self, folder: Path) -> KafkaBroker:
        if self._elsewhere is not None:
            there, ports = self._elsewhere("kafka")
            return KafkaBroker(there).attach(ports)
        broker = KafkaBroker(folder)
        broker.start()
        broker.wait_for_group_coordinator()
        return broker

    def _start_hdfs(self, folder: Path) -> Hdfs:
        if self._elsewhere is not None:
            there, ports = self._elsewhere("hdfs")
            return Hdfs(there).attach(ports)
        hdfs = Hdfs(folder)
        hdfs.start()
        return hdfs

    def _start_hive(self, folder: Path) -> HiveServer:
        server = HiveServer(folder, self.hdfs().site_properties)
        server.start()
        return server
