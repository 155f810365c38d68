"""`kafka2hive top`: a live view of a service's tables in the terminal."""

import logging
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import Color, KafkaTimeout, Level, Log, Map
from kafka2hive.observe.log import LogFormat

if TYPE_CHECKING:
    from kafka2hive.cli.render.live_view import Note
    from kafka2hive.config.keys import ServiceMap

EXIT_CODES = options.exit_codes(options.BUG, "143 ended by SIGTERM")
LEAST_SECONDS = 0.5
ORDER_SECONDS, COMPACT_SECONDS = 120.0, 3600.0
"""How long the view waits for the answer to an order: as long as the commands do by default."""


def top(
    config: Map,
    interval: Annotated[
        float,
        typer.Option("--interval", metavar="SECONDS", min=LEAST_SECONDS, help="Pause between readings."),
    ] = 2.0,
    once: Annotated[
        bool,
        typer.Option("--once", help="Read every table, print one frame as text, and end; works in a pipe."),
    ] = False,
    kafka_timeout: KafkaTimeout = options.KAFKA_SECONDS,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
) -> None:
    """Watch a service live: every table's state, lag, freshness, rates and pending files; sorted, filtered, in detail."""
    from kafka2hive.cli.render.top import render_frame
    from kafka2hive.cli.terminal.outcome import say, shown, with_map
    from kafka2hive.cli.terminal.screen import standard_output
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.model.errors import ConfigError, ExitCode
    from kafka2hive.model.extras import install_command
    from kafka2hive.model.text import with_local_times
    from kafka2hive.service.inspect.top import TopReader
    from kafka2hive.service.wiring import wire

    if not once and not (sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"):
        raise typer.BadParameter(
            "top needs a terminal; --once prints one frame, and scripts use status --json",
            param_hint="--once",
        )

    def command(service_map: ServiceMap) -> int:
        wiring = wire(service_map, patience_seconds=options.STORAGE_SECONDS)
        reader = TopReader(wiring, partial(wiring.kafka, kafka_timeout, shared_timeout=True))
        if once:
            reading = reader.read_all()
            say(with_local_times(render_frame(reading, standard_output(color), reading.at)))
            return 0
        try:
            from kafka2hive.cli.render.live_view import LiveView
        except ModuleNotFoundError as error:
            raise ConfigError(
                "top.textual",
                f"the library of the live view is not installed: {error}",
                f"`{install_command('top')}`, or use `kafka2hive status --watch 2 -c MAP`, or `kafka2hive top --once -c MAP`",
            ) from error
        if not color:
            os.environ["NO_COLOR"] = "1"
        view = LiveView(
            reader,
            interval,
            hive=service_map.hive is not None,
            give_order=partial(give_order_of, service_map),
            shown=lambda text: with_local_times(shown(text)),
        )
        logging.disable(logging.CRITICAL)  # a line of the log would be written across the view
        view.run()
        if view.bug is not None:
            raise view.bug
        return int(ExitCode.BUG) if view.return_code == 1 else view.return_code or 0

    raise typer.Exit(with_map(config, log_format, options.level(log_level, logging.WARNING), command))


def give_order_of(service_map: "ServiceMap", command: str, table: str, note: "Note") -> str:
    """Give the order of a command for a table, as the command does, and return its result. Raises as `give_order` does."""
    from kafka2hive.ledger.inbox import CompactPartitions, Instruction, PauseTable, ResumeTable
    from kafka2hive.service.orders.delivery import NoLiveRun, give_order
    from kafka2hive.service.wiring import wire

    instructions: dict[str, Instruction] = {
        each.kind: each for each in (PauseTable(), ResumeTable(), CompactPartitions())
    }
    seconds = COMPACT_SECONDS if command == "compact" else ORDER_SECONDS
    try:
        answer = give_order(wire(service_map), table, instructions[command], seconds=seconds, note=note)
    except NoLiveRun:
        return f"{table}: no run is alive that could compact; `kafka2hive compact --table {table} -c MAP` does it"
    return f"{table}: order {answer.order.id} to {command} was carried out in epoch {answer.record.epoch}"
