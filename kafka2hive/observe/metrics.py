"""The metrics for Prometheus, set by plain calls with numbers. Names and alerts: docs/operations.md, Metrics."""

import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.server import HTTPServer
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

from kafka2hive.model.files import FileMoves
from kafka2hive.observe.endpoint import Health, Page, serve
from kafka2hive.observe.progress import EpochNumbers, TableNumbers

_PREFIX = "kafka2hive_"
_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
_PHASE_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


@dataclass(frozen=True, slots=True)
class DeclaredMetric:
    """A metric as docs/operations.md lists it; its name is without the prefix, its meaning is Markdown."""

    name: str
    kind: str
    labels: tuple[str, ...]
    meaning: str


@dataclass(frozen=True, slots=True)
class NewsMetrics:
    """What becomes of news (`Watcher` of the outbox)."""

    _told: Counter
    _failures: Counter
    _waiting: Gauge
    _silent: Gauge

    def note_taken(self, receiver: str) -> None:
        self._told.labels(receiver).inc()

    def note_failure(self, receiver: str, code: str) -> None:
        self._failures.labels(receiver, code).inc()

    def note_waiting(self, receiver: str, news: int, seconds: float) -> None:
        self._waiting.labels(receiver).set(news)
        self._silent.labels(receiver).set(seconds)


