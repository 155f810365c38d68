"""`kafka2hive run`: the service itself; and `warm`, which makes it start faster."""

import logging
from typing import TYPE_CHECKING

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import AuditLog, Level, Log, Map, Once, Takeover
from kafka2hive.observe.log import LogFormat

if TYPE_CHECKING:  # otherwise a run would wait for these imports before it launches its JVM
    from collections.abc import Callable, Iterable

    from kafka2hive.observe.metrics import ServiceMetrics
    from kafka2hive.service.inspect.status import StatusResult
    from kafka2hive.service.run.result import RunListener
    from kafka2hive.service.tables.run_epoch import RunEpoch
    from kafka2hive.service.wiring import Wiring

EXIT_CODES = options.exit_codes(
    options.BUG, options.OWNED, options.FENCED, options.SET_ASIDE, options.STOP, options.SIGNAL
)
WARM_EXIT_CODES = options.paragraph(
    "0 done", "2 wrong command line", "69 Java is missing, or Spark does not start"
)


def run(
    config: Map,
    once: Once = False,
    takeover: Takeover = False,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
    audit_log: AuditLog = None,
) -> None:
    """Take the tables over, roll pending epochs forward, then dump until stopped."""
    from kafka2hive.cli.terminal.outcome import tell_error, with_map
    from kafka2hive.config.keys import ServiceMap

    def command(service_map: ServiceMap) -> int:
        from kafka2hive.service.run.begin import begin
        from kafka2hive.service.run.result import RunRequest, RunTools

        tools = RunTools(
            status_text=_status_text,
            page=_page,
            listeners=() if service_map.lineage is None else (_lineage,),
        )
        result = begin(service_map, RunRequest(tools, once, takeover))
        for error in (result.error, *(error for _table, error in result.set_aside), result.unregistered):
            if error is not None:
                tell_error(error)
        return int(result.exit_code)

    level = options.level(log_level, logging.INFO)
    raise typer.Exit(with_map(config, log_format, level, command, audit_log=audit_log))


def _status_text(service: str, result: "StatusResult") -> str:
    from kafka2hive.cli.render.status_document import status_document
    from kafka2hive.cli.terminal.document import json_text

    return json_text(status_document(service, result))


def _page(
    wiring: "Wiring", epochs: "Iterable[RunEpoch]", news: "Callable[[], object]"
) -> "Callable[[], bytes]":
    from kafka2hive.service.report.live_page import LivePage

    return LivePage(wiring, epochs, news)


def _lineage(wiring: "Wiring", metrics: "ServiceMetrics", once: bool) -> "RunListener":
    from kafka2hive.lineage.reporter import LineageReporter

    options = wiring.map.lineage
    assert options is not None
    return LineageReporter(wiring, options, metrics.observe_lineage, once=once)


def warm() -> None:
    """Create the archive of Java classes that halves the start-up cost of `run`; once per version of Java and Spark."""
    from kafka2hive.cli.terminal.outcome import say, tell_error
    from kafka2hive.model.errors import Kafka2HiveError
    from kafka2hive.observe.log import configure
    from kafka2hive.spark.archive_maker import make_archive

    configure(LogFormat.AUTO, logging.WARNING, [])
    try:
        file, is_new = make_archive()
    except Kafka2HiveError as error:
        tell_error(error)
        raise typer.Exit(int(error.exit_code)) from error
    say(f"{'created' if is_new else 'already exists:'} {file}")
