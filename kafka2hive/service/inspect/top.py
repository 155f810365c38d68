"""`kafka2hive top`: repeated readings of a service's tables by the code of `status`, in bounded time. Only reads.

A reading costs several NameNode calls per table, so it covers the tables on the screen, and of the others only as many as it
can read in about READ_SECONDS, those with the oldest figures first. If a system does not answer, its last figures stay.
"""

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kafka2hive.config.keys.service import Metrics
from kafka2hive.kafka.port import Kafka
from kafka2hive.ledger.heartbeat import HeartbeatWatch
from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.model.text import unix_seconds
from kafka2hive.observe.scrape import read_metrics
from kafka2hive.service.inspect.state import TableState
from kafka2hive.service.inspect.status import (
    EpochStatus,
    StatusResult,
    TableStatus,
    TableWithoutLedger,
    status,
)
from kafka2hive.service.tables.condition import RunConditions
from kafka2hive.service.tables.ledgers import ledger_tables, literal_rules
from kafka2hive.service.wiring import Wiring

if TYPE_CHECKING:
    from kafka2hive.service.inspect.dead_letters import LetterPage

READ_SECONDS = 1.0
"""The time that a reading should take; it decides how many tables that are not on the screen are read."""
FIRST_TABLES = 20
"""Maximum number of tables in the first reading; its duration decides how many the next reading covers."""
RATE_SECONDS = 600.0
"""The age up to which epochs count in a rate."""
RATE_EPOCHS = 2
"""The number of epochs that count in a rate: after a backlog, older ones would show a rate that has ended."""
LETTERS = 20
METRICS_SECONDS = 1.0

