"""The only place that connects ports to their adapters. An adapter is imported when it is first needed, and connects when
it is first used: most commands need few of them, and a person waits for the imports of each command.
"""

import math
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafka2hive.config.keys import HiveOptions, ServiceMap
from kafka2hive.config.machine import check_this_machine
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.kafka.port import Kafka
from kafka2hive.ledger.heartbeat import LiveOwner, Processes
from kafka2hive.ledger.look import View
from kafka2hive.ledger.ports import Ports
from kafka2hive.ledger.start import Owners
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.model.progress import Progress
from kafka2hive.service.process import HostProcesses, new_uuid, owner_name
from kafka2hive.service.progress_lock import Lock
from kafka2hive.storage.concurrency import DaemonThreads, SystemClock, Threads
from kafka2hive.storage.connect import connect
from kafka2hive.storage.logged import LoggedFileSystem
from kafka2hive.storage.port import Background, Concurrency, InspectableFileSystem

if TYPE_CHECKING:
    from kafka2hive.hive.port import Hive, Tables
    from kafka2hive.hive.session_tables import Session
    from kafka2hive.kafka.clusters import Clusters
    from kafka2hive.kafka.producer import TopicProducer
    from kafka2hive.registry.port import Registry
    from kafka2hive.service.ownership import OwnershipCheck

PROMOTE_THREADS = 16
TABLES_SIDE_BY_SIDE = 8


@dataclass(slots=True, eq=False)
class Wiring:
    """The map, and adapters for the systems that it names. Only a reload replaces the map (`adopt`).

    `side_by_side` works on several tables at a time, `ports.concurrency` on the files of each. `owner_names` are the
    owner names that this process has made. `progress` shows the long work of a command.
    """

    map: ServiceMap
    ports: Ports
    processes: Processes
    side_by_side: Concurrency = field(default_factory=lambda: Threads(TABLES_SIDE_BY_SIDE))
    background: Background = field(default_factory=DaemonThreads)
    new_lock: Callable[[], Lock] = threading.RLock
    owner_names: set[str] = field(default_factory=set)
    progress: Progress = field(default_factory=Progress)

    def adopt(self, service_map: ServiceMap) -> None:
        """Replace the map by one that needs the same adapters."""
        self.map = service_map

    def paths(self, table: str) -> LedgerPaths:
        return LedgerPaths(self.map.storage.ledger_root, table)

    def new_owner(self) -> str:
        """Return a new name for one take-over attempt of this run, which is never used again."""
        return owner_name(self.processes.me(), self.ports.new_uuid())

    def new_command_owner(self) -> str:
        """Return a new name as `new_owner` does, for a command: a run that it fences waits for its end."""
        return owner_name(self.processes.me(), self.ports.new_uuid(), is_command=True)

    @property
    def owners(self) -> Owners:
        return Owners(self.new_owner, self.owner_names)

    @property
    def command_owners(self) -> Owners:
        return Owners(self.new_command_owner, self.owner_names)

    def ownership_check(
        self, *, take_over: bool, is_stopped: Callable[[LiveOwner, View], bool] = lambda live, view: False
    ) -> "OwnershipCheck":
        """Return the check for one run, or for one command."""
        from kafka2hive.service.ownership import OwnershipCheck

        root = self.map.storage.ledger_root
        return OwnershipCheck(self.ports, root, self.processes, take_over=take_over, is_stopped=is_stopped)

    def kafka(self, timeout_seconds: float = 30.0, *, shared_timeout: bool = False) -> Kafka:
        """Return the map's Kafka; the time limit applies to each request, or with `shared_timeout` to all of one cluster."""
        return self.clusters(timeout_seconds, shared_timeout=shared_timeout) or KafkaAdmin(
            self.map.kafka, timeout_seconds, shared_timeout=shared_timeout
        )

    def kafka_cluster(self, name: str, timeout_seconds: float) -> Kafka:
        """Return one cluster by its name in the map; its topics are named as in Kafka."""
        return KafkaAdmin(self.map.clusters[name], timeout_seconds)

    def clusters(self, timeout_seconds: float = 30.0, *, shared_timeout: bool = False) -> "Clusters | None":
        """Return the clusters of a map with several, None for a map with one."""
        if not self.map.kafka_clusters:
            return None
        from kafka2hive.kafka.clusters import Clusters

        clusters = self.map.clusters
        return Clusters(
            {
                name: KafkaAdmin(options, timeout_seconds, shared_timeout=shared_timeout)
                for name, options in clusters.items()
            },
            {name: options.group for name, options in clusters.items()},
            [topic for rule in self.map.tables for topic in rule.topics],
        )

    def producer(self) -> "TopicProducer":
        """Return a writer of messages into topics of the map's Kafka cluster."""
        from kafka2hive.kafka.producer import TopicProducer

        return TopicProducer(self.map.kafka)

    def inspectable_files(self, patience_seconds: float = math.inf) -> InspectableFileSystem:
        """Return the map's file systems with the questions of `doctor`, over connections of their own; see HdfsFileSystem."""
        return connect(self.map.storage, patience_seconds)

    def hive(self) -> "Hive | None":
        """Return Hive by the interfaces that the map names, None if it names none."""
        if self.map.hive is None:
            return None
        server, metastore = self.map.hive.server, self.map.hive.metastore
        if server is not None and metastore is None:
            from kafka2hive.hive.metastore import HiveMetastore

            return HiveMetastore(server)
        assert metastore is not None
        from kafka2hive.hive.direct.hive import direct_hive

        direct = direct_hive(metastore)
        if server is None:
            return direct
        from kafka2hive.hive.both import HiveByBoth
        from kafka2hive.hive.metastore import HiveMetastore

        return HiveByBoth(HiveMetastore(server), direct)

    def tables_in_hive(self) -> "Tables":
        """Return Hive's tables over a connection that is separate from the one of `hive`. The map must have Hive."""
        hive = self.hive()
        assert hive is not None
        return hive.tables

    def registry(self) -> "Registry | None":
        if self.map.registry is None:
            return None
        from kafka2hive.registry.client import connect_registry

        return connect_registry(self.map.registry)


def hive_session(options: HiveOptions) -> "Session":
    """Return a HiveServer2 session that is separate from the one of the metastore."""
    from kafka2hive.hive.session import HiveSession

    return HiveSession(options)


def wire(
    service_map: ServiceMap, progress: Progress | None = None, *, patience_seconds: float = math.inf
) -> Wiring:
    """Build the wiring of a map. `patience_seconds`: how long to wait for HDFS (see HdfsFileSystem).

    Raises ConfigError if this machine lacks what the map needs for Kerberos.
    """
    check_this_machine(service_map, os.environ)
    files = LoggedFileSystem(connect(service_map.storage, patience_seconds))
    ports = Ports(files, Threads(PROMOTE_THREADS), SystemClock(), new_uuid)
    return Wiring(service_map, ports, HostProcesses(), progress=progress or Progress())
