"""The only place where ports meet their adapters."""

from dataclasses import dataclass

from kafka2hive.config.values import ServiceMap
from kafka2hive.ledger.alive import Processes
from kafka2hive.ledger.ports import Ports
from kafka2hive.model.layout import LedgerPaths
from kafka2hive.service.identity import HostProcesses, new_uuid
from kafka2hive.storage.clock import SystemClock
from kafka2hive.storage.concurrency import Threads
from kafka2hive.storage.connect import connect
from kafka2hive.storage.counting import LoggedFileSystem

PROMOTE_THREADS = 16


@dataclass(frozen=True, slots=True)
class Wiring:
    """The map and the real world it names; no connection is made before the first call."""

    map: ServiceMap
    ports: Ports
    processes: Processes

    def paths(self, table: str) -> LedgerPaths:
        return LedgerPaths(self.map.storage.ledger_root, table)


def wire(service_map: ServiceMap) -> Wiring:
    files = LoggedFileSystem(connect(service_map.storage))
    ports = Ports(files, Threads(PROMOTE_THREADS), SystemClock(), new_uuid)
    return Wiring(service_map, ports, HostProcesses())
