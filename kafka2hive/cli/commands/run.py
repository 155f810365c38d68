"""`kafka2hive run`: the service itself; and `warm`, which makes it start faster."""

import logging
from typing import Annotated

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import AuditLog, Level, Log, Map, Takeover
from kafka2hive.observe.log import LogFormat

EXIT_CODES = options.exit_codes(
    options.BUG, options.OWNED, options.FENCED, options.SET_ASIDE, options.STOP, options.SIGNAL
)
WARM_EXIT_CODES = options.paragraph(
    "0 done", "2 wrong command line", "69 Java is missing, or Spark does not start"
)


def run(
    config: Map,
    once: Annotated[
        bool, typer.Option("--once", help="Dump what Kafka holds now, then exit (for cron).")
    ] = False,
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
        from kafka2hive.service.run.result import RunRequest

        result = begin(service_map, RunRequest(once, takeover))
        for error in (result.error, *(error for _table, error in result.set_aside), result.unregistered):
            if error is not None:
                tell_error(error)
        return int(result.exit_code)

    level = logging.INFO if log_level is None else log_level.number
    raise typer.Exit(with_map(config, log_format, level, command, audit_log=audit_log))


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
