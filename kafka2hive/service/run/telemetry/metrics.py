"""The listeners of an epoch: metrics and the progress line, and the consumer group's offsets."""

import logging
from collections import deque
from collections.abc import Collection, Mapping
from functools import partial
from types import MappingProxyType

from kafka2hive.config.keys import Objective
from kafka2hive.kafka.port import Kafka
from kafka2hive.model.errors import Fenced, Kafka2HiveError, TakeOverLost
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.observe.progress import EpochNumbers, TableNumbers, Totals, log_epoch, total_line
from kafka2hive.service.containment import Containment
from kafka2hive.service.run.telemetry.objectives import ObjectiveWatch
from kafka2hive.service.tables.attainment import Attainment
from kafka2hive.service.tables.report import EpochReport, TableStart
from kafka2hive.service.tables.run_epoch import RunEpoch
from kafka2hive.service.tables.table_state import Owned, Table
from kafka2hive.storage.port import Background, Clock, Thread

log = logging.getLogger(__name__)

MOST_RECENT = 200
"""The number of epochs that a run keeps for its page."""


class EpochWatcher:
    """Reports each epoch as a progress line and metrics, and logs once how long the first visible rows took."""

    def __init__(
        self,
        metrics: ServiceMetrics,
        clock: Clock,
        hive: bool,
        attainments: Mapping[str, Attainment] = MappingProxyType({}),
    ) -> None:
        """Begin to measure the run's time. `hive` says whether the map has a hive section.

        `attainments` are what earlier runs saw of the tables' objectives.
        """
        self._metrics = metrics
        self._clock = clock
        self._began = clock.monotonic()
        self._hive = hive
        self._totals = Totals()
        self._shown: set[str] = set()
        self._freshness = Freshness()
        self._objectives = ObjectiveWatch(metrics, attainments)
        self._containment = Containment()
        self.recent: deque[RunEpoch] = deque(maxlen=MOST_RECENT)
        """The last epochs for the run's page, oldest first; the page's thread copies them."""

    def epoch(self, report: EpochReport) -> None:
        now = self._clock.epoch_ms() / 1000
        fresh = {table.name: self._freshness.of(table, now) for table in report.tables}
        numbers = epoch_numbers(report, fresh, self._hive)
        self._metrics.observe_epoch(numbers)
        self.recent.append(_run_epoch(report, numbers, self._clock.now()))
        log_epoch(numbers)
        if not self._totals.files and report.files:
            log.info("first rows visible %.1f s after the start", self.seconds)
        self._totals = self._totals.plus(numbers)

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return self._clock.monotonic() - self._began

    def started(self, started: TableStart) -> None:
        self._metrics.observe_moves(started.table, started.moves)

    def locations_corrected(self, partitions: Collection[HivePartition]) -> None:
        for partition in sorted(partitions):
            log.warning(
                "%s partition %s had a wrong location in Hive and was set to %s again: a statement such as ANALYZE TABLE"
                " that began before the partition moved writes the old location back; its late rows were hidden meanwhile",
                partition.table,
                partition.path,
                partition.location,
            )
            self._metrics.observe_location_corrected(partition.table)

    def registrations_lapsed(self, partitions: Collection[HivePartition]) -> None:
        for partition in partitions:
            self._metrics.observe_lapsed(partition.table)

    def compaction(self, table: str, moved: bool) -> None:
        self._metrics.observe_compaction(table, moved=moved)

    def file_missing(self, table: str) -> None:
        self._metrics.observe_missing_file(table)

    def summary(self, tables: list[Table]) -> str:
        return total_line(
            self._totals,
            seconds=self.seconds,
            lag_records=None if any(t.lag is None for t in tables) else sum(t.lag or 0 for t in tables),
            unregistered=sum(len(t.open_registrations) for t in tables),
            hive=self._hive,
            set_aside=sum(t.aside is not None for t in tables),
        )

    def idle(self, tables: list[Table], refused_topics: int = 0) -> None:
        """Report lag, pending registrations, set-aside tables and topics without a table. It is called also between epochs."""
        now = self._clock.epoch_ms() / 1000
        names = {table.name for table in tables}
        for gone in self._shown - names:  # a reload has removed it
            self._metrics.forget_table(gone)
        self._shown = names
        for table in tables:
            self._containment.attempt(table.name, partial(self._observe, table, now))
        self._metrics.observe_set_aside(sum(t.aside is not None for t in tables))
        self._metrics.observe_refused_topics(refused_topics)

    def objectives(self, tables: list[Table]) -> None:
        """Judge the tables' objectives. It is called with each heartbeat, also if the run makes no progress."""
        now = self._clock.epoch_ms() / 1000
        for table in tables:
            if table.rule.objective is not None:
                self._containment.attempt(table.name, partial(self._judge, table, table.rule.objective, now))

    def _judge(self, table: Table, objective: Objective, now: float) -> None:
        self._objectives.look(table, objective, self._freshness.of(table, now), now)

    def _observe(self, table: Table, now: float) -> None:
        if (state := table.last_state) is not None:
            self._metrics.observe_paused(table.name, paused=state.paused is not None)
        if (lag := table.lag) is not None:
            self._metrics.observe_lag(table.name, lag, self._freshness.of(table, now))
        self._metrics.observe_unregistered(table.name, len(table.not_in_hive))
        since_ms = table.held.since_ms
        held_seconds = 0.0 if since_ms is None else max(now - since_ms / 1000, 0.0)
        self._metrics.observe_held(table.name, table.held.records, held_seconds)
        if isinstance(owned := table.ownership, Owned) and owned.state.tracking is not None:
            through_ms = table.completion.read_through.through_ms
            through = None if through_ms is None else through_ms / 1000
            self._metrics.observe_completion(
                table.name,
                len(owned.state.open),
                through,
                uncertified=len(table.completion.uncertified),
                withheld=len(frozenset(owned.state.withheld) - owned.ledger.released),
            )


