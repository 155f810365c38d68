"""The signs of life of a run that makes progress: its heartbeat, its tables' conditions, messages to systemd's watchdog."""

import logging
import os
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace

from kafka2hive.kafka.problems import UNKNOWN_TOPIC
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
    """Shows that one run is alive. It writes nothing before `begin`.

    `owner` is the run's name in its heartbeats, `decoder` the driver's decoder, `health` the state that the endpoint reports.
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
        """Returns the maximum number of tasks in an epoch; the run sets it when the epoch loop exists."""
        self._tidied = False
        self._ended = False

    def begin(self) -> None:
        """Send the first heartbeat, and begin to measure progress: Spark's start does not count."""
        self._health.progress()
        self._heartbeat.send()

    @contextmanager
    def heartbeats(self, stuck_seconds: Callable[[], float], tables: Collection[Table]) -> Iterator[None]:
        """Send heartbeats from another thread while the run starts: the first take-over and the start of the query may take long.

        They stop if the take-over makes no progress.
        """
        done = threading.Event()

        def beat() -> None:
            while not done.wait(HEARTBEAT_SECONDS):
                if stuck_seconds() <= STUCK_SECONDS:
                    self._show(tables)
                    self._notifier.extend_timeout(STUCK_SECONDS)

        thread = self._wiring.background.start("heartbeat", beat)
        try:
            yield
        finally:
            done.set()
            thread.join()

    def ready(self, status: str) -> None:
        self._health.serves()
        self._notifier.ready(status)

    def tick(self, stuck_seconds: float, tables: Collection[Table]) -> bool:
        """Show the run's progress every HEARTBEAT_SECONDS; return whether it was shown now.

        The main loop calls it a few times a second. A run without progress for GIVE_UP_SECONDS ends its process.
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
        """Write how the run ended and the last conditions of its tables, and delete its heartbeat. Only the first call counts.

        If `end` is None, nothing is written: another run owns the tables, or this run did not begin.
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
        """Delete the conditions of dead runs, once this run has shown its own."""
        if not self._tidied:
            self._tidied = True
            root, service = self._wiring.map.storage.ledger_root, self._wiring.map.service
            delete_dead_conditions(self._wiring.ports, root, service, self._wiring.processes)


class ConditionTeller:
    """Writes the conditions of a run's tables for `status`. Only one thread may use it.

    The time of a table's next try is computed once when the table is set aside, so that the text stays the same.
    """

    def __init__(self, files: ConditionFiles, clock: Clock, fingerprint: str = "", decoder: str = "") -> None:
        """`fingerprint` identifies the content of the run's map."""
        self._files = files
        self._decoder = decoder
        self._clock = clock
        self._map = fingerprint
        self._shown = RunConditions(())
        self._text = b""
        self._retrying: dict[str, Retrying] = {}
        self._tries: dict[str, tuple[tuple[int, float], str]] = {}
        self._stops: dict[str, tuple[Exception, str]] = {}

    def tell(self, tables: Collection[Table], most_tasks: int | None = None) -> None:
        """Write the conditions. Other threads may change the tables meanwhile."""
        conditions = tuple(self._condition(table) for table in tables)
        shown = self._shown
        if not shown.at or (conditions, most_tasks) != (shown.tables, shown.most_tasks):
            self._shown = replace(self._conditions_now(conditions), most_tasks=most_tasks)
            self._text = encode(self._shown)
        self._files.show(self._text)

    def end(self, end: RunEnd | None, tables: Collection[Table]) -> None:
        """Write how the run ended, and the last conditions of the tables that it tried to start."""
        reached = [table for table in tables if table.aside or isinstance(table.ownership, Owned)]
        conditions = tuple(self._condition(table) for table in reached)
        self._files.end(None if end is None else encode(replace(self._conditions_now(conditions), end=end)))

    def _conditions_now(self, conditions: tuple[TableCondition, ...]) -> RunConditions:
        return RunConditions(conditions, self._now(), map=self._map, decoder=self._decoder)

    def _now(self) -> str:
        return utc_text(self._clock.epoch_ms() / 1000)

    def _condition(self, table: Table) -> TableCondition:
        state = self._state(table)
        error_names_them = isinstance(state, Retrying) and state.trouble.code == UNKNOWN_TOPIC
        missing = (
            ()
            if error_names_them
            else tuple(f"topic {topic} does not exist (yet)" for topic in table.in_map.missing)
        )
        warnings = tuple(text for texts in list(table.warnings.values()) for text in texts)
        return TableCondition(table.name, state, missing + warnings)

    def _state(self, table: Table) -> RunState:
        """Return a table's state. After a failure it is Retrying until the table has published or has read all records.

        Records behind an open transaction do not count.
        """
        aside = table.aside  # read once, because other threads replace it
        if aside is None:
            retrying = self._retrying.get(table.name)
            if retrying is not None and table.failures and (table.lag or 0) > table.held.records:
                return retrying
            self._retrying.pop(table.name, None)
            return Serving()
        if aside.needs_manual_action:
            self._retrying.pop(table.name, None)
            return Stopped(Trouble.of(aside.error), self._since(table.name, aside))
        earlier = self._retrying.get(table.name)
        since = self._now() if earlier is None else earlier.since
        retrying = Retrying(Trouble.of(aside.error), self._next_try(table.name, aside), since)
        self._retrying[table.name] = retrying
        return retrying

    def _since(self, name: str, aside: SetAside) -> str:
        """Return when this stop was first written. An earlier stop of the table does not count, because it was repaired."""
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
