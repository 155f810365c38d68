"""The heartbeat of a command that repairs tables; while it is alive, no run takes them over."""

import threading
from typing import Self

from kafka2hive.ledger.heartbeat import HEARTBEAT_SECONDS, Heartbeat
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import Thread


def repair_heartbeat(wiring: Wiring) -> Heartbeat:
    """Build this process's heartbeat for the map's service. Nothing is written yet."""
    root, service = wiring.map.storage.ledger_root, wiring.map.service
    owner, me = wiring.new_command_owner(), wiring.processes.me()
    return Heartbeat(ports=wiring.ports, root=root, service=service, owner=owner, identity=me, repairs=True)


class RepairHeartbeat:
    """Sends heartbeats from `begin` until `end` or the end of the block. They stop if the process is killed."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._heartbeat = repair_heartbeat(wiring)
        self._done = threading.Event()
        self._thread: Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Release the tables: from now on a run may take them over. A second call changes nothing."""
        self._done.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            self._heartbeat.end()

    def begin(self) -> None:
        """Start the heartbeat; called before each take-over, once its checks have passed. A second call changes nothing."""
        if self._thread is None:
            self._heartbeat.send()
            self._thread = self._wiring.background.start("heartbeat", self._beat)

    def _beat(self) -> None:
        while not self._done.wait(HEARTBEAT_SECONDS):
            self._heartbeat.send()
