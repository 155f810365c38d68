"""The page of a live run: the report of its service. It is made on request, at most every MOST_OFTEN_SECONDS."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace

from kafka2hive.ledger.heartbeat import HeartbeatWatch, Processes, ProcessIdentity
from kafka2hive.model.errors import Kafka2HiveError, ServiceUnavailable
from kafka2hive.observe.log import Redaction
from kafka2hive.service.inspect.report import ReportScope, RunEpoch, report
from kafka2hive.service.wiring import Wiring

MOST_OFTEN_SECONDS = 30.0
IDLE_SHARE = 20
"""A page is kept this many times as long as it took to make, so that making pages takes at most a twentieth of the time."""
SCOPE = ReportScope(details=10, epochs=50, with_hive=False)
_KAFKA_SECONDS = 5.0


class LivePage:
    """Makes the page in the thread of the request. Requests that come meanwhile wait for the same page.

    It reads the ledgers and asks Kafka as `report` does, with separate clients and without the run's lock.
    """

    def __init__(self, wiring: Wiring, run_epochs: Iterable[RunEpoch]) -> None:
        self._wiring = wiring
        self._run_epochs = run_epochs
        self._redact = Redaction(wiring.map.secrets)
        root, processes = wiring.map.storage.ledger_root, _Onlooker(wiring.processes)
        self._heartbeats = HeartbeatWatch(wiring.ports, root, processes)
        self._making = threading.Lock()
        self._page = b""
        self._kept_until = 0.0

    def __call__(self) -> bytes:
        """Return the page. Raises ServiceUnavailable, without secrets in its text, if the tables cannot be read."""
        clock = self._wiring.ports.clock
        with self._making:
            began = clock.monotonic()
            if not self._page or began >= self._kept_until:
                self._page = self._make()
                ended = clock.monotonic()
                self._kept_until = ended + max(MOST_OFTEN_SECONDS, IDLE_SHARE * (ended - began))
            return self._page

    def _make(self) -> bytes:
        from kafka2hive.service.inspect.report_page import page

        try:
            kafka = self._wiring.kafka(_KAFKA_SECONDS, shared_timeout=True)
            epochs = tuple(self._run_epochs)
            return page(report(self._wiring, kafka, SCOPE, epochs, heartbeats=self._heartbeats), self._redact)
        except Kafka2HiveError as error:
            message, remedy = self._redact(error.message), self._redact(error.remedy)
            raise ServiceUnavailable(error.code, message, remedy) from None


@dataclass(frozen=True, slots=True)
class _Onlooker:
    """The processes of this host, seen by an imaginary process, so that this run's own heartbeat counts as another's."""

    _processes: Processes

    def me(self) -> ProcessIdentity:
        return replace(self._processes.me(), pid=0)

    def is_gone(self, identity: ProcessIdentity) -> bool:
        return self._processes.is_gone(identity)
