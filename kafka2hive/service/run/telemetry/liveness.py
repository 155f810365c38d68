"""What a run shows of itself while it makes progress: its heartbeat, its tables' conditions, systemd's watchdog."""

import logging
import os
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace

from kafka2hive.kafka.errors import UNKNOWN_TOPIC
from kafka2hive.ledger.condition_files import ConditionFiles, delete_dead_conditions
from kafka2hive.ledger.heartbeat import HEARTBEAT_SECONDS, Heartbeat
from kafka2hive.model.errors import ExitCode
from kafka2hive.model.text import utc_text
from kafka2hive.observe.endpoint import Health, Notifier
from kafka2hive.service.tables.condition import (
    Retrying,
    RunConditions,
    RunEnd,
    RunState,
    Serving,
    Stopped,
    TableCondition,
    Trouble,
    encode,
)
from kafka2hive.service.tables.table_state import Owned, SetAside, Table
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import Clock

log = logging.getLogger(__name__)

STUCK_SECONDS = 120.0
GIVE_UP_SECONDS = 900.0


class Liveness:
    """For one run; `owner` is its name beside the beats, `decoder` the driver's, `health` what its endpoint answers.

    Nothing is written before `begin`.
    """

    def __init__(self, wiring: Wiring, owner: str, decoder: str = "", health: Health | None = None) -> None:
        root, service = wiring.map.storage.ledger_root, wiring.map.service
        self._wiring = wiring
        self._heartbeat = Heartbeat(
            ports=wiring.ports, root=root, service=service, owner=owner, identity=wiring.processes.me()
        )
        self._conditions = ConditionTeller(
            ConditionFiles(wiring.ports, root, service, owner),
            wiring.ports.clock,
            wiring.map.fingerprint,
            decoder,
        )
        self._notifier = Notifier()
        self._health = health or Health()
        self._shown_at = 0.0
        self.most_tasks: Callable[[], int | None] = lambda: None
        """Of an epoch, now; to be set once it can be known."""
        self._tidied = False
        self._ended = False

    def begin(self) -> None:
        """The first beat. How long Spark took to start does not count against the run."""
        self._health.progress()
        self._heartbeat.send()

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
        self._health.serves()
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
        self._health.stops()
        self._notifier.stopping()

    def end(self, end: RunEnd | None, tables: Collection[Table]) -> None:
        """Say how the run ended and in which state it leaves its tables; take conditions and beat away. Once.

        None: nothing is said, because another run has the say, or nothing was begun.
        """
        if self._ended:
            return
        self._ended = True
        self._conditions.end(end, list(tables))
        self._heartbeat.end()
        if end is not None:
            self._tidy()

    def _show(self, tables: Collection[Table]) -> None:
        self._health.progress()
        self._heartbeat.send()
        self._conditions.tell(list(tables), self.most_tasks())
        self._tidy()

    def _tidy(self) -> None:
        """What dead runs said is deleted, once this one has said something."""
        if not self._tidied:
            self._tidied = True
            root, service = self._wiring.map.storage.ledger_root, self._wiring.map.service
            delete_dead_conditions(self._wiring.ports, root, service, self._wiring.processes)


class ConditionTeller:
    """For one thread. A time of the next try is computed once for each setting aside, so that it stands still."""

    def __init__(self, files: ConditionFiles, clock: Clock, fingerprint: str = "", decoder: str = "") -> None:
        """`fingerprint`: of the run's map."""
        self._files = files
        self._decoder = decoder
        self._clock = clock
        self._map = fingerprint
        self._told = RunConditions(())
        self._retrying: dict[str, Retrying] = {}
        self._tries: dict[str, tuple[tuple[int, float], str]] = {}
        self._stops: dict[str, tuple[Exception, str]] = {}

    def tell(self, tables: Collection[Table], most_tasks: int | None = None) -> None:
        """Tables are read, not changed; other threads may change them meanwhile."""
        conditions = tuple(self._condition(table) for table in tables)
        told = self._told
        if not told.at or (conditions, most_tasks) != (told.tables, told.most_tasks):
            self._told = replace(self._said(conditions), most_tasks=most_tasks)
        self._files.show(encode(self._told))

    def end(self, end: RunEnd | None, tables: Collection[Table]) -> None:
        """The last word; tables that the run never came to are left out."""
        reached = [table for table in tables if table.aside or isinstance(table.ownership, Owned)]
        conditions = tuple(self._condition(table) for table in reached)
        self._files.end(None if end is None else encode(replace(self._said(conditions), end=end)))

    def _said(self, conditions: tuple[TableCondition, ...]) -> RunConditions:
        return RunConditions(conditions, self._now(), map=self._map, decoder=self._decoder)

    def _now(self) -> str:
        return utc_text(self._clock.epoch_ms() / 1000)

    def _condition(self, table: Table) -> TableCondition:
        state = self._state(table)
        is_told = isinstance(state, Retrying) and state.trouble.code == UNKNOWN_TOPIC
        missing = (
            () if is_told else tuple(f"topic {topic} does not exist (yet)" for topic in table.in_map.missing)
        )
        found = tuple(text for texts in list(table.warnings.values()) for text in texts)
        return TableCondition(table.name, state, missing + found)

    def _state(self, table: Table) -> RunState:
        """A table that was taken up again, has work, and has not published since, is not served yet: it is being tried.

        What an open transaction holds back is no work yet.
        """
        aside = table.aside  # read once
        if aside is None:
            tried = self._retrying.get(table.name)
            if tried is not None and table.failures and (table.lag or 0) > table.held.records:
                return tried
            self._retrying.pop(table.name, None)
            return Serving()
        if aside.needs_manual_action:
            self._retrying.pop(table.name, None)
            return Stopped(Trouble.of(aside.error), self._since(table.name, aside))
        retrying = Retrying(Trouble.of(aside.error), self._next_try(table.name, aside))
        self._retrying[table.name] = retrying
        return retrying

    def _since(self, name: str, aside: SetAside) -> str:
        """When this stop was first told: not an earlier one's time, for the table may have been repaired in between."""
        error, since = self._stops.get(name, (None, ""))
        if error is not aside.error:
            since = self._now()
            self._stops[name] = (aside.error, since)
        return since

    def _next_try(self, name: str, aside: SetAside) -> str:
        known = self._tries.get(name)
        if known is not None and known[0] == (aside.times, aside.until):
            return known[1]
        wait = max(aside.until - self._clock.monotonic(), 0.0)
        text = utc_text(self._clock.epoch_ms() / 1000 + wait)
        self._tries[name] = ((aside.times, aside.until), text)
        return text
