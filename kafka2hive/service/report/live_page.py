"""The page of a live run: the report of its service. It is made on request, and kept for MOST_OFTEN_SECONDS or longer."""

import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from kafka2hive.config.command_blanks import CommandBlanks
from kafka2hive.ledger.heartbeat import HeartbeatWatch, Processes, ProcessIdentity
from kafka2hive.model.errors import Kafka2HiveError, ServiceUnavailable
from kafka2hive.observe.log import Redaction
from kafka2hive.service.report.report import ReportScope, report
from kafka2hive.service.tables.run_epoch import RunEpoch
from kafka2hive.service.wiring import Wiring

MOST_OFTEN_SECONDS = 30.0
IDLE_SHARE = 20
"""A page is kept this many times as long as it took to make, so that making pages takes at most a twentieth of the time."""
SCOPE = ReportScope(details=10, epochs=50, with_hive=False)
_KAFKA_SECONDS = 5.0


class LivePage:
    """Makes the page in the thread of the request. Requests that come meanwhile wait for the same page.

    It reads the ledgers and asks Kafka as `report` does, with separate clients and without the run's lock. A page is not kept
    if `news` returns something else than before it was made.
    """

    def __init__(
        self, wiring: Wiring, run_epochs: Iterable[RunEpoch], news: Callable[[], object] = lambda: None
    ) -> None:
        self._wiring = wiring
        self._run_epochs = run_epochs
        self._news = news
        self._redact = Redaction(wiring.map.secrets)
        self._blanks = CommandBlanks.of_map(wiring.map, os.environ)
        root, processes = wiring.map.storage.ledger_root, _Onlooker(wiring.processes)
        self._heartbeats = HeartbeatWatch(wiring.ports, root, processes)
        self._making = threading.Lock()
        self._page = b""
        self._kept_until = 0.0
        self._told: object = None

    def __call__(self) -> bytes:
        """Return the page. Raises ServiceUnavailable, without secrets in its text, if the tables cannot be read."""
        clock = self._wiring.ports.clock
        with self._making:
            began, news = clock.monotonic(), self._news()
            if not self._page or began >= self._kept_until or news != self._told:
                self._page, self._told = self._make(), news
                ended = clock.monotonic()
                self._kept_until = ended + max(MOST_OFTEN_SECONDS, IDLE_SHARE * (ended - began))
            return self._page

    def _make(self) -> bytes:
        from kafka2hive.service.report.page import page

        try:
            kafka = self._wiring.kafka(_KAFKA_SECONDS, shared_timeout=True)
            epochs = tuple(self._run_epochs)
            return page(report(self._wiring, kafka, SCOPE, epochs, heartbeats=self._heartbeats), self._shown)
        except Kafka2HiveError as error:
            message, remedy = self._shown(error.message), self._shown(error.remedy)
            raise ServiceUnavailable(error.code, message, remedy) from None

    def _shown(self, text: str) -> str:
        """Return the text with the blanks in its commands filled, and without secrets."""
        return self._redact(self._blanks.fill(text))


@dataclass(frozen=True, slots=True)
class _Onlooker:
    """The processes of this host, seen by an imaginary process, so that this run's own heartbeat counts as another's."""

    _processes: Processes

    def me(self) -> ProcessIdentity:
        return replace(self._processes.me(), pid=0)

    def is_gone(self, identity: ProcessIdentity) -> bool:
        return self._processes.is_gone(identity)
