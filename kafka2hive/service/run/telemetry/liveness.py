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
from kafka2hive.service.containment import Containment, bug_in
from kafka2hive.service.run.telemetry.probe import Probe
from kafka2hive.service.tables.condition import (
    ReloadReport,
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
from kafka2hive.storage.port import Clock, OutcomeUnknown, Unavailable

log = logging.getLogger(__name__)

SAY_IT_THEMSELVES = frozenset(
    {"columns", "compaction order", "compaction slots", "completion policy", "completion topics", "future"}
    | {"positions", "routes"}
)
"""The sources of warnings whose texts say what to do."""


def remedy_of(source: str, table: str) -> str:
    """Return what to do about the warnings of a source; empty if their texts say it."""
    return {
        "vanished topics": "create the topic again if it was deleted by mistake, or remove it from the map; its records that were"
        " read stay in the table",
        "missing topics": "create the topic, or correct the table's `topics` in the map",
        "transactions": "end the producer that left the transaction open, or wait until its `transaction.timeout.ms` is over",
        "unmapped fields": "add columns to the map for the fields that readers need",
        "schema evolution": "add a column to the map for the field if readers need it",
        "rows gone": "compare the table with its database: such rows have no deletion of their own in the change log",
        "decoder": "install kafka2hive-native in the version of kafka2hive on all workers",
        "changed": "correct the producer, or the column in the map;"
        f" `kafka2hive preview --table {table} -c MAP` shows what the map makes of the newest records",
        "rules": "correct the producer, or the rule in the map;"
        f" `kafka2hive dead-letters show --table {table} -c MAP` shows the letters",
        "certificates": f"`kafka2hive doctor -c MAP` tries the rights and quotas of the directories of {table}",
        "compaction": f"the run tries again; `kafka2hive compact --plan --table {table} -c MAP` shows what waits",
        "retention": f"`kafka2hive retain --plan --table {table} -c MAP` shows what stays, and why",
        "hive_table": f"`kafka2hive verify --table {table} -c MAP` compares Hive's partitions with the ledger's",
    }.get(source, "")


STUCK_SECONDS = 120.0
GIVE_UP_SECONDS = 900.0
PATIENCE_SECONDS = 1.0
"""How long the main loop waits for a heartbeat; a storage that does not answer must not block it."""


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
        self.owner = owner
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
        self.service_warnings: Callable[[], tuple[str, ...]] = lambda: ()
        """Returns the warnings that concern all tables."""
        self.reload_report: Callable[[], ReloadReport] = lambda: ReloadReport(wiring.map.fingerprint)
        """Returns which map the run has, and what became of requests to reload it."""
        self.look: Callable[[], None] = lambda: None
        """Called before each heartbeat, also if the run makes no progress."""
        self._containment = Containment()
        self._signs = Probe("heartbeat", self._send_signs, wiring.background, wiring.ports.clock)
        self._tidied = False
        self._ended = False

    @property
    def silence(self) -> str | None:
        """Why the storage did not take the last heartbeat; None if it did, or if it answered with a refusal."""
        return self._signs.silence

    @property
    def conditions(self) -> RunConditions:
        """The conditions of the last HEARTBEAT_SECONDS; any thread may read them."""
        return self._conditions.newest

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
                self._containment.attempt("a look at the services", self.look)
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
        self._containment.attempt("a look at the services", self.look)
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
        self._signs.end()
        self._conditions.end(end, list(tables))
        self._heartbeat.end()
        if end is not None:
            self._tidy()

    def _show(self, tables: Collection[Table]) -> None:
        self._health.progress()
        self._conditions.note(list(tables), self.most_tasks(), self.service_warnings(), self.reload_report())
        self._signs.request(PATIENCE_SECONDS)

    def _send_signs(self) -> str | None:
        """Write the heartbeat and the tables' conditions. Return why the storage does not answer, None if it does."""
        failure = self._heartbeat.send()
        if isinstance(failure, Unavailable | OutcomeUnknown):
            return str(failure)
        self._conditions.write()
        self._tidy()
        return None

    def _tidy(self) -> None:
        """Delete the conditions of dead runs, once this run has shown its own."""
        if not self._tidied:
            self._tidied = True
            root, service = self._wiring.map.storage.ledger_root, self._wiring.map.service
            delete_dead_conditions(self._wiring.ports, root, service, self._wiring.processes)


class ConditionTeller:
    """Writes the conditions of a run's tables for `status`. Only one thread may use it, except for `newest` and `write`.

    The time of a table's next try is computed once when the table is set aside, so that the text stays the same.
    """

    def __init__(self, files: ConditionFiles, clock: Clock, fingerprint: str = "", decoder: str = "") -> None:
        """`fingerprint` identifies the content of the run's map."""
        self._files = files
        self._decoder = decoder
        self._clock = clock
        self._reload = ReloadReport(fingerprint)
        self.newest = RunConditions(())
        self._text = b""
        self._retrying: dict[str, Retrying] = {}
        self._tries: dict[str, tuple[tuple[int, float], str]] = {}
        self._stops: dict[str, tuple[Exception, str]] = {}
        self._warned_since: dict[tuple[str, str], str] = {}
        self._containment = Containment()

    def note(
        self,
        tables: Collection[Table],
        most_tasks: int | None = None,
        warnings: tuple[str, ...] = (),
        reload: ReloadReport | None = None,
    ) -> None:
        """Note the conditions, with the `warnings` that concern all tables. Other threads may change the tables meanwhile."""
        conditions = tuple(self._condition_or_bug(table) for table in tables)
        shown, before = self.newest, self._reload
        self._reload = before if reload is None else reload
        now = (conditions, most_tasks, warnings, self._reload)
        if not shown.at or now != (shown.tables, shown.most_tasks, shown.warnings, before):
            told = self._conditions_now(conditions)
            self.newest = replace(told, most_tasks=most_tasks, warnings=warnings)
            self._text = encode(self.newest)

    def write(self) -> None:
        """Write what was noted last; nothing if it is written already."""
        self._files.show(self._text)

    def end(self, end: RunEnd | None, tables: Collection[Table]) -> None:
        """Write how the run ended, and the last conditions of the tables that it tried to start, or that have an objective."""
        reached = [t for t in tables if t.aside or isinstance(t.ownership, Owned) or t.attainment is not None]
        conditions = tuple(self._condition_or_bug(table) for table in reached)
        self._files.end(None if end is None else encode(replace(self._conditions_now(conditions), end=end)))

    def _conditions_now(self, conditions: tuple[TableCondition, ...]) -> RunConditions:
        reload = self._reload
        return RunConditions(
            conditions,
            self._now(),
            map=reload.map,
            decoder=self._decoder,
            reloads=reload.answers,
            released=reload.released,
        )

    def _now(self) -> str:
        return utc_text(self._clock.epoch_ms() / 1000)

    def _condition_or_bug(self, table: Table) -> TableCondition:
        outcome = self._containment.attempt(table.name, lambda: self._condition(table))
        if isinstance(outcome, Exception):
            return TableCondition(table.name, Serving(), (str(bug_in(table.name, outcome)),))
        return outcome[0]

    def _condition(self, table: Table) -> TableCondition:
        state = self._state(table)
        error_names_them = isinstance(state, Retrying) and state.trouble.code == UNKNOWN_TOPIC
        by_source = {
            "vanished topics": tuple(f"topic {topic} is not in Kafka any more" for topic in table.vanished),
            "missing topics": tuple(
                f"topic {topic} does not exist (yet)"
                for topic in table.in_map.missing
                if not error_names_them and topic not in table.vanished
            ),
            **table.warnings,
        }
        warnings = tuple(
            text for source in by_source for text in self._with_since(table.name, source, by_source[source])
        )
        return TableCondition(table.name, state, warnings, table.attainment)

    def _with_since(self, table: str, source: str, texts: tuple[str, ...]) -> tuple[str, ...]:
        """Add to the warnings of one source since when there are any, and what to do."""
        if not texts:
            self._warned_since.pop((table, source), None)
            return ()
        since = self._warned_since.setdefault((table, source), self._now())
        remedy = f"; what to do: {what}" if (what := remedy_of(source, table)) else ""
        return tuple(f"{text}{'' if ' since ' in text else f' (since {since})'}{remedy}" for text in texts)

    def _state(self, table: Table) -> RunState:
        """Return a table's state. After a failure it is Retrying until the table has published or has read all records.

        Records behind an open transaction do not count.
        """
        aside = table.aside  # read once, because other threads replace it
        if aside is None:
            retrying = self._retrying.get(table.name)
            if retrying is not None and table.is_on_trial and (table.lag or 0) > table.held.records:
                return replace(retrying, next_try="")
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
        wait = aside.until - self._clock.monotonic()
        if wait <= 0:
            return ""
        known = self._tries.get(name)
        if known is not None and known[0] == (aside.times, aside.until):
            return known[1]
        text = utc_text(self._clock.epoch_ms() / 1000 + wait)
        self._tries[name] = ((aside.times, aside.until), text)
        return text
