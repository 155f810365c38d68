"""The services that the tests of one process share, plain and secured ones, started side by side and only those that are needed.

Kafka, HDFS and HiveServer2 may be `elsewhere`: started by another process, for several (for_all.py).
"""

import os
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.service import Place

if TYPE_CHECKING:  # few tests ask for them
    from tests.services.kafka_secure import SecureKafka
    from tests.services.secure.hdfs import SecureHdfs
    from tests.services.secure.hive import Ldap, SecureHive
    from tests.services.secure.kdc import Kdc

_NEEDS = {
    "hive": ("hdfs",),
    "secure_kafka": ("kdc",),
    "secure_hdfs": ("kdc",),
    "secure_hive": ("kdc", "ldap", "secure_hdfs"),
}
"""What a service asks for while it starts. Each stands behind what it needs in `_starts`."""


class SharedServices:
    """Each starts when it is asked for, or begun.

    A start that failed raises its reason at every use, so that each test that wanted the service says why.
    """

    def __init__(
        self, folder: Callable[[str], Path], elsewhere: Callable[[str], Place] | None = None
    ) -> None:
        self._folder = folder
        self._elsewhere = elsewhere
        self._starts: dict[str, Callable[[Path], Any]] = {
            "hdfs": self._start_hdfs,
            "kafka": self._start_kafka,
            "hive": self._start_hive,
            "kdc": self._start_kdc,
            "ldap": self._start_ldap,
            "secure_kafka": self._start_secure_kafka,
            "secure_hdfs": self._start_secure_hdfs,
            "secure_hive": self._start_secure_hive,
        }
        # a thread for each: some wait for others
        self._pool = ThreadPoolExecutor(len(self._starts), thread_name_prefix="service")
        self._started: dict[str, Future[Any]] = {}

    def begin(self, needed: Collection[str]) -> None:
        """Start those that `needed` names, and what they need, unless they are started; does not wait."""
        wanted = {*needed, *(name for asked in needed for name in _NEEDS.get(asked, ()))}
        for name in self._starts:
            if name in wanted:
                self._begin(name)

    def kafka(self) -> KafkaBroker:
        """The broker, running."""
        broker: KafkaBroker = self._running("kafka")
        return broker

    def hdfs(self) -> Hdfs:
        """The HDFS, running."""
        hdfs: Hdfs = self._running("hdfs")
        return hdfs

    def hive(self) -> HiveServer:
        """The HiveServer2 over that HDFS, running."""
        server: HiveServer = self._running("hive")
        return server

    def kdc(self) -> "Kdc":
        """The realm, running; this process and what it starts are its clients."""
        realm: Kdc = self._running("kdc")
        return realm

    def ldap(self) -> "Ldap":
        """The directory, running."""
        directory: Ldap = self._running("ldap")
        return directory

    def secure_kafka(self) -> "SecureKafka":
        """The broker that asks who is there, running."""
        broker: SecureKafka = self._running("secure_kafka")
        return broker

    def secure_hdfs(self) -> "SecureHdfs":
        """The HDFS in the realm, running."""
        hdfs: SecureHdfs = self._running("secure_hdfs")
        return hdfs

    def secure_hive(self) -> "SecureHive":
        """The HiveServer2 over that HDFS, running."""
        server: SecureHive = self._running("secure_hive")
        return server

    def stop(self) -> None:
        """End all that was started here, the last one first."""
        self._pool.shutdown()
        for started in reversed(self._started.values()):
            if started.exception() is None:
                started.result().stop()

    def _begin(self, name: str) -> None:
        if name not in self._started:
            self._started[name] = self._pool.submit(self._starts[name], self._folder(name))

    def _running(self, name: str) -> Any:
        self.begin({name})
        return self._started[name].result()

    def _start_kafka(self, folder: Path) -> KafkaBroker:
        if self._elsewhere is not None:
            there, ports = self._elsewhere("kafka")
            return KafkaBroker(there).attach(ports)
        # otherwise a test of compaction waits 15 s for the next round of the cleaner, or starts a broker for itself
        broker = KafkaBroker(folder, {"log.cleaner.backoff.ms": "500"})
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
        if self._elsewhere is not None:
            there, ports = self._elsewhere("hive")
            return HiveServer(there, {}).attach(ports)
        server = HiveServer(folder, self.hdfs().site_properties)
        server.start()
        return server

    def _start_kdc(self, folder: Path) -> "Kdc":
        from tests.services.secure.kdc import Kdc

        realm = Kdc(folder)
        realm.start()
        os.environ.update(realm.environment)
        return realm

    def _start_ldap(self, folder: Path) -> "Ldap":
        from tests.services.secure.hive import Ldap

        directory = Ldap(folder)
        directory.start()
        return directory

    def _start_secure_kafka(self, folder: Path) -> "SecureKafka":
        from tests.services.kafka_secure import SecureKafka

        broker = SecureKafka(folder, self.kdc())
        broker.start()
        return broker

    def _start_secure_hdfs(self, folder: Path) -> "SecureHdfs":
        from tests.services.secure.hdfs import SecureHdfs

        hdfs = SecureHdfs(folder, self.kdc())
        hdfs.start()
        return hdfs

    def _start_secure_hive(self, folder: Path) -> "SecureHive":
        from tests.services.secure.hive import SecureHive

        server = SecureHive(folder, self.secure_hdfs().site_properties, self.kdc(), self.ldap())
        server.start()
        return server