class ServiceMetrics:
    """The metrics and the health of one service, in a separate registry. Any thread may report."""

    def __init__(self, service: str, now: Callable[[], float] = time.time) -> None:
        """Create all metrics; called when the run begins. `now` returns Unix seconds."""
        self._now = now
        self.registry = CollectorRegistry()
        self.declared: list[DeclaredMetric] = []
        self.health = Health()
        self._server: HTTPServer | None = None
        self._lock = threading.Lock()
        self._values: dict[tuple[Any, ...], float] = {}
        self._begun: set[tuple[Any, ...]] = set()
        # otherwise each counter has another line, with the time at which it began
        disable_created_metrics()  # type: ignore[no-untyped-call]

        self._gauge("service_info", "always 1", "service").labels(service).set(1)
        self._create_table_metrics()
        self._create_service_metrics()

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        text = self._declare(name, "counter", meaning, labels)
        return Counter(f"{_PREFIX}{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        text = self._declare(name, "gauge", meaning, labels)
        return Gauge(f"{_PREFIX}{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, meaning: str, *labels: str) -> Histogram:
        text = self._declare(name, "histogram", meaning, labels)
        return Histogram(f"{_PREFIX}{name}", text, labels, registry=self.registry, buckets=_PHASE_BUCKETS)

    def _declare(self, name: str, kind: str, meaning: str, labels: tuple[str, ...]) -> str:
        """Return the text that Prometheus shows: the meaning without links and backticks."""
        self.declared.append(DeclaredMetric(name, kind, labels, meaning))
        return _LINK.sub(r"\1", meaning).replace("`", "")

    def _set(self, value: float, gauge: Gauge, *labels: str) -> None:
        """Set a gauge, which costs little if it has this value: an idle run sets all gauges of all tables again and again."""
        with self._lock:
            if self._values.get((gauge, *labels)) != value:
                self._values[gauge, *labels] = value
                gauge.labels(*labels).set(value)

    def _add(self, value: float, counter: Counter | Gauge, *labels: str) -> None:
        """Add to a counter; it appears with the first value, even 0."""
        if value or (counter, *labels) not in self._begun:
            self._begun.add((counter, *labels))
            counter.labels(*labels).inc(value)

    def _create_table_metrics(self) -> None:
        self._records = self._counter("records_total", "records read from Kafka and committed", "table")
        self._bytes = self._counter("bytes_total", "bytes of the values of these records", "table")
        self._dead_letters = self._counter(
            "dead_letters_total", "records committed to the dead-letter table", "table"
        )
        self._out_of_range = self._counter(
            "out_of_range_records_total",
            "dead letters whose event time is out of [bounds](partitions.md#bounds-of-event-time)",
            "table",
        )
        self._late = self._counter(
            "late_records_total",
            "dead letters that came [late](table-life.md#late)",
            "table",
        )
        self._files = self._counter(
            "files_created_total", "files that tasks created and a snapshot names", "table"
        )
        self._moves = self._counter(
            "moves_total",
            "`renamed`, `already_there` (an earlier attempt or run had moved them), `retried` (each "
            "further attempt), `missing` (a file is at neither place: its table is stopped)",
            "table",
            "outcome",
        )
        self._unaccounted = self._gauge(
            "unaccounted_files",
            "created files that are neither renamed nor already there; anything but 0 is a bug (a "
            "missing file stops its table instead)",
            "table",
        )
        self._lag = self._gauge(
            "lag_records", "records in Kafka that the table does not show yet, by high watermark", "table"
        )
        self._freshness = self._gauge(
            "freshness_seconds",
            "how long records may have waited, as far as this run knows; 0 if no record waits "
            "in Kafka, absent until the run knows",
            "table",
        )
        self._goal = self._gauge(
            "objective_freshness_seconds",
            "with [`objective`](partitions.md#objective): how long a record may wait",
            "table",
        )
        self._goal_share = self._gauge(
            "objective_share", "with `objective`: the share of the time in which this must hold", "table"
        )
        self._attained = self._counter(
            "objective_seconds_total",
            "with `objective`: seconds in which the table met it (`met`) or not (`missed`); those of a paused table are not "
            "counted",
            "table",
            "outcome",
        )
        self._unregistered = self._gauge(
            "unregistered_partitions",
            "Hive partitions with data that Hive is not known to have; one that gets more files counts "
            "only until Hive has it. Without `hive` in the map, all of them",
            "table",
        )
        self._held = self._gauge(
            "held_back_records",
            "how many of the `lag_records` an open transaction hides from readers of committed records",
            "table",
        )
        self._held_seconds = self._gauge(
            "open_transaction_seconds",
            "how long the oldest such transaction has held records back; 0 if there is none",
            "table",
        )
        self._paused = self._gauge(
            "paused", "1: an operator has paused the table, so that its lag grows on purpose", "table"
        )
        self._open = self._gauge(
            "open_partitions",
            "with `completion`: Hive partitions with files that no certificate counts",
            "table",
        )
        self._withheld = self._gauge(
            "withheld_partitions",
            "with `register: complete`: Hive partitions with files that Hive does not have before their certificate",
            "table",
        )
        self._corrected = self._counter(
            "locations_corrected_total",
            "with `compact`: how many times the run corrected a partition's location in Hive that "
            "another statement had set back",
            "table",
        )
        self._lapsed = self._counter(
            "lapsed_registrations_total",
            "how many partitions the run registered again after [Hive's table was dropped or "
            "renamed](#a-table-was-dropped-or-renamed-in-hive)",
            "table",
        )
        self._compactions = self._counter(
            "compactions_total",
            "with `compact`: partitions that the run has compacted (`moved`), and tries that failed "
            "(`failed`)",
            "table",
            "outcome",
        )
        self._uncertified = self._gauge(
            "uncertified_partitions",
            "with `completion`: complete partitions whose certificates could not be written yet; "
            "records are still written",
            "table",
        )
        self._through = self._gauge(
            "read_through_timestamp_seconds",
            "with `completion`: everything that Kafka held at this time is committed (Unix time)",
            "table",
        )
        self._ledger_epoch = self._gauge("ledger_epoch", "number of the newest committed epoch", "table")
        self._never_filled = self._gauge(
            "never_filled_columns",
            "1: no record since the start has filled the column ([when](columns.md#columns)); often a "
            "misspelled name",
            "table",
            "column",
        )
        self._changed = self._counter(
            "changed_values_total",
            "values that a column's [leeway](decoding.md#leeway) changed; `kind` is the column's key, "
            "such as `fraction`",
            "table",
            "kind",
        )
        self._broken = self._counter(
            "broken_rules_total",
            "rows that broke a [rule](columns.md#rules) of a column; `on_break` is `dead_letter` (the message became a dead "
            "letter) or `count` (the row was written)",
            "table",
            "column",
            "rule",
            "on_break",
        )
        self._marks = self._counter(
            "change_log_marks_total",
            "messages of change logs that stand for no single row: [marks](decoding.md#marks), which "
            "are skipped, and truncations",
            "table",
            "kind",
        )
        self._unmapped = self._gauge(
            "unmapped_fields",
            "JSON fields in records since the start that no column takes, at most 100; `status` names them",
            "table",
        )

    def _create_service_metrics(self) -> None:
        self._compiled = self._gauge(
            "decoder_compiled",
            "1: the driver has the compiled decoder; 0: records are decoded in Python, with the same "
            "outcome but slowly",
            "version",
        )
        self._outages = self._gauge(
            "service_unavailable",
            "1: `kafka`, `hive`, `registry` or `storage` does not answer the run "
            "([when](#a-service-does-not-answer)); the log has a line when that begins and when it ends",
            "system",
        )
        self._aside = self._gauge("tables_set_aside", "tables that are set aside")
        self._refused_topics = self._gauge(
            "topics_refused", "topics that the map matches and no table reads (`route.conflict`)"
        )
        self._map = self._gauge(
            "map_info",
            "1: the run has the map with this fingerprint (the first 12 digits of the SHA-256 of its text)",
            "fingerprint",
        )
        self._map_differs = self._gauge(
            "map_differs",
            "1: the map's file has another text than the map that the run has, so a "
            "[reload](#a-map-that-changes) or a restart would change something",
        )
        self._reloads = self._counter(
            "reloads_total",
            "requests to [reload the map](#a-map-that-changes): `applied`, `unchanged`, `planned` (only shown), `refused`",
            "outcome",
        )
        self._lineage = self._counter(
            "lineage_events_total",
            "with [`lineage`](configuration.md#lineage): events that the server took (`sent`), and "
            "that were `dropped` because it rejected them or did not answer in time",
            "outcome",
        )
        self.news = NewsMetrics(
            self._counter("news_told_total", "pieces of [news](news.md) that a receiver took", "receiver"),
            self._counter(
                "news_failures_total",
                "tries after which a receiver had not taken a piece of [news](news.md), by the error's code",
                "receiver",
                "code",
            ),
            self._gauge(
                "news_waiting",
                "pieces of [news](news.md) that the run knows and the receiver has not taken",
                "receiver",
            ),
            self._gauge(
                "news_silent_seconds",
                "for how long the receiver has taken no [news](news.md) although it was told some; 0: it takes them",
                "receiver",
            ),
        )
        self._epochs = self._counter("epochs_total", "epochs published")
        self._last = self._gauge(
            "last_epoch_timestamp_seconds",
            "when the last epoch was published, or the run began (Unix time)",
        )
        self._last.set(self._now())
        self._tasks = self._gauge("epoch_tasks", "number of Spark tasks in the last epoch")
        self._most_tasks = self._gauge(
            "epoch_tasks_limit",
            "maximum number of Spark tasks in an epoch, from Spark's cores at the last plan",
        )
        self._phases = self._histogram("epoch_phase_seconds", "how long an epoch's phases take", "phase")

    def observe_epoch(self, epoch: EpochNumbers) -> None:
        """Count an epoch that was published, with its tables."""
        self._epochs.inc()
        self._last.set(self._now())
        self._aside.set(epoch.set_aside)
        self._tasks.set(epoch.tasks)
        self._most_tasks.set(epoch.most_tasks)
        for phase, seconds in epoch.phases.items():
            self._phases.labels(phase).observe(seconds)
        for table in epoch.tables:
            self._observe_table(table)

    def observe_moves(self, table: str, moves: FileMoves) -> None:
        """Count the outcomes of a table's files, of an epoch or of a roll forward at the start."""
        self._add(moves.created, self._files, table)
        for outcome in ("renamed", "already_there", "retried"):
            self._add(getattr(moves, outcome), self._moves, table, outcome)
        self._add(moves.unaccounted, self._unaccounted, table)

    def observe_missing_file(self, table: str) -> None:
        """Count a committed file that was neither staged nor at its final place; its table is stopped (R6)."""
        self._add(1, self._moves, table, "missing")

    def observe_paused(self, table: str, *, paused: bool) -> None:
        """Set whether an operator has paused the table."""
        self._set(paused, self._paused, table)

    def observe_lag(self, table: str, lag_records: int, freshness_seconds: float | None) -> None:
        """Set how far a table is behind, also if it had no epoch."""
        self._set(lag_records, self._lag, table)
        if freshness_seconds is not None:
            self._set(freshness_seconds, self._freshness, table)

    def observe_goal(self, table: str, freshness_seconds: float, share: float) -> None:
        """Set the table's objective."""
        self._set(freshness_seconds, self._goal, table)
        self._set(share, self._goal_share, table)

    def observe_objective(self, table: str, seconds: float, *, is_met: bool) -> None:
        """Count seconds in which the table met its objective, or not. Both counters exist from the first call on."""
        self._add(seconds if is_met else 0, self._attained, table, "met")
        self._add(0 if is_met else seconds, self._attained, table, "missed")

    def observe_unregistered(self, table: str, unregistered: int) -> None:
        """Set the number of Hive partitions that are not known to be registered."""
        self._set(unregistered, self._unregistered, table)

    def observe_held(self, table: str, records: int, seconds: float) -> None:
        """Set how many records wait behind open transactions, and for how many seconds."""
        self._set(records, self._held, table)
        self._set(seconds, self._held_seconds, table)

    def observe_completion(
        self, table: str, open_partitions: int, through: float | None, uncertified: int = 0, withheld: int = 0
    ) -> None:
        """Set the completeness of a table that has `completion`; `through` in Unix seconds, None if it is unknown."""
        self._set(open_partitions, self._open, table)
        self._set(withheld, self._withheld, table)
        self._set(uncertified, self._uncertified, table)
        if through is not None:
            self._set(through, self._through, table)

    def observe_location_corrected(self, table: str) -> None:
        """Count a location in Hive that others changed back, and that the run set again."""
        self._add(1, self._corrected, table)

    def observe_lapsed(self, table: str) -> None:
        """Count a Hive partition that the run registers again, because Hive's table was dropped and created again."""
        self._add(1, self._lapsed, table)

    def observe_compaction(self, table: str, *, moved: bool) -> None:
        """Count a Hive partition that was compacted, or a try that failed."""
        self._add(1, self._compactions, table, "moved" if moved else "failed")

    def observe_never_filled(self, table: str, before: Iterable[str], columns: Iterable[str]) -> None:
        """Set which of a table's columns are NULL in every row; those of `before` are reset first."""
        for column in before:
            self._set(0, self._never_filled, table, column)
        for column in columns:
            self._set(1, self._never_filled, table, column)

    def observe_decoder(self, version: str, *, is_compiled: bool) -> None:
        """Set which decoder the driver uses; `version` is the compiled library's, empty if it is missing."""
        self._set(is_compiled, self._compiled, version)

    def observe_outage(self, system: str, *, away: bool) -> None:
        """Set whether a service (Kafka, Hive, ..) is down."""
        self._set(away, self._outages, system)

    def observe_unmapped(self, table: str, fields: int) -> None:
        """Set the number of JSON fields that no column takes."""
        self._set(fields, self._unmapped, table)

    def observe_changed(self, table: str, kind: str, values: int) -> None:
        """Count values that were changed because a column of the map allows it; `kind`: the column's key."""
        self._add(values, self._changed, table, kind)

    def observe_broken(self, table: str, column: str, *, rule: str, on_break: str, rows: int) -> None:
        """Count rows that broke a rule of a column."""
        self._add(rows, self._broken, table, column, rule, on_break)

    def observe_marks(self, table: str, kind: str, messages: int) -> None:
        """Count messages of a change log that stand for no single row."""
        self._add(messages, self._marks, table, kind)

    def observe_set_aside(self, tables: int) -> None:
        """Set the number of tables that are set aside."""
        self._aside.set(tables)

    def observe_refused_topics(self, topics: int) -> None:
        """Set the number of topics that a pattern matches and no table reads."""
        self._refused_topics.set(topics)

    def observe_lineage(self, outcome: str, events: int) -> None:
        """Count events for the lineage server; `outcome`: `sent` or `dropped`."""
        self._lineage.labels(outcome).inc(events)

    def observe_map(self, fingerprint: str, *, differs: bool) -> None:
        """Set which map the run has, and whether the map's file differs from it."""
        shown = fingerprint[:12]
        with self._lock:
            for series in [s for s in self._values if s[0] is self._map and s[1] != shown]:
                self._drop(series)
        self._set(1, self._map, shown)
        self._map_differs.set(differs)

    def observe_reload(self, outcome: str) -> None:
        """Count an answer to a request to reload the map."""
        self._reloads.labels(outcome).inc()

    def forget_table(self, table: str) -> None:
        """Drop all series of a table that the run does not have any more, whose last values would trigger alerts for ever."""
        with self._lock:
            for series in [s for s in {**self._values, **dict.fromkeys(self._begun)} if s[1:2] == (table,)]:
                self._drop(series)

    def _drop(self, series: tuple[Any, ...]) -> None:
        metric, *labels = series
        metric.remove(*labels)
        self._values.pop(series, None)
        self._begun.discard(series)

    def serve(self, host: str, port: int, page: Page | None = None, status: Page | None = None) -> int:
        """Start the endpoint (see endpoint.serve) and return its port; `port` 0 takes any free one. Raises OSError."""
        self._server = server = serve(
            host=host, port=port, registry=self.registry, health=self.health, page=page, status=status
        )
        return int(server.server_address[1])

    def close(self) -> None:
        """Stop the endpoint. A second call has no effect."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def _observe_table(self, table: TableNumbers) -> None:
        self._add(table.records, self._records, table.table)
        self._add(table.bytes, self._bytes, table.table)
        self._add(table.dead_letters, self._dead_letters, table.table)
        self._add(table.out_of_range, self._out_of_range, table.table)
        self._add(table.late, self._late, table.table)
        self._set(table.epoch, self._ledger_epoch, table.table)
        self.observe_moves(table.table, table.moves)
        self.observe_unregistered(table.table, table.unregistered)
        self.observe_lag(table.table, table.lag_records, table.freshness_seconds)
