"""`kafka2hive run`: one run of the service, from the first look at its ledgers to a clean shutdown."""

import gc
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kafka2hive.ledger.heartbeat import HEARTBEAT_SECONDS
from kafka2hive.model.errors import Fenced, Kafka2HiveError, ServiceUnavailable, TakeOverLost
from kafka2hive.model.metastore import MetastoreUnavailable
from kafka2hive.model.text import counted
from kafka2hive.service.hive.schemas import task_settings
from kafka2hive.service.run.assembly import assemble
from kafka2hive.service.run.epochs import EpochLoop
from kafka2hive.service.run.live_status import LiveStatus
from kafka2hive.service.run.map_file import MapFileWatch
from kafka2hive.service.run.once import without_waits_for_permissions
from kafka2hive.service.run.outages import is_kafka, systems_away
from kafka2hive.service.run.result import (
    RunRequest,
    RunResult,
    end_of,
    exit_code,
    no_table_can_go_on,
    not_registered,
)
from kafka2hive.service.run.signals import StopSignals
from kafka2hive.service.run.tables_with_sql import TablesWithSql
from kafka2hive.service.run.telemetry.probe import END_SECONDS
from kafka2hive.service.validate.kafka_check import warn_of_topic_settings
from kafka2hive.service.validate.storage_check import require_storage
from kafka2hive.service.wiring import Wiring
from kafka2hive.spark.environment import require_spark
from kafka2hive.spark.jvm import Jvm
from kafka2hive.spark.session import Scratch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka2hive.spark.query import QueryEnd

log = logging.getLogger(__name__)

PAGE_SECONDS = 5.0
"""How long the page waits for HDFS."""
SETTLE_SECONDS = 30.0


