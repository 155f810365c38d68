"""What a run shows of itself while it makes progress: its heartbeat, its tables' conditions, systemd's watchdog."""

import logging
import os
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from kafka2hive.ledger.reading.board import Board, delete_dead_boards
from kafka2hive.ledger.reading.heartbeat import HEARTBEAT_SECONDS, Heartbeat
from kafka2hive.model.errors import ExitCode
from kafka2hive.observe.notify import Notifier
from kafka2hive.service.run.watch.telling import ConditionTeller
from kafka2hive.service.shared.table_state import Table
from kafka2hive.service.shared.wiring import Wiring

log = logging.getLogger(__name__)

STUCK_SECONDS = 120.0
GIVE_UP_SECONDS = 900.0


class Liveness:
    """For one run; `owner` is its name beside the beats. Nothing is written before `begin`."""

    def __init__(self, wiring: Wiring, owner: str) -> None:
        root, service = wiring.map.storage.ledger_root, wiring.map.service
        self._wiring = wiring
        self._heartbeat = Heartbeat(wiring.ports, root, service, owner, wiring.processes.me())
        self._conditions = ConditionTeller(Board(wiring.ports, root, service, owner), wiring.ports.clock)
        self._notifier = Notifier()
        self._shown_at = 0.0

    def begin(self) -> None:
        """The first beat; what dead runs said of their tables is deleted."""
        self._heartbeat.send()
        root, service = self._wiring.map.storage.ledger_root, self._wiring.map.service
        delete_dead_boards(self._wiring.ports, root, service, self._wiring.processes)

    @contextmanager
    def beside(self, stuck_seconds: Callable[[], float], tables: Collection[Table]) -> Iterator[None]:
        """Beats beside the first take-over, which may take long, as long as it shows progress."""
        done = threading.Event()

        def beat() -> None:
            while not done.wait(HEARTBEAT_SECONDS):
                if stuck_seconds() <= STUCK_SECONDS:
                    self._show(tables)
                    self._notifier.extend_timeout(STUCK_SECONDS)

        beating = self._wiring.background.start("heartbeat", beat)
        try:
            yield
        finally:
            done.set()
            beating.join()

    def ready(self, status: str) -> None:
        self._notifier.ready(status)

    def tick(self, stuck_seconds: float, tables: Collection[Table]) -> bool:
        """From the main loop, a few times a second; True every HEARTBEAT_SECONDS, when there is progress to show.

        A run without progress for GIVE_UP_SECONDS ends its process.
        """
        now = self._wiring.ports.clock.monotonic()
        if now - self._shown_at < HEARTBEAT_SECONDS:
            return False
        self._shown_at = now
        if stuck_seconds > GIVE_UP_SECONDS:
            log.critical(
                "no progress for %.0f s in planning or publishing: ending this process", stuck_seconds
            )
            os._exit(ExitCode.UNAVAILABLE)
        if stuck_seconds > STUCK_SECONDS:
            log.error("no progress for %.0f s in planning or publishing", stuck_seconds)
            return False
        self._notifier.watchdog()
        self._show(tables)
        return True

    def stopping(self) -> None:
        self._notifier.stopping()

    def end(self) -> None:
        """Takes beat and conditions away."""
        self._conditions.end()
        self._heartbeat.end()

    def _show(self, tables: Collection[Table]) -> None:
        self._heartbeat.send()
        self._conditions.tell(list(tables))
