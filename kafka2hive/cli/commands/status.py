"""`kafka2hive status`: the state of every table, once or repeatedly."""

import logging
import sys
from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import Color, Json, KafkaTimeout, Level, Log, Map, Tables
from kafka2hive.observe.log import LogFormat

EXIT_CODES = options.exit_codes(options.RETRYING, options.STOP, options.WATCH_SIGNAL)
LEAST_WATCH_SECONDS = 1.0
_CLEAR = "\033[H\033[2J"


def status(
    config: Map,
    table: Tables = None,
    watch: Annotated[
        float | None,
        typer.Option("--watch", metavar="SECONDS", min=0, help="Repeat every SECONDS seconds, until Ctrl-C."),
    ] = None,
    kafka_timeout: KafkaTimeout = options.KAFKA_SECONDS,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
) -> None:
    """Show every table's state, position, lag, freshness, pending work and registrations, last epochs and owner."""
    from kafka2hive.cli.render.status import render_status
    from kafka2hive.cli.render.status_document import status_document
    from kafka2hive.cli.terminal.outcome import show, with_map
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.inspect.status import status_or_storage_error
    from kafka2hive.service.wiring import wire

    if watch is not None and json:
        raise typer.BadParameter(
            "--watch cannot be used with --json; let the script call status --json repeatedly",
            param_hint="--watch",
        )

    def command(service_map: ServiceMap) -> int:
        wiring = wire(service_map, patience_seconds=options.STORAGE_SECONDS)
        name, hive = service_map.service, service_map.hive is not None

        def once() -> int:
            kafka = wiring.kafka(kafka_timeout, shared_timeout=True)
            result = status_or_storage_error(wiring, kafka, tuple(table or ()), count_files=bool(table))
            if watch is not None and sys.stdout.isatty():
                sys.stdout.write(_CLEAR)
            text = partial(render_status, name, result, hive=hive)
            show(json, color, partial(status_document, name, result), text)
            sys.stdout.flush()
            return int(result.exit_code)

        return once() if watch is None else _repeat(once, max(watch, LEAST_WATCH_SECONDS))

    raise typer.Exit(with_map(config, log_format, options.level(log_level, logging.WARNING), command))


def _repeat(once: Callable[[], int], seconds: float) -> int:
    """Call `once` every `seconds` until a signal, and return that signal's exit code. An error is shown, and the loop goes on."""
    from kafka2hive.cli.terminal.outcome import say
    from kafka2hive.model.errors import Kafka2HiveError
    from kafka2hive.model.text import with_local_times
    from kafka2hive.service.run.result import exit_code
    from kafka2hive.service.run.signals import Interrupted, StopSignals, is_interruption

    # The loop also checks the recorded signal: while a Kafka client is being closed, confluent_kafka drops the exception
    # that the signal's handler raises, so the exception alone would not end the loop.
    signals = StopSignals()
    signals.listen()
    try:
        signals.interrupt()
        while not signals.stop.is_set():
            try:
                once()
            except Kafka2HiveError as error:
                say(with_local_times(str(error)))
            signals.stop.wait(seconds)
    except (Interrupted, SystemError) as error:
        if not is_interruption(error):
            raise
    return int(exit_code(None, signals.number, ()))
