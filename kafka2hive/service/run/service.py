"""`kafka2hive run`: the service. Looks, takes over, rolls forward, starts the query, and shuts down cleanly."""

import logging
import signal
import threading
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from kafka2hive.ledger.reading.heartbeat import HEARTBEAT_SECONDS
from kafka2hive.ledger.start import Started
from kafka2hive.model.errors import (
    ExitCode,
    Kafka2HiveError,
    ServiceUnavailable,
    TableError,
)
from kafka2hive.model.files import HivePartition
from kafka2hive.model.quantities import counted
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.pipeline.scratch import Scratch
from kafka2hive.pipeline.values import TableSettings
from kafka2hive.service.online.before_start import refuse_to_start, warn_beside
from kafka2hive.service.run.compare.with_hive import hive_gate
from kafka2hive.service.run.epochs import EpochLoop
from kafka2hive.service.run.liveness import Liveness
from kafka2hive.service.run.metrics import EpochWatcher, GroupFollower
from kafka2hive.service.run.never_filled import ColumnWatch
from kafka2hive.service.run.owned_tables import OwnedTables
from kafka2hive.service.run.report import Listener, Reporter
from kafka2hive.service.run.result import RunOrder, RunResult, exit_code
from kafka2hive.service.shared.hive_schemas import Catalogue
from kafka2hive.service.shared.kafka_view import KafkaView
from kafka2hive.service.shared.lost_ledger import LostLedgerCheck
from kafka2hive.service.shared.ownership import OwnershipCheck
from kafka2hive.service.shared.process import process_of
from kafka2hive.service.shared.registrar import Registrar
from kafka2hive.service.shared.table_state import Table
from kafka2hive.service.shared.task_settings import task_settings
from kafka2hive.service.shared.wiring import Wiring

if TYPE_CHECKING:
    from kafka2hive.pipeline.query import Ended

log = logging.getLogger(__name__)

SETTLE_SECONDS = 30.0