def epoch_numbers(report: EpochReport, fresh: Mapping[str, float | None], hive: bool) -> EpochNumbers:
    """Return the report's numbers. `fresh` has the freshness of each table. Without `hive`, partitions are never overdue."""
    tables = {t.name: t for t in report.tables}
    return EpochNumbers(
        number=report.number,
        seconds=report.tasks_seconds + report.publish_seconds,
        tables=tuple(
            TableNumbers(
                table=r.table,
                epoch=r.state.epoch,
                records=r.outcome.total.read,
                bytes=r.outcome.total.bytes,
                dead_letters=r.outcome.total.dead_lettered,
                out_of_range=r.outcome.total.out_of_range,
                late=r.outcome.total.late,
                moves=r.moves,
                unregistered=len(tables[r.table].not_in_hive),
                overdue=len(tables[r.table].not_in_hive & r.unregistered_before) if hive else 0,
                lag_records=tables[r.table].lag or 0,
                freshness_seconds=fresh[r.table],
            )
            for r in report.reports
        ),
        phases={"tasks": report.tasks_seconds, "publish": report.publish_seconds},
        set_aside=sum(t.aside is not None for t in report.tables),
        lag_records=report.lag_records,
        tasks=report.tasks,
        most_tasks=report.most_tasks,
    )


def _run_epoch(report: EpochReport, numbers: EpochNumbers, published_at: str) -> RunEpoch:
    return RunEpoch(
        number=numbers.number,
        published_at=published_at,
        tasks_seconds=report.tasks_seconds,
        publish_seconds=report.publish_seconds,
        records=numbers.records,
        tables=len(numbers.tables),
        lag_records=numbers.lag_records,
        fresh_seconds=numbers.freshness_seconds,
        set_aside=numbers.set_aside,
    )


class Freshness:
    """Estimates for how many seconds a table's oldest unread record may have waited, from this run's looks at Kafka."""

    def __init__(self) -> None:
        self._caught_up: dict[str, float] = {}
        self._waiting: dict[str, float] = {}

    def of(self, table: Table, now: float) -> float | None:
        """Return the seconds: 0 if no records wait, None if the lag is not known yet. `now` is in Unix seconds.

        If records wait, the result is the age of the newest record in the table, or the time since the table last had no lag,
        whichever is shorter: the newest record of a quiet topic is old, but the next one may have come just now. For a table
        without rows that never caught up, it is the time since records were first seen to wait.
        """
        if table.lag is None:
            return None
        if table.lag == 0:
            self._caught_up[table.name] = now
            self._waiting.pop(table.name, None)
            return 0.0
        first_seen = self._waiting.setdefault(table.name, now)
        since = [self._caught_up[table.name]] if table.name in self._caught_up else []
        state = table.last_state
        if state is not None and state.newest_ms is not None:
            since.append(state.newest_ms / 1000)
        return max(now - max(since, default=first_seen), 0.0)


class GroupFollower:
    """Commits the tables' newest positions to the consumer group in the background, for lag tools."""

    def __init__(self, kafka: Kafka, group: str, background: Background) -> None:
        self._kafka = kafka
        self._group = group
        self._background = background
        self._condition = background.condition()
        self._offsets: dict[TopicPartition, int] | None = None
        self._ending = False
        self._thread: Thread | None = None  # it starts at the first epoch

    def __call__(self, report: EpochReport) -> None:
        offsets: dict[TopicPartition, int] = {}
        for table in report.tables:
            owned = table.ownership
            for position in owned.state.positions if isinstance(owned, Owned) else ():
                tp = position.topic_partition
                if tp.topic not in table.topics:
                    continue  # Kafka refuses an offset of a topic that was deleted
                offsets[tp] = min(position.end, offsets.get(tp, position.end))
        with self._condition:
            self._offsets = offsets
            self._condition.notify_all()
        if self._thread is None:
            self._thread = self._background.start("group-offsets", self._work)

    def end(self, seconds: float, ended_by: Exception | None) -> None:
        """Commit the newest positions within `seconds`, but nothing if the run was fenced.

        The process that fenced the run may have set the group back, as `reset --takeover` does.
        """
        with self._condition:
            if isinstance(ended_by, Fenced | TakeOverLost):
                self._offsets = None
            self._ending = True
            self._condition.notify_all()
        if self._thread is not None:
            self._thread.join(seconds)

    def _work(self) -> None:
        with self._kafka.group_commits(self._group) as commits:
            while (offsets := self._next()) is not None:
                try:
                    commits.commit(offsets)
                except Kafka2HiveError as error:
                    log.warning("the consumer group's offsets are not committed: %s", error.message)

    def _next(self) -> dict[TopicPartition, int] | None:
        """Wait for newer offsets and return them; None if the run ends and all offsets are committed."""
        with self._condition:
            self._condition.wait_for(lambda: self._offsets is not None or self._ending)
            offsets, self._offsets = self._offsets, None
            return offsets
