"""The only place where ports meet their adapters."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from kafka2hive.config.values import ServiceMap
from kafka2hive.ledger.owners import Owners
from kafka2hive.ledger.ports import Ports
from kafka2hive.ledger.reading.heartbeat import Processes
from kafka2hive.model.layout import LedgerPaths
from kafka2hive.service.shared.process import HostProcesses, new_uuid, owner_name
from kafka2hive.service.shared.progress_lock import Lock
from kafka2hive.storage.clock import SystemClock
from kafka2hive.storage.concurrency import Threads
from kafka2hive.storage.connect import connect
from kafka2hive.storage.counting import LoggedFileSystem
from kafka2hive.storage.port import Concurrency

PROMOTE_THREADS = 16
TABLES_SIDE_BY_SIDE = 8


@dataclass(frozen=True, slots=True)
class Wiring:
    """The map and the real world it names; no connection is made before the first call.

    `side_by_side` works on several tables at a time, `ports.concurrency` on the files of each. `owner_names` are those
    that this process has made.
    """

    map: ServiceMap
    ports: Ports
    processes: Processes
    side_by_side: Concurrency = field(default_factory=lambda: Threads(TABLES_SIDE_BY_SIDE))
    new_lock: Callable[[], Lock] = threading.RLock
    owner_names: set[str] = field(default_factory=set)

    def paths(self, table: str) -> LedgerPaths:
        return LedgerPaths(self.map.storage.ledger_root, table)

    def new_owner(self) -> str:
        """A name for one take-over attempt of this process, used once, ever."""
        return owner_name(self.processes.me(), self.ports.new_uuid())

    @property
    def owners(self) -> Owners:
        """The names of this process's take-over attempts."""
        return Owners(self.new_owner, self.owner_names)


def wire(service_map: ServiceMap) -> Wiring:
    files = LoggedFileSystem(connect(service_map.storage))
    ports = Ports(files, Threads(PROMOTE_THREADS), SystemClock(), new_uuid)
    return Wiring(service_map, ports, HostProcesses())
