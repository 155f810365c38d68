"""`kafka2hive run`: one run of the service, from the first look at its ledgers to a clean shutdown."""

import gc
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from kafka2hive.config.keys import ServiceMap
from kafka2hive.ledger.heartbeat import HEARTBEAT_SECONDS
from kafka2hive.model.errors import Fenced, Kafka2HiveError, ServiceUnavailable, TakeOverLost
from kafka2hive.model.metastore import MetastoreUnavailable
from kafka2hive.model.text import counted
from kafka2hive.plan.contract import TaskSettings
from kafka2hive.service.run.assembly import assemble
from kafka2hive.service.run.epochs import EpochLoop
from kafka2hive.service.run.live_page import LivePage
from kafka2hive.service.run.once import without_waits_for_permissions
from kafka2hive.service.run.result import (
    RunRequest,
    RunResult,
    end_of,
    exit_code,
    no_table_can_go_on,
    not_registered,
)
from kafka2hive.service.run.signals import StopSignals
from kafka2hive.service.tables.hive_schemas import task_settings
from kafka2hive.service.validate.kafka_check import warn_of_topic_settings
from kafka2hive.service.validate.storage_check import require_storage
from kafka2hive.service.wiring import Wiring
from kafka2hive.spark.java import require_java
from kafka2hive.spark.jvm import Jvm
from kafka2hive.spark.session import Scratch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka2hive.spark.query import QueryEnd
    from kafka2hive.sql.job import SqlJobs
    from kafka2hive.sql.selects import Selects

log = logging.getLogger(__name__)

SETTLE_SECONDS = 30.0