class Run:
    """One run of one service, from the first look to the last snapshot: signals, heartbeat and Spark around the epoch loop."""

    def __init__(self, wiring: Wiring, request: RunRequest, jvm: Jvm, signals: StopSignals) -> None:
        self._wiring = wiring = without_waits_for_permissions(wiring) if request.once else wiring
        self._request = request
        self._jvm = jvm
        self._signals = signals
        self._map_file = MapFileWatch(wiring.map.path, wiring.ports.clock)
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
        require_spark()
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
        parts.liveness.look = lambda: self._look(loop)
        parts.liveness.service_warnings = lambda: (
            *parts.outages.texts.values(),
            *parts.news.warnings(),
            *self._map_file.warnings,
        )
        parts.liveness.reload_report = lambda: loop.reload.report
        loop.reload.tell = lambda answer: parts.metrics.observe_reload(answer.outcome)
        loop.silences = self._silences
        sql = TablesWithSql(spark, service_map.storage)
        parts.owned_tables.check_select = sql.check
        parts.registrar.start()
        parts.news.start()
        with parts.liveness.heartbeats(loop.stuck_seconds, parts.owned_tables.tables.values()):
            # with --takeover, only live owners that this first start meets are fenced
            loop.start_tables(with_sql=self._request.take_over)
            parts.ownership.end_take_over()
            settings = sql.settings = task_settings(service_map, loop.settings)
            units = UnitJobs(spark, task_function(run_unit, settings))
            if not self._request.once:
                loop.chores.run_jobs_with(units)
            query = DumpQuery(
                spark=spark,
                planner=loop,
                listener=loop,
                function=task_function(run_task, settings),
                scratch=scratch,
                trigger_seconds=service_map.trigger_seconds,
                once=self._request.once,
                stop_seconds=service_map.limits.stop_seconds,
                sql=sql,
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
                page = self._live_page() if options.page else None
                status = self._live_status() if options.page else None
                port = self._parts.metrics.serve(options.host, options.port, page, status)
            except OSError as error:
                raise ServiceUnavailable(
                    "metrics.port",
                    f"metrics cannot listen on {options.host}:{options.port}: {error}",
                    "choose a free metrics.port in the map",
                ) from error
            log.info("metrics on http://%s:%d/metrics%s", options.host, port, ", a page at /" if page else "")

    def _live_page(self) -> Callable[[], bytes]:
        parts, wiring = self._parts, self._wiring
        files = wiring.inspectable_files(PAGE_SECONDS)

        def news() -> object:
            told = parts.liveness.conditions
            return told.warnings, {t.table: (type(t.state), len(t.warnings)) for t in told.tables}

        made: tuple[str, Callable[[], bytes]] | None = None

        def page() -> bytes:
            nonlocal made
            if made is None or made[0] != wiring.map.fingerprint:  # a reload has replaced the map
                patient = replace(wiring, ports=replace(wiring.ports, files=files))
                made = wiring.map.fingerprint, self._request.tools.page(patient, parts.watcher.recent, news)
            return made[1]()

        return page

    def _live_status(self) -> LiveStatus:
        parts = self._parts
        return LiveStatus(
            wiring=self._wiring,
            owned_tables=parts.owned_tables,
            kafka=parts.kafka,
            liveness=parts.liveness,
            outages=parts.outages,
            encode=self._request.tools.status_text,
        )

    def _tick(self, loop: EpochLoop) -> None:
        """Show that the run is alive, and end it if every table is stopped. The main loop calls it a few times a second."""
        if self._signals.hung_up:
            self._signals.hung_up = False
            loop.reload.ask_by_signal()
        tables = self._parts.owned_tables.tables.values()
        if self._parts.liveness.tick(loop.stuck_seconds(), tables):
            self._parts.watcher.idle(list(tables), len(self._parts.owned_tables.conflicts))
            if no_table_can_go_on(tables):
                log.error("no table can go on without manual intervention")
                self._signals.stop.set()

    def _look(self, loop: EpochLoop) -> None:
        """Note which systems do not answer, whatever the epoch loop waits for."""
        parts = self._parts
        for probe in parts.probes.values():
            probe.keep_asking()
        tables = list(parts.owned_tables.tables.values())
        running = loop.reload.report.map
        parts.metrics.observe_map(running, differs=self._map_file.differs_from(running))
        parts.watcher.objectives(tables)
        parts.news.report()
        parts.outages(systems_away(loop.no_plan, parts.registrar.no_answer, tables, self._silences()))

    def _silences(self) -> dict[str, str | None]:
        """Return why each system that is asked in the background is of no use, None if it answers."""
        probes = {system: probe.silence for system, probe in self._parts.probes.items()}
        return {"storage": self._parts.liveness.silence, **probes}

    def _end(self, loop: EpochLoop, ended: "QueryEnd") -> RunResult:
        """Register pending partitions in Hive, record registrations in the ledgers, and return the result."""
        parts = self._parts
        parts.liveness.stopping()
        for system, probe in parts.probes.items():
            probe.end(END_SECONDS if is_kafka(system) else 0.0)  # a client of Kafka must not die in a call
        if ended.error is not None and not isinstance(ended.error, Kafka2HiveError):
            log.critical("a bug ends the run", exc_info=ended.error)
        if ended.abandoned is not None:
            log.warning(
                "epoch %d was abandoned: the next run reads its uncommitted ranges again and deletes its orphans",
                ended.abandoned,
            )
        if ended.error is None:
            loop.release_complete()
        unregistered = self._settle_with_hive()
        if ended.error is None:
            loop.record_registrations()
        self._settle_news(loop, ended)
        if parts.follower is not None:
            parts.follower.end(HEARTBEAT_SECONDS, ended.error)
        for listener in parts.listeners:
            listener.end(ended.error)
        tables = list(parts.owned_tables.tables.values())
        if self._request.once:
            parts.columns.end(tables)
        parts.metrics.close()
        log.info("%s", parts.watcher.summary(tables))
        set_aside = parts.owned_tables.troubles()
        errors = [error for _, error in set_aside]
        code = exit_code(ended.error, self._signals.number, errors, unregistered)
        return RunResult(code, ended.error, set_aside, unregistered)

    def _settle_news(self, loop: EpochLoop, ended: "QueryEnd") -> None:
        """Let the receivers take what they were not told yet; a receiver that does not answer gets it from the next run."""
        news = self._parts.news
        if ended.error is None:
            if not news.settle(SETTLE_SECONDS if self._request.once else HEARTBEAT_SECONDS):
                log.warning("not every receiver has taken all news: the next run tells them")
            loop.record_news()
        news.end(HEARTBEAT_SECONDS)

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
            why or MetastoreUnavailable(f"Hive at {', '.join(hive.addresses)} has not answered yet"),
        )
