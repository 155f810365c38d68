"""`kafka2hive counts`: a table's records by the time of their Kafka timestamps."""

import logging
import math
from functools import partial
from typing import Annotated

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import Color, Json, Level, Log, Map, OneTable
from kafka2hive.observe.log import LogFormat

EXIT_CODES = options.exit_codes(options.STOP)


def counts(
    config: Map,
    table: OneTable,
    topic: Annotated[str, typer.Option("--topic", metavar="TOPIC", help="Only records of this topic.")] = "",
    begin: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TIME", help="Only windows that begin then or later, e.g. 2026-11-21T08:00:00Z."
        ),
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Only windows that begin before this time.")
    ] = None,
    by_partition: Annotated[
        bool, typer.Option("--by-partition", help="One line for each topic partition, with its offsets.")
    ] = False,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
) -> None:
    """Show how many records of each window of time the table has read, as its ledger counts them."""
    from kafka2hive.cli.render.counts import counts_document, render_counts
    from kafka2hive.cli.terminal.outcome import show, with_map
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.inspect.counts import CountRequest, moment, table_counts
    from kafka2hive.service.wiring import wire

    request = CountRequest(
        topic=topic,
        begin=-math.inf if begin is None else options.parse_option(moment, begin, "--from"),
        end=math.inf if end is None else options.parse_option(moment, end, "--to"),
        by_partition=by_partition,
    )

    def command(service_map: ServiceMap) -> int:
        answer = table_counts(wire(service_map), table, request)
        show(
            json, color, partial(counts_document, service_map.service, answer), partial(render_counts, answer)
        )
        return 0

    raise typer.Exit(with_map(config, log_format, options.level(log_level, logging.WARNING), command))