class Run:
    """One run of one service, from the first look to the last snapshot: signals, heartbeat and Spark around the epoch loop."""

    def __init__(self, wiring: Wiring, request: RunRequest, jvm: Jvm, signals: StopSignals) -> None:
        self._wiring = wiring = without_waits_for_permissions(wiring) if request.once else wiring
        self._request = request
        self._jvm = jvm
        self._signals = signals
        self._parts = assemble(wiring, request)

    def run(self) -> RunResult:
        """Run in five steps: 1 look, 2 start Spark, 3 take over and roll forward, 4 dump until the end, 5 settle with Hive.

        The JVM starts during step 1. The run changes nothing before step 3. Raises the error of a run that cannot begin, such
        as ServiceUnavailable or OwnedByLiveRun; later errors are in the result.
        """
        decoder = self._parts.decoder
        level = logging.INFO if decoder.is_compiled else logging.WARNING
        log.log(level, "run of service %s; decoder: %s", self._wiring.map.service, decoder)
        require_storage(self._wiring.ports.files, self._wiring.map)
        require_java()
        try:
            return self._run()
        except BaseException as error:
            self._show_end(error)
            raise

    def _run(self) -> RunResult:
        parts, service_map = self._parts, self._wiring.map
        parts.owned_tables.refresh(parts.kafka.cluster().topics)
        parts.owned_tables.check_all()
        tables = [table.in_map for table in parts.owned_tables.tables.values()]
        warn_of_topic_settings(self._wiring, parts.kafka.kafka, tables, parts.kafka.cluster())
        with Scratch(Path(service_map.run_directory)) as scratch:
            from kafka2hive.spark.session import start_session, stop_session

            gateway = self._jvm.connect()
            self._signals.only_note()
            spark = start_session(service_map.spark, service_map.service, scratch, gateway)
            try:
                if self._signals.stop.is_set():
                    log.info("interrupted while Spark started: nothing was changed")
                    return RunResult(exit_code(None, self._signals.number, ()), None, ())
                result = self._run_on(spark, scratch)
                self._show_end(result)
                return result
            finally:
                stop_session(spark)

    def _show_end(self, ended: RunResult | BaseException) -> None:
        """Write the run's end for `status`, without tables if the run was fenced, because another run owns them then."""
        error = ended.error if isinstance(ended, RunResult) else ended
        fenced = isinstance(error, Fenced | TakeOverLost)
        tables = [] if fenced else list(self._parts.owned_tables.tables.values())
        self._parts.liveness.end(end_of(ended), tables)

    def _run_on(self, spark: "SparkSession", scratch: Path) -> RunResult:
        """Do steps 3 to 5."""
        from kafka2hive.spark.jobs import UnitJobs, task_function
        from kafka2hive.spark.query import DumpQuery
        from kafka2hive.spark.session import session_settings, session_slots, warm_workers
        from kafka2hive.task import run_task, run_unit

        parts, service_map = self._parts, self._wiring.map
        warm_workers(spark)
        self._serve_metrics()
        parts.liveness.begin()
        conf, per_core = session_settings(spark), service_map.limits.tasks_per_core
        loop = parts.epoch_loop(
            self._wiring, lambda: session_slots(spark, conf, per_core), self._request.once
        )
        parts.liveness.most_tasks = lambda: loop.most_tasks
        selects = _selects(spark, service_map)
        if selects is not None:
            parts.owned_tables.check_select = selects.check
        parts.registrar.start()
        with parts.liveness.heartbeats(loop.stuck_seconds, parts.owned_tables.tables.values()):
            # with --takeover, only live owners that this first start meets are fenced
            loop.start_tables(with_sql=self._request.take_over)
            parts.ownership.end_take_over()
            settings = task_settings(service_map, loop.settings)
            units = UnitJobs(spark, task_function(run_unit, settings))
            if not self._request.once:
                loop.compactions.runner = units
            query = DumpQuery(
                spark=spark,
                planner=loop,
                listener=loop,
                function=task_function(run_task, settings),
                scratch=scratch,
                trigger_seconds=service_map.trigger_seconds,
                once=self._request.once,
                stop_seconds=service_map.limits.stop_seconds,
                sql=None if selects is None else _sql_jobs(spark, settings, selects),
                on_stop=units.drop,
            )
            query.start()
        gc.freeze()  # the objects of the start live until the end, so visiting them would waste time
        parts.liveness.ready(f"dumping {counted(len(parts.owned_tables.tables), 'table')}")
        log.info("the query runs %.1f s after the start", parts.watcher.seconds)
        ended = query.run_until(self._signals.stop, lambda: self._tick(loop))
        return self._end(loop, ended)

    def _serve_metrics(self) -> None:
        options = self._wiring.map.metrics
        if options.port:
            try:
                page = LivePage(self._wiring, self._parts.watcher.recent) if options.page else None
                port = self._parts.metrics.serve(options.host, options.port, page)
            except OSError as error:
                raise ServiceUnavailable(
                    "metrics.port",
                    f"metrics cannot listen on {options.host}:{options.port}: {error}",
                    "choose a free metrics.port in the map",
                ) from error
            log.info("metrics on http://%s:%d/metrics%s", options.host, port, ", a page at /" if page else "")

    def _tick(self, loop: EpochLoop) -> None:
        """Show that the run is alive, and end it if every table is stopped. The main loop calls it a few times a second."""
        if self._signals.hung_up:
            self._signals.hung_up = False
            log.warning("SIGHUP changes nothing: restart the run when the map has changed")
        tables = self._parts.owned_tables.tables.values()
        if self._parts.liveness.tick(loop.stuck_seconds(), tables):
            self._parts.watcher.idle(list(tables), len(self._parts.owned_tables.conflicts))
            if no_table_can_go_on(tables):
                log.error("no table can go on without manual intervention")
                self._signals.stop.set()

    def _end(self, loop: EpochLoop, ended: "QueryEnd") -> RunResult:
        """Register pending partitions in Hive, record registrations in the ledgers, and return the result."""
        parts = self._parts
        parts.liveness.stopping()
        if ended.error is not None and not isinstance(ended.error, Kafka2HiveError):
            log.critical("a bug ends the run", exc_info=ended.error)
        if ended.abandoned is not None:
            log.warning(
                "epoch %d was abandoned: the next run reads its uncommitted ranges again and deletes its orphans",
                ended.abandoned,
            )
        unregistered = self._settle_with_hive()
        if ended.error is None:
            loop.record_registrations()
        if parts.follower is not None:
            parts.follower.end(HEARTBEAT_SECONDS, ended.error)
        if parts.lineage is not None:
            parts.lineage.end(ended.error)
        tables = list(parts.owned_tables.tables.values())
        if self._request.once:
            parts.columns.end(tables)
        parts.metrics.close()
        log.info("%s", parts.watcher.summary(tables))
        set_aside = parts.owned_tables.troubles()
        errors = [error for _, error in set_aside]
        code = exit_code(ended.error, self._signals.number, errors, unregistered)
        return RunResult(code, ended.error, set_aside, unregistered)

    def _settle_with_hive(self) -> ServiceUnavailable | None:
        """Wait until pending partitions are registered in Hive; with `once`, return an error for those that are not."""
        registrar, hive = self._parts.registrar, self._wiring.map.hive
        if not registrar.settle(SETTLE_SECONDS if self._request.once else HEARTBEAT_SECONDS):
            log.warning(
                "some partitions are not registered in Hive: their registrations stay in the ledgers for the next start"
            )
        pending, why = registrar.unanswered, registrar.no_answer
        registrar.end()
        if hive is None or not pending or not self._request.once:
            return None
        return not_registered(
            pending,
            why or MetastoreUnavailable(f"HiveServer2 at {hive.host}:{hive.port} has not answered yet"),
        )


def _selects(spark: "SparkSession", service_map: ServiceMap) -> "Selects | None":
    """Return None if no table has SQL; then nothing of `sql` is imported."""
    if all(rule.sql is None for rule in service_map.tables):
        return None
    from kafka2hive.sql.selects import Selects

    return Selects(spark, service_map.storage)


def _sql_jobs(spark: "SparkSession", settings: TaskSettings, selects: "Selects") -> "SqlJobs":
    from kafka2hive.sql.job import SqlJobs

    return SqlJobs(spark, settings, selects)