class Run:
    """One run of one service, from the first look to the last snapshot."""

    def __init__(self, wiring: Wiring, order: RunOrder) -> None:
        self._began = time.monotonic()
        self._wiring = wiring
        self._order = order
        self._map = wiring.map
        self._stop = threading.Event()
        self._signal: int | None = None
        self._metrics = ServiceMetrics(self._map.service)
        self._kafka = wiring.kafka()
        self._metastore = wiring.hive()
        self._catalogue = Catalogue(self._map, self._metastore)
        owner = wiring.new_owner()
        root = self._map.storage.ledger_root
        self._ownership = OwnershipCheck(
            wiring.ports, root, wiring.processes, process_of(owner), order.take_over
        )
        self._liveness = Liveness(wiring, owner)
        self._settings: dict[str, TableSettings] = {}
        group = self._map.kafka.group if self._map.kafka.commit_group else None
        lost_ledger = LostLedgerCheck(self._kafka, group, wiring)
        gate = hive_gate(self._map, self._catalogue)
        self._owned_tables = OwnedTables(
            wiring, self._ownership, lost_ledger, self._resolve, self._enqueue, self._started, gate
        )
        self._watcher = EpochWatcher(self._metrics, self._began, self._map.hive is not None)
        self._columns = ColumnWatch(self._metrics)
        self._follower = GroupFollower(self._kafka, group) if group else None
        self._view = KafkaView(self._kafka, wiring.ports.clock)
        self._registrar: Registrar | None = None
        self._epoch_loop: EpochLoop | None = None

    def run(self) -> RunResult:
        """Steps: 1 look, 2 Spark, 3 take over and roll forward, 4 dump until the end, 5 settle.

        Nothing is touched before 3. Raises what ends a run before it began: ServiceUnavailable, OwnedByLiveRun, ...
        """
        refuse_to_start(self._wiring)
        self._owned_tables.refresh(self._view.cluster().topics)
        self._owned_tables.judge_all()
        warn_beside(self._map.kafka, list(self._owned_tables.tables.values()), self._view.cluster())
        with Scratch(Path(self._map.run_directory)) as scratch:
            from kafka2hive.pipeline.query import DumpQuery, task_function
            from kafka2hive.pipeline.spark import session_slots, start_session, stop_session, warm_workers
            from kafka2hive.pipeline.task import run_task

            self._listen_to_signals()
            spark = start_session(self._map.spark, self._map.service, scratch)
            try:
                if self._stop.is_set():
                    log.info("interrupted while Spark started: nothing was touched")
                    return RunResult(exit_code(None, self._signal, ()), None, ())
                warm_workers(spark)
                self._serve_metrics()
                self._liveness.begin()
                listeners: list[Listener] = [self._watcher, self._columns]
                listeners += [self._follower] if self._follower else []
                slots = session_slots(spark, self._map.limits.tasks_per_core)
                loop = EpochLoop(
                    self._wiring, self._view, self._owned_tables, Reporter(listeners), slots, self._order.once
                )
                self._epoch_loop = loop
                self._start_registrar(loop)
                with self._liveness.beside(loop.stuck_seconds, self._owned_tables.tables.values()):
                    loop.start_tables()
                self._ownership.end_take_over()
                query = DumpQuery(
                    spark,
                    loop,
                    loop,
                    task_function(run_task, task_settings(self._map, self._settings)),
                    scratch,
                    trigger_seconds=self._map.trigger_seconds,
                    once=self._order.once,
                    stop_seconds=self._map.limits.stop_seconds,
                )
                query.start()
                self._liveness.ready(f"dumping {counted(len(self._owned_tables.tables), 'table')}")
                log.info("the query runs %.1f s after the start", time.monotonic() - self._began)
                ended = query.run_until(self._stop, self._tick)
                return self._end(ended)
            finally:
                self._liveness.end()
                stop_session(spark)

    def _started(self, started: Started) -> None:
        state = started.owned.state
        self._metrics.observe_moves(state.table, started.moves)
        self._catalogue.remember_ledger(state.table, state.ledger_id)

    def _resolve(self, table: Table) -> TableSettings:
        self._settings[table.name] = settings = self._catalogue.resolve(table)
        return settings

    def _enqueue(self, unregistered: frozenset[HivePartition]) -> None:
        if self._registrar is not None:
            self._registrar.enqueue(unregistered)

    def _refused_by_hive(self, name: str, error: TableError, partitions: frozenset[HivePartition]) -> None:
        assert self._epoch_loop is not None
        self._catalogue.doubt(name)
        self._epoch_loop.refused_by_hive(name, error, partitions)

    def _start_registrar(self, loop: EpochLoop) -> None:
        if self._metastore is None:
            log.warning(
                "the map names no Hive: files are published, partitions are kept as pending registrations in the ledgers"
            )
            return
        self._registrar = Registrar(
            self._metastore, self._catalogue.ensure, loop.registered, self._refused_by_hive
        )
        self._registrar.start()

    def _listen_to_signals(self) -> None:
        def stop(number: int, _frame: FrameType | None) -> None:
            self._signal = self._signal or number
            self._stop.set()

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)

    def _serve_metrics(self) -> None:
        if self._map.metrics.port:
            try:
                port = self._metrics.serve(self._map.metrics.host, self._map.metrics.port)
            except OSError as error:
                raise ServiceUnavailable(
                    "metrics.port",
                    f"metrics cannot listen on {self._map.metrics.host}:{self._map.metrics.port}: {error}",
                    "choose another metrics.port in the map",
                ) from error
            log.info("metrics on http://%s:%d/metrics", self._map.metrics.host, port)

    def _tick(self) -> None:
        """A few times a second, from the main loop; ends the run when no table can go on."""
        assert self._epoch_loop is not None
        tables = self._owned_tables.tables.values()
        if self._liveness.tick(self._epoch_loop.stuck_seconds(), tables):
            self._watcher.idle(list(tables))
            if tables and all(t.needs_manual_action for t in tables):
                log.error("no table can go on without manual intervention")
                self._stop.set()

    def _end(self, ended: "Ended") -> RunResult:
        """Register what is pending in Hive, record in the ledgers what was registered."""
        assert self._epoch_loop is not None
        self._liveness.stopping()
        if ended.error is not None and not isinstance(ended.error, Kafka2HiveError):
            log.critical("a bug ends the run", exc_info=ended.error)
        if ended.abandoned is not None:
            log.warning(
                "epoch %d was abandoned: what of it is not committed is read again, those orphans are deleted later",
                ended.abandoned,
            )
        unregistered = self._settle_with_hive()
        if ended.error is None:
            self._epoch_loop.record_registrations()
        if self._follower is not None:
            self._follower.end(HEARTBEAT_SECONDS, ended.error)
        if self._order.once:
            self._columns.end(self._owned_tables.tables.values())
        self._metrics.close()
        log.info("%s", self._watcher.summary(list(self._owned_tables.tables.values())))
        aside = tuple(
            (t.name, t.aside.error) for t in self._owned_tables.set_aside_tables() if t.aside is not None
        )
        code = exit_code(ended.error, self._signal, [error for _, error in aside])
        if code is ExitCode.DONE and unregistered is not None:
            code = unregistered.exit_code
        return RunResult(code, ended.error, aside, unregistered)

    def _settle_with_hive(self) -> ServiceUnavailable | None:
        """Tell Hive what it was not told; with `once`, say what is left."""
        if self._registrar is None or self._metastore is None:
            return None
        if not self._registrar.settle(SETTLE_SECONDS if self._order.once else HEARTBEAT_SECONDS):
            log.warning(
                "Hive is not told everything: the rest is in the ledgers, the next start registers it"
            )
        untold = self._registrar.untold
        self._registrar.end()
        if not untold or not self._order.once:
            return None
        tables = sorted({partition.table for partition in untold})
        return ServiceUnavailable(
            "hive.unavailable",
            f"HiveServer2 at {self._metastore.session.address} does not answer: {len(untold)} of the partitions that"
            f" hold rows are not registered ({', '.join(tables)}); all rows are committed",
            "bring HiveServer2 back; the next run, or `kafka2hive recover`, registers them",
        )