_PHASE = re.compile(r'^kafka2hive_epoch_phase_seconds_(sum|count)\{phase="([^"]+)"\} (\S+)$', re.MULTILINE)
_SERVICE = re.compile(r'^kafka2hive_service_info\{service="([^"]+)"\}', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Throughput:
    """The records and bytes per second that a table's last epochs have read."""

    records: float
    bytes: float


@dataclass(frozen=True, slots=True)
class TopRow:
    """The figures of one table at its last reading.

    - `read_at`: the time of the reading (Unix seconds); 0 before the first, when only a live run's report is known.
    - `table`: None if the table has no ledger or was not read yet.
    - `lag`: the last known lag, also while Kafka does not answer.
    - `error`: set if the last reading could not read the ledger.
    """

    name: str
    state: TableState | None = None
    table: TableStatus | None = None
    not_begun: TableWithoutLedger | None = None
    lag: int | None = None
    rate: Throughput | None = None
    error: Kafka2HiveError | None = None
    read_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Silence:
    """A system that did not answer, and why. Its figures are of the time `since` (Unix seconds), 0 if it has never answered."""

    system: str
    since: float
    why: str


@dataclass(frozen=True, slots=True)
class Reading:
    """All tables of a service at `at` (Unix seconds), and the systems that did not answer.

    `phases` has the mean seconds of each phase, over the epochs between the last two readings that saw new epochs; the first
    reading has the mean since the run's start. `warnings` are those of the live run that concern all tables.
    """

    service: str
    at: float
    rows: tuple[TopRow, ...] = ()
    silences: tuple[Silence, ...] = ()
    last_run: RunConditions | None = None
    is_live: bool = False
    map_differs: bool = False
    waiting_orders: int = 0
    warnings: tuple[str, ...] = ()
    phases: Mapping[str, float] = field(default_factory=dict)


def rate_of(epochs: Sequence[EpochStatus], now: float) -> Throughput | None:
    """Return the throughput of the newest of these epochs (newest first), from the end of the one before them up to `now`.

    At most RATE_EPOCHS count, none that is older than RATE_SECONDS. None if fewer than two epochs are known.
    """
    if len(epochs) < 2:
        return None
    epochs = epochs[: RATE_EPOCHS + 1]
    times = [unix_seconds(epoch.written_at) for epoch in epochs]
    if any(moment is None for moment in times):
        return None
    begin = max(times[-1] or 0.0, now - RATE_SECONDS)
    recent = [e for e, moment in zip(epochs[:-1], times, strict=False) if (moment or 0.0) > begin]
    seconds = max(now - begin, 1.0)
    return Throughput(
        sum(e.account.read for e in recent) / seconds, sum(e.account.bytes for e in recent) / seconds
    )


def next_tables(
    visible: Collection[str], read_at: Mapping[str, float], names: Collection[str], room: int
) -> list[str]:
    """Return the tables to read now: the visible tables, then up to `room` tables with the oldest readings. Pure."""
    on_screen = set(visible)
    first = [name for name in names if name in on_screen]
    others = sorted(set(names) - on_screen, key=lambda name: (read_at.get(name, 0.0), name))
    return first + others[:room]


class TopReader:
    """Reads one service again and again, and keeps each table's figures until its next reading. Only one thread may use it.

    `kafka` returns a client for one reading.
    """

    def __init__(
        self, wiring: Wiring, kafka: Callable[[], Kafka], now: Callable[[], float] = time.time
    ) -> None:
        self._wiring = wiring
        self._kafka = kafka
        self._now = now
        self._heartbeats = HeartbeatWatch(wiring.ports, wiring.map.storage.ledger_root, wiring.processes)
        self._rows: dict[str, TopRow] = {}
        self._foreign: set[str] = set()  # ledgers of other services below the same root
        self._last = Reading(wiring.map.service, 0.0)
        self._answered_at: dict[str, float] = {}
        self._room = FIRST_TABLES
        self._phases = _Phases(wiring.map.metrics, wiring.map.service)

    def read_all(self) -> Reading:
        """Read every table, however long that takes. Raises ServiceUnavailable."""
        return self._read(lambda names: names, None)

    def read(self, visible: Collection[str]) -> Reading:
        """Read the visible tables and some others. If a system does not answer, the result has a Silence instead of an error."""

        def chosen(names: list[str]) -> list[str]:
            return next_tables(visible, {n: row.read_at for n, row in self._rows.items()}, names, self._room)

        try:
            return self._read(chosen, self._heartbeats)
        except Kafka2HiveError as error:
            silence = Silence("HDFS", self._answered_at.get("HDFS", 0.0), str(error))
            self._last = replace(self._last, silences=(silence,))
            return self._last

    def letters(self, table: str) -> "LetterPage":
        """Return the table's newest dead letters; any thread may call it.

        Raises Kafka2HiveError (`usage.no_dead_letter`: there are none).
        """
        from kafka2hive.service.inspect.dead_letters import show_dead_letters

        return show_dead_letters(self._wiring, None, (table,), LETTERS)

    def _read(self, choose: Callable[[list[str]], list[str]], heartbeats: HeartbeatWatch | None) -> Reading:
        began = time.monotonic()
        ledgers = {paths.table for paths in ledger_tables(self._wiring)} - self._foreign
        literal = literal_rules(self._wiring)
        names = sorted(ledgers | literal.keys())
        wanted = choose(names)
        result = status(self._wiring, self._kafka(), wanted, heartbeats)
        now = self._now()
        self._take(result, now)
        reports = (result.runs.reports.get(owner) for owner in result.runs.live)
        reported = {condition.table for report in reports if report for condition in report.tables}
        known = {*names, *reported} - self._foreign
        self._rows = {name: self._row_of(name, result) for name in sorted(known)}
        seconds = max(time.monotonic() - began, 0.001)
        self._room = max(FIRST_TABLES, int(READ_SECONDS * max(len(wanted), 1) / seconds))
        self._last = Reading(
            service=self._wiring.map.service,
            at=now,
            rows=tuple(self._rows.values()),
            silences=tuple(self._silences(result, now)),
            last_run=result.last_run,
            is_live=bool(result.runs.live),
            map_differs=result.map_differs,
            waiting_orders=len(result.waiting_orders),
            warnings=result.runs.warnings,
            phases=self._phases.read(),
        )
        return self._last

    def _take(self, result: StatusResult, now: float) -> None:
        """Replace the rows of the tables that were read. A table whose ledger could not be read keeps its figures."""
        for table in result.tables:
            if table.view.state.service != self._wiring.map.service:
                self._foreign.add(table.name)
                continue
            before = self._rows.get(table.name)
            lag = table.lag if result.kafka_error is None else (before.lag if before else None)
            self._rows[table.name] = TopRow(
                table.name, table.state, table, lag=lag, rate=rate_of(table.last_epochs, now), read_at=now
            )
        for not_begun in result.not_begun:
            self._rows[not_begun.table] = TopRow(
                not_begun.table, not_begun.state, not_begun=not_begun, read_at=now
            )
        for name, error in result.errors:
            self._rows[name] = replace(self._rows.get(name, TopRow(name)), error=error, read_at=now)

    def _row_of(self, name: str, result: StatusResult) -> TopRow:
        """Return the table's row. Before its first reading, a table has the state that a live run reports."""
        row = self._rows.get(name, TopRow(name))
        if row.read_at:
            return row
        condition = result.runs.condition(name, None)
        return replace(row, state=condition.state) if condition else row

    def _silences(self, result: StatusResult, now: float) -> Iterable[Silence]:
        if result.storage_error is None:
            self._answered_at["HDFS"] = now
        else:
            yield Silence("HDFS", self._answered_at.get("HDFS", 0.0), str(result.storage_error))
        if result.kafka_error is None:
            self._answered_at["Kafka"] = now
        else:
            yield Silence("Kafka", self._answered_at.get("Kafka", 0.0), result.kafka_error)


class _Phases:
    """The mean durations of the phases of epochs, from the metrics endpoint of the run if it can be reached."""

    def __init__(self, metrics: Metrics, service: str) -> None:
        from urllib.parse import urlencode

        names = ("kafka2hive_epoch_phase_seconds_sum", "kafka2hive_epoch_phase_seconds_count")
        query = urlencode([("name[]", name) for name in (*names, "kafka2hive_service_info")])
        self._query = f"?{query}"
        self._metrics = metrics
        self._service = service
        self._sums: dict[str, tuple[float, float]] = {}
        self._means: dict[str, float] = {}

    def read(self) -> Mapping[str, float]:
        """Return the mean seconds of each phase; empty if the endpoint cannot be reached or belongs to another service."""
        text = read_metrics(self._metrics.host, self._metrics.port, self._query, METRICS_SECONDS)
        if text is None:
            return {}
        if self._service not in _SERVICE.findall(text):
            return {}
        parts: dict[str, dict[str, float]] = {}
        for part, phase, value in _PHASE.findall(text):
            parts.setdefault(phase, {})[part] = float(value)
        for phase, now in parts.items():
            total, count = now.get("sum", 0.0), now.get("count", 0.0)
            before_total, before_count = self._sums.get(phase, (0.0, 0.0))
            if count < before_count:  # the run was restarted
                before_total = before_count = 0.0
            if count > before_count:
                self._means[phase] = (total - before_total) / (count - before_count)
            self._sums[phase] = total, count
        return dict(self._means)
