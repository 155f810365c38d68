"""The services that the tests of one process share, started side by side and only those that are needed."""

from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker


class SharedServices:
    """Each starts when it is asked for, or begun.

    A start that failed raises its reason at every use, so that each test that wanted the service says why.
    """

    def __init__(self, folder: Callable[[str], Path]):
        self._folder = folder
        self._pool = ThreadPoolExecutor(3, thread_name_prefix="service")  # hive's thread waits for hdfs
        self._kafka: Future[KafkaBroker] | None = None
        self._hdfs: Future[Hdfs] | None = None
        self._hive: Future[HiveServer] | None = None

    def begin(self, needed: Collection[str]) -> None:
        """Start those of `kafka`, `hdfs` and `hive` that `needed` names and that are not started; does not wait."""
        if "hdfs" in needed or "hive" in needed:
            self._start_hdfs()
        if "kafka" in needed:
            self._start_kafka()
        if "hive" in needed:
            self._start_hive()

    def kafka(self) -> KafkaBroker:
        """The broker, running."""
        return self._start_kafka().result()

    def hdfs(self) -> Hdfs:
        """The HDFS, running."""
        return self._start_hdfs().result()

    def hive(self) -> HiveServer:
        """The HiveServer2 over that HDFS, running."""
        return self._start_hive().result()

    def stop(self) -> None:
        """End all that was started."""
        self._pool.shutdown()
        for started in (self._hive, self._kafka, self._hdfs):
            if started is not None and started.exception() is None:
                started.result().stop()

    def _start_kafka(self) -> Future[KafkaBroker]:
        def start() -> KafkaBroker:
            broker = KafkaBroker(self._folder("kafka"))
            broker.start()
            broker.wait_for_group_coordinator()
            return broker

        self._kafka = self._kafka or self._pool.submit(start)
        return self._kafka

    def _start_hdfs(self) -> Future[Hdfs]:
        def start() -> Hdfs:
            hdfs = Hdfs(self._folder("hdfs"))
            hdfs.start()
            return hdfs

        self._hdfs = self._hdfs or self._pool.submit(start)
        return self._hdfs

    def _start_hive(self) -> Future[HiveServer]:
        hdfs = self._start_hdfs()

        def start() -> HiveServer:
            server = HiveServer(self._folder("hive"), hdfs.result().site_properties)
            server.start()
            return server

        self._hive = self._hive or self._pool.submit(start)
        return self._hive
